"""The interval of the difference between two models, so that noise does not lead to a promotion.

    {"student/lee/spearman": [0.55, 0.53, ...]}    the figure of each bootstrap draw

The interval is that of new - promoted, draw by draw. Draws come from the file `registry.draws` of flows.yaml: draw i is
of the same items in every version. A figure without draws has no interval, and its gain alone counts.
"""

from collections.abc import Mapping, Sequence
from statistics import quantiles

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
