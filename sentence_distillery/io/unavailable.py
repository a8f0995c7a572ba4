"""Something that a run does not have, with the reason: a figure, a system, a model, a set of pairs.

A function that may have nothing to give returns `X | Unavailable`; a check returns `Unavailable | None`. The reason
goes from stage to stage in JSON, as the entry `absent`, and ends in results.csv, in place of a figure:

    {"absent": "STS-B is absent from this run"}          {"absent": null} if it is there
    undefined: STS-B is absent from this run

Nothing else reads or writes these two forms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentence_distillery.io.artifacts import read_json

KEY = "absent"
PREFIX = "undefined: "


@dataclass(frozen=True)
class Unavailable:
    """A value in place of a result that this run does not have, with the reason.

    >>> Unavailable("all predictions are alike").reason
    'all predictions are alike'
    """

    reason: str


Figure = float | Unavailable


def to_json(unavailable: Unavailable | None) -> dict[str, str | None]:
    """Return the entry of a JSON object that says why it has nothing else, or None for a whole object.

    >>> to_json(Unavailable("the set stsb is absent")), to_json(None)
    ({'absent': 'the set stsb is absent'}, {'absent': None})
    """
    return {KEY: unavailable.reason if unavailable else None}


def from_json(content: Mapping[str, Any]) -> Unavailable | None:
    """Read that entry of a JSON object, which must have it.

    >>> from_json({"absent": "the set stsb is absent", "seeds": {}})
    Unavailable(reason='the set stsb is absent')
    """
    reason = content[KEY]
    return None if reason is None else Unavailable(reason)


def read_unavailable(path: Path) -> Unavailable | None:
    """Read that entry of a JSON file that a stage wrote next to what it made; raises InputError if there is none."""
    from sentence_distillery.io.contents import Absent  # needs pydantic, which not everyone here has

    return from_json(read_json(path, Absent))


def to_text(unavailable: Unavailable) -> str:
    """Return the text that results.csv has in place of a figure.

    >>> to_text(Unavailable("all predictions are alike"))
    'undefined: all predictions are alike'
    """
    return PREFIX + unavailable.reason


def from_text(text: str) -> Unavailable | None:
    """Read a value of results.csv: the reason why there is no figure, or None if the text is a figure.

    >>> from_text("undefined: 1 pairs"), from_text("0.7867")
    (Unavailable(reason='1 pairs'), None)
    """
    return Unavailable(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else None
