"""The figures of a system that was trained with another seed."""

from collections.abc import Iterator, Sequence
from functools import partial

from reproductions.systems.systems import System, means
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet
from sentence_distillery.evaluation.tasks import TaskSet, figures


def rated_sets(data: BenchmarkData) -> list[PairSet]:
    """Read the test split of every set of sentence pairs that has human ratings."""
    names = [name for name in data.available("pairs") if "test" in data.splits(name)]
    return [pairs for name in names if (pairs := data.pairs(name, "test")).scores is not None]


def measured(system: System, sets: Sequence[PairSet], seed: int) -> Iterator[Result]:
    """Measure the system's own mean: Pearson, Spearman and MAE on each set."""
    for pairs in sets:
        for row in figures(partial(means, system), TaskSet("sts", pairs)):
            yield Result(system.name, *row, seed=seed)
