"""Score an encoder that is not in results.csv on STS-B and SICK-R, or draw its test pairs again."""

from collections.abc import Callable

import numpy as np

from reproductions.systems.data import pair_sets
from reproductions.systems.systems import System, means
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Function, evaluate
from sentence_distillery.evaluation.protocols.metrics import as_printed, on_five
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.evaluation.sets.data import BenchmarkData, Split
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

DRAWS = 1_000
DIGITS = 5

Encode = Callable[[list[str]], Floats]  # (sentences, dimension) float32

SETS: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("stsb", "test"), ("sick", "dev"), ("sick", "test"))


def require_benchmarks(benchmarks: BenchmarkData) -> None:
    """Raise InputError if STS-B or SICK is absent."""
    present = benchmarks.available()
    for name in dict.fromkeys(name for name, _ in SETS):
        if name not in present:
            raise InputError(
                f"{benchmarks.directory} lacks '{name}', which these figures need; run `make benchmarks` in the "
                "repository, then its stage `benchmarks`."
            )


def scores(encode: Encode, benchmarks: BenchmarkData) -> dict[str, float]:
    """Score an encoder on the dev and test splits of STS-B and SICK.

    Args:
        encode: Sentences to (sentences, dimension) float32.
        benchmarks: The directory that holds both sets.

    Returns:
        Pearson and Spearman of the cosines in [-1, 1], by "<set>/<split>/<metric>".

    Raises:
        InputError: If a set is absent or a correlation is undefined.
    """
    figures = {}
    for name, split in SETS:
        for result in evaluate(Function(encode), [name], benchmarks=benchmarks, split=split):
            if isinstance(result.value, Unavailable):
                raise InputError(
                    f"The {result.metric} correlation on {name}/{split} is {result.value}; is the student trained?"
                )
            if result.metric != "mae":
                figures[f"{name}/{split}/{result.metric}"] = result.value
    return figures


def draws(system: System, benchmarks: BenchmarkData) -> dict[str, list[float | None]]:
    """Compute a system's figures on rated test pairs in each of 1,000 draws of the pairs (Efron 1979).

    Sets of equal size have equal draws. So the draws of two versions of a student differ by the model alone, and the
    interval of their difference is much narrower than those of both.

    Args:
        system: The student.
        benchmarks: The sets.

    Returns:
        1,000 values of five digits for each figure, by "<system>/<set>/<metric>"; None for a draw without a figure,
        such as one of pairs with equal ratings. A figure that no draw has is left out.
    """
    found = dict[str, list[float | None]]()
    for pairs in pair_sets(benchmarks, "pairs", ("test",)):
        assert pairs.scores is not None and pairs.scale is not None
        predicted = cosines(means(system, pairs.sentences1), means(system, pairs.sentences2))
        drawn = bootstrap.counts(len(predicted), DRAWS)
        errors = np.abs(as_printed(predicted) - on_five(pairs.scores, pairs.scale))
        figures = {
            "pearson": bootstrap.pearson(predicted, pairs.scores, drawn),
            "spearman": bootstrap.spearman(predicted, pairs.scores, drawn),
            "mae": bootstrap.means(errors, drawn),
        }
        for metric, values in figures.items():
            known = [round(float(value), DIGITS) if np.isfinite(value) else None for value in values]
            if any(value is not None for value in known):
                found[f"{system.name}/{pairs.name}/{metric}"] = known
    return found
