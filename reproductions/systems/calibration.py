"""The error of cosines on a scale that is fitted on training pairs: paper 1's own is not specific to an encoder.

    calibrated MAE = mean |f(cos) - rating|, f the monotone function with the least squared error on the training pairs

For the training cosines 0.1, 0.2, 0.3 with the ratings 1, 3, 2, f is 1, 2.5, 2.5 there, and a line in between.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.similarity import on_five
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

Calibration = Callable[[Floats], Floats]  # cosines to ratings on 0-5, both (pairs,)


def calibration(cosines: Floats, ratings: NDArray[np.float32]) -> Calibration | Unavailable:
    """Fit a monotone function from training cosines to their ratings on 0-5; it is constant beyond its ends."""
    if not len(cosines) or not np.isfinite(cosines).all():
        return Unavailable("the training pairs have no finite cosines")
    from sklearn.isotonic import IsotonicRegression  # takes half a second, needed only to calibrate

    fitted: Calibration = IsotonicRegression(y_min=0.0, y_max=5.0, out_of_bounds="clip").fit(cosines, ratings).predict
    return fitted


def calibrated_error(
    fitted: Calibration | Unavailable,
    predicted: Floats,
    ratings: NDArray[np.float32],
    scale: tuple[float, float],
    plain: Figure,
) -> Figure:
    """Compute the calibrated MAE of cosines; without a `plain` MAE there is none either, for the same reason."""
    if isinstance(fitted, Unavailable) or isinstance(plain, Unavailable):
        return fitted if isinstance(fitted, Unavailable) else plain
    return float(np.abs(fitted(predicted) - on_five(ratings, scale)).mean())
