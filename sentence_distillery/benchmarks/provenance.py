"""The schema of provenance.json. It needs pydantic, which scoring pairs of one's own does without."""

from typing import Annotated

from pydantic import Field

from sentence_distillery.benchmarks.data import Kind, TaskType
from sentence_distillery.io.contents import Content, Natural


class Entry(Content):
    """What the readers of a set rely on; one that was written before sets had a task has none."""

    kind: Kind
    rows: dict[str, Natural]
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    task: TaskType = "sts"
    protocols: list[str] = Field(default=[])
    own: bool = False
    scored: bool = True


class Provenance(Content):
    """What provenance.json holds: the sets that are there, why others are not, and the names of all sets of pairs."""

    sets: dict[str, Entry]
    absent: dict[str, str]
    pair_sets: list[str]
