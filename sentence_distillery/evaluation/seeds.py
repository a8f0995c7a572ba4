"""The figures of a system that was trained with another seed."""

from collections.abc import Iterator, Sequence

from sentence_distillery.benchmarks.data import BenchmarkData, PairSet
from sentence_distillery.benchmarks.metrics import cosines, similarity_figures
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.systems import System


def rated_sets(data: BenchmarkData) -> list[PairSet]:
    """Read the test split of every set of sentence pairs that has human ratings."""
    names = [name for name in data.available("pairs") if "test" in data.splits(name)]
    return [pairs for name in names if (pairs := data.pairs(name, "test")).scores is not None]


def measured(system: System, sets: Sequence[PairSet], seed: int) -> Iterator[Result]:
    """Measure the system's own mean: Pearson, Spearman and MAE on each set."""
    for pairs in sets:
        assert pairs.scores is not None and pairs.scale is not None
        left, right = (system.pool(system.token_ids(side), [None])[0] for side in (pairs.sentences1, pairs.sentences2))
        for metric, value in similarity_figures(cosines(left, right), pairs.scores, pairs.scale).items():
            yield Result(system.name, pairs.name, "test", "mean", metric, value, len(pairs.sentences1), seed=seed)
