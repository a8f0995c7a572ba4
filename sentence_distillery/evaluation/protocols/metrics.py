"""Compare cosines with human ratings: Pearson, Spearman and mean absolute error (paper 1, equations 14 and 15).

    MAE = mean |2.5 (cos + 1) - rating|, in units of a 0-5 scale

The cosine is mapped from [-1, 1] to [0, 5] as in paper 1, and so is the rating from its own scale.
"""

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.similarity import correlations
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure


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
