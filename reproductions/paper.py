"""Define a reproduced paper: its page, and the outputs that the page reads.

Each folder `papers/<key>/` has a module `paper.py` with a constant `PAPER`; `registry.PAPERS` finds it. Report and
pipeline know no paper by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.contents import Counted
from sentence_distillery.reporting.page import Section


@dataclass(frozen=True)
class Outputs:
    """The outputs of a run that the pages of papers show.

    Attributes:
        rows: Those of all_systems.csv, and of paper1.csv.
        seeds: The figures of each other seed.
        sets: The provenance of each benchmark set.
        counters: The directory of the stages' counters.
        curves: The directory of training curves.
        files: Other files and directories, by the names that papers ask for.
    """

    rows: Sequence[Result]
    seeds: Sequence[Sequence[Result]]
    sets: Mapping[str, Any]
    counters: Path
    curves: Path
    files: Mapping[str, Path]

    def json(self, name: str, schema: Any) -> Any:
        """Read a JSON file of `files` that fits a schema."""
        return read_json(self.files[name], schema)

    def counts(self, stage: str, schema: Any = Counted) -> Any:
        """Read the counters of a stage."""
        return read_json(self.counters / f"{stage}.json", schema)


@dataclass(frozen=True)
class Paper:
    """A paper and the findings of this project about it.

    Attributes:
        key: Of its folder and its page, as in paper1.
        title: Of its page.
        citation: Authors, title, journal and year.
        sections: Renders the sections of its page.
    """

    key: str
    title: str
    citation: str
    sections: Callable[[Outputs], list[Section]]
