"""The error on a scale that is fitted on training pairs."""

import numpy as np
import pytest

from reproductions.systems.calibration import calibrated_error, calibration
from sentence_distillery.evaluation.protocols.metrics import similarity_figures
from sentence_distillery.io.unavailable import Unavailable


def test_calibration_by_hand() -> None:
    """Two scores in the wrong order share their mean; in between it is a line, beyond the ends it stays."""
    fitted = calibration(np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 3, 2], np.float32))
    assert not isinstance(fitted, Unavailable)
    found = fitted(np.array([0.1, 0.2, 0.3, 0.15, -1, 1], np.float32))
    np.testing.assert_allclose(found, [1, 2.5, 2.5, 1.75, 1, 2.5], atol=1e-5)


def test_calibrated_error() -> None:
    """A level of the cosines that is wrong everywhere costs nothing, their order still does."""
    cosine, gold = np.linspace(0.5, 0.9, 20).astype(np.float32), np.linspace(0, 5, 20).astype(np.float32)
    fitted = calibration(cosine, gold)
    plain = similarity_figures(cosine, gold, (0.0, 5.0))["mae"]
    assert isinstance(plain, float) and plain > 1
    assert calibrated_error(fitted, cosine, gold, (0.0, 5.0), plain) == pytest.approx(0.0, abs=1e-5)
    reversed_ = calibrated_error(fitted, cosine[::-1], gold, (0.0, 5.0), plain)
    assert reversed_ == pytest.approx(np.abs(gold - gold[::-1]).mean(), abs=1e-4)
    nothing = similarity_figures(cosine[:0], gold[:0], (0.0, 5.0))["mae"]
    assert calibrated_error(fitted, cosine[:0], gold[:0], (0.0, 5.0), nothing) == Unavailable("0 pairs")
