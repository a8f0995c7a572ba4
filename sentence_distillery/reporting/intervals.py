"""The 95 % interval of a rank correlation, from its value and its number of pairs alone.

    z = artanh(r) ± 1.96 · sqrt((1 + r² / 2) / (n - 3)),  ends = tanh(z)

Bonett and Wright 2000, Psychometrika 65(1), for Spearman's correlation. It assumes that the pairs are independent. A
bootstrap needs the cosines of every pair, which a run keeps of the student alone; this needs nothing more than a row of
results.csv. On the saved figures of reports/runs/suite, both agree within 0.4 points of 100.
"""

import math

QUANTILE = 1.96  # of the normal distribution, for 95 %


def spearman_interval(value: float, n: int) -> tuple[float, float] | None:
    """Return the ends of the 95 % interval of a Spearman correlation of n pairs; None for n below 4, or -1 or 1.

    >>> low, high = spearman_interval(0.7867, 1379)
    >>> round(low, 3), round(high, 3)
    (0.763, 0.809)
    """
    if n < 4 or abs(value) >= 1:
        return None
    centre, spread = math.atanh(value), QUANTILE * math.sqrt((1 + value**2 / 2) / (n - 3))
    return math.tanh(centre - spread), math.tanh(centre + spread)
