"""The contents of JSON files as pydantic models, by which `artifacts.read_json` checks a file.

A schema says what the readers rely on. Keys that it does not name may be there. Each folder declares those of its own
files; here are the ones that every folder knows.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Natural = Annotated[int, Field(ge=0)]
PositiveNatural = Annotated[int, Field(ge=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
Cosine = Annotated[float, Field(ge=-1.001, le=1.001)]  # with the rounding of float32


SEAL = "sha256"


def seal(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON object without its own seal.

    Example:
        >>> seal({"kept": 7})[:8] == seal({"kept": 7, "sha256": "any"})[:8]
        True
    """
    rest = {name: value for name, value in content.items() if name != SEAL}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


class Content(BaseModel):
    """The base of schemas: no text is taken for a number, and no number is infinite."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)


class Absent(Content):
    """A file of something that a run may not have: why it is not there, or null."""

    absent: str | None


class Counted(Content):
    """The counters of a stage, as `counters.Counters.summary` has them."""

    unit: str
    total: Natural
    kept: Natural
    dropped: dict[str, Natural]
    details: dict[str, int | float | str]

    @model_validator(mode="before")
    @classmethod
    def _is_what_was_written(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get(SEAL, seal(content)) != seal(content):
            raise ValueError(f"{SEAL} does not fit the content: a value has changed since it was written")
        return content

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.total != self.kept + sum(self.dropped.values()):
            raise ValueError(f"total {self.total} is not kept {self.kept} + dropped {sum(self.dropped.values())}")
        return self


class EncoderReference(Content):
    """The reference of an encoder that labels were made with, as in teacher.json and config.json."""

    reference: str
    pooling: str | None
    maximum_length: PositiveNatural | None
    dimension: PositiveNatural


class Labeller(EncoderReference):
    """A teacher, with those whose labels are appended to its own."""

    additional: list[EncoderReference] = []


class StudentConfig(Content):
    """The config.json of a student that a run has trained."""

    kind: str
    dimension: PositiveNatural
    token_dimension: PositiveNatural
    vocabulary: PositiveNatural
    sentences: Natural
    epochs: Natural
    seed: Natural
    teacher: Labeller
