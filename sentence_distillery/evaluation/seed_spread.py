"""The spread of figures over the seeds of a training.

    figures 0.61, 0.62, 0.63: value 0.62, seeds 3, spread 0.01

The spread is the standard deviation of the sample, sqrt(sum (x - mean)^2 / (n - 1)).
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from sentence_distillery.evaluation.results import Result


def over_seeds(own: Iterable[Result], others: Sequence[Iterable[Result]]) -> list[Result]:
    """Return the mean and spread of every figure that the run and all other seeds have with the same n."""
    values: dict[tuple[str, str, str, str, str, int], list[float]] = defaultdict(list)
    for result in (*(result for results in others for result in results), *own):
        if result.number is not None:
            key = (result.system, result.dataset, result.split, result.protocol, result.metric, result.n)
            values[key].append(result.number)

    # A figure that one seed lacks has no spread that could be compared.
    return [
        Result(*key[:5], value=statistics.mean(figures), n=key[5], seeds=len(figures), spread=statistics.stdev(figures))
        for key, figures in values.items()
        if others and len(figures) == len(others) + 1
    ]
