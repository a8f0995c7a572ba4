"""Options of the benchmark sets."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from sentence_distillery.evaluation.sets.records import SCORES, is_scale
from sentence_distillery.io.options import Section

OwnTask = Literal["sts", "pair_classification", "classification", "clustering", "retrieval"]
# task -> (files that it needs, files that it may have, columns of these)
NEEDS: dict[OwnTask, tuple[set[str], set[str], set[str]]] = {
    "sts": ({"test"}, {"dev"}, {"sentence1", "sentence2", "score"}),
    "pair_classification": ({"test"}, {"dev"}, {"sentence1", "sentence2", "label"}),
    "classification": ({"train", "test"}, {"dev"}, {"text", "label"}),
    "clustering": ({"test"}, {"dev"}, {"text", "label"}),
    "retrieval": ({"queries", "documents", "judgements"}, set(), {"id", "text", "query", "document", "grade"}),
}


class OwnBenchmark(Section):
    """A set of the user's own labels.

    `files` are paths by their part: the splits, or for retrieval the queries, the documents and the judgements.
    `columns` says which column of the files has which field.
    """

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_-]*$", title="name of the set in all results, unlike that of any other set"
    )
    task: OwnTask
    files: dict[str, str] = Field(title="a .csv, .tsv, .jsonl or .parquet file for each part")
    columns: dict[str, str]
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        title="lowest and highest possible score, for the task sts; null for other tasks"
    )

    @model_validator(mode="after")
    def _as_the_task_needs(self) -> Self:
        needed, possible, fields = NEEDS[self.task]
        _check_keys(f"{self.name}: files", set(self.files), needed, possible)
        _check_keys(f"{self.name}: columns", set(self.columns), fields, set())

        # Only rated pairs have scores that need a scale.
        if (self.task == "sts") != (self.scale is not None):
            raise ValueError(f"{self.name}: scale must be [lowest, highest] for the task sts, and null for other tasks")
        if self.scale is not None and not is_scale(*self.scale):
            raise ValueError(
                f"{self.name}: scale = {self.scale} does not begin with the lower score, or is not within {SCORES}; "
                "swap the two, or give other ones"
            )
        return self


def _check_keys(what: str, found: set[str], needed: set[str], possible: set[str]) -> None:
    if missing := sorted(needed - found):
        raise ValueError(f"{what} lacks '{missing[0]}'; it needs {', '.join(sorted(needed))}")
    if unknown := sorted(found - needed - possible):
        raise ValueError(f"{what} has '{unknown[0]}'; it may have {', '.join(sorted(needed | possible))}")


class Benchmarks(Section):
    sets: list[str] = Field(
        default=["lee", "wordsim353", "simlex999", "samples", "stsb", "sick", "mrpc", "imdb"],
        title="benchmark sets to read; absent ones are reported",
    )
    own: list[OwnBenchmark] = Field(default=[], title="additional sets, with your own labels")

    @field_validator("own")
    @classmethod
    def _each_name_once(cls, own: list[OwnBenchmark]) -> list[OwnBenchmark]:
        names = [each.name for each in own]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two sets of own have the name {twice[0]}; rename one")
        return own


class Sections(Section):
    """What this room reads of params.yaml."""

    benchmarks: Benchmarks
