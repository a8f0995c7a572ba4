"""Stage `pair_cost`: what it costs to compare every two of 10,000 sentences (paper 2, section 3.3).

    joined      n (n - 1) / 2 = 49,995,000 runs of the encoder, one for each pair
    alone       n = 10,000 runs, and the cosines of all pairs as one matrix product
    student     the same with this project's static student

A run is timed on a sample of the test sentences, the matrix product whole; the total is runs times seconds of one run.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sentence_distillery.io.ragged import Floats, unit_rows

COST = Path("reports/pair_cost.json")
CORPUS = 10_000  # sentences, as in the paper
REPEATS = 3


def seconds(work: Callable[[], object]) -> float:
    """The shortest of REPEATS runs: what else the machine does only adds to it."""
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def comparison(vectors: Floats) -> float:
    """Seconds for the cosines of all pairs of CORPUS sentences, these vectors again and again."""
    corpus = unit_rows(np.resize(vectors, (CORPUS, vectors.shape[1])))
    return seconds(lambda: [corpus[start : start + 1000] @ corpus.T for start in range(0, CORPUS, 1000)])


def entry(system: str, runs: int, sample: int, run: float, compare: float) -> dict[str, float | int | str]:
    """`run` is the seconds of the whole sample."""
    total = runs * run / sample + compare
    return {"system": system, "runs": runs, "per_second": sample / run, "comparison": compare, "seconds": total}
