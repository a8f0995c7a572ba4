"""Compare cosines with human ratings: Pearson, Spearman and mean absolute error (paper 1, equations 14 and 15).

    MAE = mean |2.5 (cos + 1) - rating|, in units of a 0-5 scale

The cosine is mapped from [-1, 1] to [0, 5] as in paper 1, and so is the rating from its own scale. That mapping is not
specific to an encoder, so a second one is fitted on training pairs:

    calibrated MAE = mean |f(cos) - rating|, f the monotone function with the least squared error on the training pairs

For the training cosines 0.1, 0.2, 0.3 with the ratings 1, 3, 2, f is 1, 2.5, 2.5 there, and a line in between.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.similarity import correlations
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

Calibration = Callable[[Floats], Floats]  # cosines to ratings on 0-5, both (pairs,)


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


def calibration(cosines: Floats, ratings: NDArray[np.float32]) -> Calibration | Unavailable:
    """Fit a monotone function from training cosines to their ratings on 0-5; it is constant beyond its ends."""
    if not len(cosines) or not np.isfinite(cosines).all():
        return Unavailable("the training pairs have no finite cosines")
    from sklearn.isotonic import IsotonicRegression  # takes half a second, needed only to calibrate

    fitted: Calibration = IsotonicRegression(y_min=0.0, y_max=5.0, out_of_bounds="clip").fit(cosines, ratings).predict
    return fitted


def similarity_figures(
    predicted: Floats,
    ratings: NDArray[np.float32],
    scale: tuple[float, float],
    calibrated: Calibration | Unavailable | None = None,
) -> dict[str, Figure]:
    """Compute Pearson, Spearman and MAE of `predicted` cosines, and the calibrated MAE if there is a calibration.

    `ratings` are on `scale` = (lowest, highest).
    """
    figures = correlations(predicted, ratings)
    mappings: dict[str, Calibration | Unavailable] = {"mae": as_printed}
    mappings |= {"mae_calibrated": calibrated} if calibrated else {}

    # A figure that cannot be computed has the reason of the correlation.
    finite = len(ratings) > 0 and bool(np.isfinite(predicted).all() and np.isfinite(ratings).all())
    for name, mapping in mappings.items():
        if isinstance(mapping, Unavailable):
            figures[name] = mapping
        elif finite:
            figures[name] = float(np.abs(mapping(predicted) - on_five(ratings, scale)).mean())
        else:
            figures[name] = figures["pearson"]  # for the same reason
    return figures
