"""How far figures move with the seed: the run's own and those of the stages `seeds@{seed}`.

    figures 0.61, 0.62, 0.63: value 0.62, seeds 3, spread 0.01

The spread is the standard deviation of the sample, sqrt(sum (x - mean)^2 / (n - 1)).
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping

from sentence_distillery.evaluation.results import SEEDS, Result, read_results


def over_seeds(own: Iterable[Mapping[str, str]], seeds: list[int]) -> list[Result]:
    """The mean and spread of every figure that all seeds have; none without other seeds.

    `own` are the rows of the run itself. Raises InputError where a seed's file is missing or no table of results.
    """
    others = [row for seed in seeds for row in read_results(SEEDS / f"{seed}.csv")]
    values: dict[tuple[str, str, str, str, str, int], list[float]] = defaultdict(list)
    for row in (*others, *own):
        if not row["value"].startswith("undefined"):
            key = (row["system"], row["dataset"], row["split"], row["protocol"], row["metric"], int(row["n"]))
            values[key].append(float(row["value"]))
    return [
        Result(*key[:5], value=statistics.mean(found), n=key[5], seeds=len(found), spread=statistics.stdev(found))
        for key, found in values.items()
        if seeds and len(found) == len(seeds) + 1
    ]
