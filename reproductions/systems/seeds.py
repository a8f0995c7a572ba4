"""The figures of a system that was trained with another seed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from reproductions.systems.systems import System, means
from sentence_distillery.evaluation.results import Result, as_result
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.evaluation.tasks import TaskSet, scored


def measured(system: System, sets: Sequence[PairSet], seed: int) -> Iterator[Result]:
    """Measure the system's own mean: Pearson, Spearman and MAE on each set."""
    for pairs in sets:
        for each in scored(partial(means, system), task := TaskSet("sts", pairs)):
            yield replace(as_result(system.name, *task.place, each, with_interval=False), seed=seed)
