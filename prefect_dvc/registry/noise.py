"""The interval of the difference between two models, so that noise does not lead to a promotion.

    draws     {"student/lee/spearman": [0.55, 0.53, ...]}    the figure of each bootstrap draw of the same items
              the interval is that of new - promoted, draw by draw, since both were measured on the same items
    single    {"accuracy": 0.91, "accuracy/low": 0.89, "accuracy/high": 0.93}
              half of the interval is sqrt(a^2 + b^2) with the halves a and b of both models, as if the items were
              different ones: too wide rather than too narrow

Draws come from the file `registry.draws` of flows.yaml: draw i is of the same items in every version. A figure with
neither has no interval, and its gain alone counts.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import quantiles

LOW, HIGH = "low", "high"
PARTS = 40  # of the draws; the first one and the last one lie outside an interval of 95 %

Interval = tuple[float, float]
Draw = float | None  # null in the file: a draw without a figure, such as a correlation of equal ratings
Draws = Mapping[str, Sequence[Draw]]


def of_draws(promoted: Sequence[Draw], new: Sequence[Draw]) -> Interval | None:
    """Return the interval of the middle 95 % of the differences, or None if the draws are not of the same items.

    A draw in which one of the models has no figure is left out; if most are, there is no interval.

    Example:
        >>> of_draws([0.5, 0.6, 0.7], [0.6, 0.7, 0.8])
        (0.1, 0.1)
    """
    if len(promoted) != len(new):
        return None
    both = zip(promoted, new, strict=True)
    differences = [after - before for before, after in both if before is not None and after is not None]
    if len(differences) < 2 or 2 * len(differences) < len(new):
        return None
    low, *_, high = quantiles(differences, n=PARTS, method="inclusive")
    return round(low, 9), round(high, 9)


def of_singles(metric: str, promoted: Mapping[str, float | None], new: Mapping[str, float | None]) -> Interval | None:
    """Return the interval of the difference by those of both models, or None if one of them has none.

    Example:
        >>> of_singles("a", {"a": 0.5, "a/low": 0.47, "a/high": 0.53}, {"a": 0.6, "a/low": 0.56, "a/high": 0.64})
        (0.05, 0.15)
    """
    halves = []
    for figures in (promoted, new):
        low, high = (figures.get(f"{metric}/{end}") for end in (LOW, HIGH))
        if low is None or high is None:
            return None
        halves.append((high - low) / 2)
    before, after = promoted.get(metric), new.get(metric)
    if before is None or after is None:
        return None
    half = math.hypot(*halves)
    return round(after - before - half, 9), round(after - before + half, 9)
