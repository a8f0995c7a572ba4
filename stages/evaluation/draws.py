"""The stage `draws`: bootstrap draws of the student's figures, from which a retraining tells a gain from noise.

Reads the student and the benchmark sets. Writes reports/draws.json: for each figure of reports/metrics.json on human
ratings, its value in each of 1,000 draws of the test pairs with replacement (Efron 1979). Sets of equal size have equal
draws, so the draws of two versions of the student differ by the model alone, and their difference has an interval of
its own, which is much narrower than those of both.
"""

import numpy as np

from sentence_distillery.benchmarks import bootstrap
from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.benchmarks.metrics import as_printed, cosines, on_five
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.data import pair_sets
from sentence_distillery.evaluation.systems import StudentSystem, means
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.io.ragged import Floats
from stages import paths
from stages.stage import stage

DRAWS = 1_000
DIGITS = 5


def ranks(values: Floats, drawn: Floats) -> Floats:
    """Return the mean rank of each value in each draw, (draws, pairs); a value that was not drawn has one, too.

    Args:
        values: (pairs,)
        drawn: How often each is in each draw, (draws, pairs).
    """
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.add.reduceat(drawn[:, order], starts, axis=1, dtype=np.float64)  # of equal values
    first = np.cumsum(counts, axis=1) - counts
    return np.asarray((first + (counts + 1) / 2)[:, group])


def spearman(one: Floats, other: Floats, drawn: Floats) -> Floats:
    """Return Spearman's correlation of two (pairs,) arrays in each draw, (draws,)."""
    x, y = (ranks(side, drawn) - (len(side) + 1) / 2 for side in (one, other))  # the mean of ranks is that of 1 to n
    return np.asarray((drawn * x * y).sum(axis=1) / np.sqrt((drawn * x * x).sum(axis=1) * (drawn * y * y).sum(axis=1)))


def main() -> None:
    with stage("draws", unit="figures") as (_, counters):
        student = StudentSystem(StaticEncoder.load(paths.STUDENT))
        found = dict[str, list[float]]()
        for pairs in pair_sets(BenchmarkData(paths.BENCHMARKS), "pairs"):
            if pairs.split != "test" or pairs.scores is None or pairs.scale is None:
                continue
            predicted = cosines(means(student, pairs.sentences1), means(student, pairs.sentences2))
            drawn = bootstrap.counts(len(predicted), DRAWS)
            ratings = pairs.scores
            errors = np.abs(as_printed(predicted) - on_five(ratings, pairs.scale))
            figures = {
                "pearson": bootstrap.pearson(predicted, ratings, drawn),
                "spearman": spearman(predicted, ratings, drawn),
                "mae": bootstrap.means(errors, drawn),
            }
            for metric, values in figures.items():
                found[f"{student.name}/{pairs.name}/{metric}"] = [round(float(value), DIGITS) for value in values]
                counters.keep()
        write_json(paths.DRAWS, found)


if __name__ == "__main__":
    main()
