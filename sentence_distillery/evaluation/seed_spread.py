"""The spread of figures over the seeds of a training.

    figures 0.61, 0.62, 0.63: value 0.62, seeds 3, spread 0.01

The spread is the standard deviation of the sample, sqrt(sum (x - mean)^2 / (n - 1)).
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.unavailable import from_text

Rows = Iterable[Mapping[str, str]]


def over_seeds(own: Rows, others: Sequence[Rows]) -> list[Result]:
    """Return the mean and spread of every figure that all seeds have.

    Args:
        own: The rows of the run itself, as `read_results` gives them.
        others: The rows of each other seed.

    Returns:
        A figure for each key that every table has with the same n; none without other seeds.
    """
    values: dict[tuple[str, str, str, str, str, int], list[float]] = defaultdict(list)
    for row in (*(row for rows in others for row in rows), *own):
        if from_text(row["value"]) is None:
            key = (row["system"], row["dataset"], row["split"], row["protocol"], row["metric"], int(row["n"]))
            values[key].append(float(row["value"]))
    return [
        Result(*key[:5], value=statistics.mean(figures), n=key[5], seeds=len(figures), spread=statistics.stdev(figures))
        for key, figures in values.items()
        if others and len(figures) == len(others) + 1
    ]
