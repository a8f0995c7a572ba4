"""The paired bootstrap: test pairs are drawn again with replacement, the same ones for every system (Efron 1979).

    drawn = counts(len(labels))                              # how often each pair is in each draw
    low, high = interval(means(right, drawn))                # 95 % of the accuracy's draws

A figure of a draw is computed from the counts by matrix products, so that 2,000 draws take milliseconds.
"""

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.ragged import Floats

DRAWS = 2_000
QUANTILES = (0.025, 0.975)  # of an interval that holds 95 %


def counts(pairs: int, draws: int = DRAWS) -> Floats:
    """Count how often each pair is in each draw, (draws, pairs) float32; equal numbers of pairs have equal draws."""
    rows = np.random.default_rng(0).integers(0, pairs, (draws, pairs))
    return np.stack([np.bincount(row, minlength=pairs) for row in rows]).astype(np.float32)


def means(values: Floats, drawn: Floats) -> Floats:
    """Return the mean of (pairs,) values in each draw, (draws,)."""
    return np.asarray(drawn @ values / len(values))


def pearson(one: Floats, other: Floats, drawn: Floats) -> Floats:
    """Return Pearson's correlation of two (pairs,) arrays in each draw, (draws,).

    Two (groups, pairs of each) arrays are drawn by group: `drawn` is then (draws, groups).
    """
    a, b = (np.asarray(side, np.float64).reshape(len(side), -1) - np.mean(side) for side in (one, other))
    total = drawn.sum(axis=1) * a.shape[1]
    x, y, xx, yy, xy = (drawn @ column.sum(axis=1) / total for column in (a, b, a * a, b * b, a * b))
    return np.asarray((xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y)))


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


def interval(values: NDArray[np.floating]) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of the draws of a figure."""
    low, high = np.quantile(values, QUANTILES)
    return float(low), float(high)
