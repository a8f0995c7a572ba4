"""Similarity: correlate the cosines of pairs with human ratings.

    cos = u v / (|u| |v|)      pearson = cov(cos, rating) / (sd(cos) sd(rating))      spearman = pearson of the ranks

As MTEB does (`cosine_pearson` and `cosine_spearman` of its task type STS). Equal cosines have their mean rank. Spearman
is the figure to quote. Paper 1 also has the mean absolute error on a scale of 0 to 5, to which it maps cosines:

    MAE = mean |2.5 (cos + 1) - rating|        (equations 14 and 15)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Figure, Unavailable

FEWEST = 3  # pairs: of any two the correlation is 1 or -1
ALIKE = 1e-5  # cosines of equal vectors differ in their last bits


@dataclass(frozen=True)
class Similarity:
    """The correlations of cosines with human ratings, in [-1, 1], or `Unavailable`."""

    pearson: Figure
    spearman: Figure


def similarity(left: Floats, right: Floats, ratings: NDArray[np.float32]) -> Similarity:
    """Correlate the cosine of each pair of (pairs, dimension) vectors with its rating, (pairs,) float32 on any scale.

    Example:
        >>> left, right = np.eye(3, dtype=np.float32), np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0]], np.float32)
        >>> round(similarity(left, right, np.array([5, 3, 0], np.float32)).spearman, 6)
        1.0

    Reference:
        Reimers, Beyer and Gurevych 2016, Task-Oriented Intrinsic Evaluation of Semantic Textual Similarity,
        https://aclanthology.org/C16-1009/
    """
    return Similarity(**correlations(cosines(left, right), ratings))


def cosines(left: Floats, right: Floats) -> Floats:
    """Compute the cosine of each pair of rows, (pairs,) float32 in [-1, 1]; 0 if a vector is zero."""
    return np.asarray(np.einsum("nd,nd->n", unit_rows(left), unit_rows(right)))


def correlations(predicted: Floats, ratings: NDArray[np.float32]) -> dict[str, Figure]:
    """Compute "pearson" and "spearman" of (pairs,) predictions with human ratings.

    Returns:
        In [-1, 1]; `Unavailable` if a side is constant, too short or not finite.

    Reference:
        Spearman 1904, The Proof and Measurement of Association between Two Things, https://doi.org/10.2307/1412159
    """
    if unavailable := _why_unavailable(predicted, ratings):
        return {"pearson": unavailable, "spearman": unavailable}
    from scipy.stats import pearsonr, spearmanr  # takes a second, needed only to correlate

    both = predicted.astype(np.float64), ratings.astype(np.float64)  # squares of float32 may overflow
    return {"pearson": float(pearsonr(*both).statistic), "spearman": float(spearmanr(*both).statistic)}


def _why_unavailable(predicted: Floats, ratings: NDArray[np.float32]) -> Unavailable | None:
    if unavailable := why_not_predicted(predicted):
        return unavailable
    if not np.isfinite(ratings).all():
        return Unavailable("some human ratings are not finite")

    # Constant ratings correlate with nothing.
    if np.ptp(ratings) == 0:
        return Unavailable("all human ratings are equal")
    if len(predicted) < FEWEST:
        return Unavailable(f"{len(predicted)} pairs, but a correlation needs {FEWEST}")
    return None


def why_not_predicted(predicted: Floats) -> Unavailable | None:
    """Say why (pairs,) predictions cannot be compared with anything, or return None."""
    if len(predicted) < 2:
        return Unavailable(f"{len(predicted)} pairs")
    if not np.isfinite(predicted).all():
        return Unavailable("some predictions are not finite")
    if np.ptp(predicted) <= ALIKE:
        return Unavailable("all predictions are alike")
    return None


def on_five(ratings: NDArray[np.float32], scale: tuple[float, float]) -> NDArray[np.float32]:
    """Map ratings from `scale` = (lowest, highest) to 0-5.

    >>> on_five(np.array([1, 3, 5], np.float32), (1.0, 5.0)).tolist()
    [0.0, 2.5, 5.0]
    """
    low, high = scale
    return (ratings - low) * np.float32(5.0 / (high - low))


def as_printed(cosines: Floats) -> Floats:
    """Map cosines to 0-5 as paper 1 does."""
    return 2.5 * (cosines + 1.0)


def similarity_figures(
    predicted: Floats, ratings: NDArray[np.float32], scale: tuple[float, float]
) -> dict[str, Figure]:
    """Compute Pearson, Spearman and MAE of `predicted` cosines; `ratings` are on `scale` = (lowest, highest)."""
    figures = correlations(predicted, ratings)
    if len(ratings) and np.isfinite(predicted).all() and np.isfinite(ratings).all():
        return figures | {"mae": float(np.abs(as_printed(predicted) - on_five(ratings, scale)).mean())}
    return figures | {"mae": figures["pearson"]}  # for the same reason
