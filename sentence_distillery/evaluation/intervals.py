"""The paired bootstrap: test pairs are drawn again with replacement, the same ones for every system (Efron 1979).

    drawn = counts(len(labels))                              # how often each pair is in each draw
    low, high, left_out = interval(means(right, drawn))      # 95 % of the accuracy's draws

A figure of a draw is computed from the counts by matrix products, so that 2,000 draws take milliseconds. A draw can
lack a figure: if 45 of 50 ratings are 5, one draw in 200 has no other rating, and nothing correlates with it. Its
figure is NaN here; `interval` leaves it out and counts it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.ragged import Floats

DRAWS = 2_000
QUANTILES = (0.025, 0.975)  # of an interval that holds 95 %
FEWEST = 1 / 2  # of the draws must have a figure, or they say nothing about the others
ROUNDING = 1e-12  # of the mean square: a variance below it is the rounding of equal values
AT_ONCE = 2**24  # numbers in memory


class Interval(NamedTuple):
    """The bounds of the middle 95 % of the draws, None if most draws lack a figure; `left_out` is their number."""

    low: float | None
    high: float | None
    left_out: int


def counts(pairs: int, draws: int = DRAWS) -> Floats:
    """Count how often each pair is in each draw, (draws, pairs) float32; equal numbers of pairs have equal draws."""
    return np.concatenate([*_blocks(pairs, draws)])


def of_draws(figure: Callable[[Floats], Floats], pairs: int, draws: int = DRAWS) -> Floats:
    """Return the figure of each draw, (draws,), a block of draws at a time, so that memory does not grow with pairs."""
    return np.concatenate([figure(drawn) for drawn in _blocks(pairs, draws)])


def _blocks(pairs: int, draws: int) -> Iterator[Floats]:
    generator, step = np.random.default_rng(0), max(1, AT_ONCE // pairs)
    # One generator for all blocks, so that the draws do not depend on the size of a block.
    for start in range(0, draws, step):
        rows = generator.integers(0, pairs, (min(step, draws - start), pairs))
        yield np.stack([np.bincount(row, minlength=pairs) for row in rows]).astype(np.float32)


def means(values: Floats, drawn: Floats) -> Floats:
    """Return the mean of (pairs,) values in each draw, (draws,)."""
    return np.asarray(drawn @ values / len(values))


def pearson(one: Floats, other: Floats, drawn: Floats) -> Floats:
    """Return Pearson's correlation of two (pairs,) arrays in each draw, (draws,); NaN if a side of it is constant.

    Two (groups, pairs of each) arrays are drawn by group: `drawn` is then (draws, groups).
    """
    a, b = (np.asarray(side, np.float64).reshape(len(side), -1) - np.mean(side) for side in (one, other))

    # A group is drawn as a whole, so the products of its pairs are added up before.
    total = drawn.sum(axis=1) * a.shape[1]
    x, y, xx, yy, xy = (drawn @ column.sum(axis=1) / total for column in (a, b, a * a, b * b, a * b))
    return _correlation(xy - x * y, _spread(x, xx), _spread(y, yy))


def _spread(mean: Floats, square: Floats) -> Floats:
    """Return the variance of each draw, (draws,); 0 if all its values are equal."""
    variance = square - mean * mean
    return np.where(variance > ROUNDING * square, variance, 0.0)


def _correlation(together: Floats, one: Floats, other: Floats) -> Floats:
    """Divide covariances by standard deviations, (draws,); NaN where one of them is 0."""
    scale = np.sqrt(one) * np.sqrt(other)
    found = np.divide(together, scale, out=np.full_like(scale, np.nan), where=scale > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def ranks(values: Floats, drawn: Floats) -> Floats:
    """Return the mean rank of each of (pairs,) values in each draw, (draws, pairs), of those not drawn, too."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    counts = np.add.reduceat(drawn[:, order], starts, axis=1, dtype=np.float64)  # of equal values

    # Equal values share the mean of their ranks.
    first = np.cumsum(counts, axis=1) - counts
    return np.asarray((first + (counts + 1) / 2)[:, group])


def spearman(one: Floats, other: Floats, drawn: Floats) -> Floats:
    """Return Spearman's correlation of two (pairs,) arrays in each draw, (draws,); NaN if a side of it is constant."""
    x, y = (ranks(side, drawn) - (len(side) + 1) / 2 for side in (one, other))  # the mean of ranks is that of 1 to n
    return _correlation(*((drawn * product).sum(axis=1) for product in (x * y, x * x, y * y)))


def interval(values: NDArray[np.floating]) -> Interval:
    """Return the bounds of the middle 95 % of the draws of a figure; those without a figure are left out.

    >>> interval(np.array([0.0, np.nan, 1.0]))
    Interval(low=0.025, high=0.975, left_out=1)
    """
    known = values[np.isfinite(values)]
    left_out = len(values) - len(known)
    if len(known) < FEWEST * len(values) or not len(known):
        return Interval(None, None, left_out)
    low, high = np.quantile(known, QUANTILES)
    return Interval(float(low), float(high), left_out)
