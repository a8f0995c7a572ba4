"""Score an encoder that is not in results.csv on STS-B and SICK-R."""

from collections.abc import Callable

from sentence_distillery.evaluation.evaluate import Function, evaluate
from sentence_distillery.evaluation.sets.data import BenchmarkData, Split
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

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
