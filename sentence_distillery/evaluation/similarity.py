"""STS-B and SICK-R figures of an encoder that is no system of results.csv: a compressed student, a peer, a release."""

from collections.abc import Callable

import numpy as np

from sentence_distillery.benchmarks.data import BENCHMARKS_DIRECTORY, Split, available, load_pairs
from sentence_distillery.benchmarks.metrics import Undefined, cosines, similarity_figures
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

Encode = Callable[[list[str]], Floats]  # (sentences, dimension) float32

SETS: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("stsb", "test"), ("sick", "dev"), ("sick", "test"))


def require_benchmarks() -> None:
    """Raises InputError where STS-B or SICK is absent."""
    present = available(BENCHMARKS_DIRECTORY)
    for name in dict.fromkeys(name for name, _ in SETS):
        if name not in present:
            raise InputError(
                f"{BENCHMARKS_DIRECTORY} has no '{name}'; run `make benchmarks` and `dvc repro benchmarks`."
            )


def scores(encode: Encode) -> dict[str, float]:
    """Pearson and Spearman of the cosines, by "<set>/<split>/<metric>"; raises InputError where one is undefined."""
    figures = {}
    for name, split in SETS:
        pairs = load_pairs(name, split)
        assert pairs.scores is not None and pairs.scale is not None
        vectors = [np.asarray(encode(side), dtype=np.float32) for side in (pairs.sentences1, pairs.sentences2)]
        found = similarity_figures(cosines(*vectors), pairs.scores, pairs.scale)
        for metric in ("pearson", "spearman"):
            value = found[metric]
            if isinstance(value, Undefined):
                raise InputError(f"The {metric} correlation on {name}/{split} is {value}; is the student trained?")
            figures[f"{name}/{split}/{metric}"] = value
    return figures
