"""The schema of provenance.json. It needs pydantic, which scoring pairs of one's own does without."""

from typing import Annotated

from pydantic import Field

from sentence_distillery.evaluation.sets.records import Kind, TaskType
from sentence_distillery.io.contents import Content, Natural


class Entry(Content):
    """The fields that the readers of a set need; sets of older versions have no task."""

    kind: Kind
    rows: dict[str, Natural]
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    task: TaskType = "sts"
    protocols: list[str] = Field(default=[])
    own: bool = False
    scored: bool = True


class Provenance(Content):
    """The content of provenance.json: present sets, absent ones with a reason, and the names of all sets of pairs."""

    sets: dict[str, Entry]
    absent: dict[str, str]
    pair_sets: list[str]
