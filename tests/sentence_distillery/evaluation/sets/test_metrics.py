"""Agreement with human ratings: answers known by hand, textbook formulas in NumPy, and undefined figures."""

import numpy as np
import pytest

from sentence_distillery.evaluation.protocols.metrics import similarity_figures
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.io.unavailable import Unavailable


def test_cosines_by_hand() -> None:
    left = np.array([[3, 4], [1, 0], [2, 0], [0, 0], [-1, -1]], dtype=np.float32)
    right = np.array([[4, 3], [0, 5], [7, 0], [1, 1], [1, 1]], dtype=np.float32)
    np.testing.assert_allclose(cosines(left, right), [0.96, 0, 1, 0, -1], atol=1e-6)


@pytest.mark.parametrize(
    ("scale", "gold", "expected"),
    [
        # the cosines 1, 0 and -1 are 5, 2.5 and 0 of 5
        ((0.0, 5.0), [5, 2.5, 0], 0.0),
        ((0.0, 5.0), [4, 2.5, 1], 2 / 3),
        ((0.0, 5.0), [0, 0, 0], 2.5),
        ((1.0, 5.0), [5, 3, 1], 0.0),
        ((1.0, 5.0), [1, 3, 5], 10 / 3),
        ((1.0, 5.0), [5, 3, 2], 1.25 / 3),
    ],
)
def test_error_in_units_of_a_0_to_5_scale(scale: tuple[float, float], gold: list[float], expected: float) -> None:
    """Cosines go from [-1, 1] to [0, 5] as in paper 1, and human ratings from their own scale."""
    figures = similarity_figures(np.array([1, 0, -1], dtype=np.float32), np.array(gold, dtype=np.float32), scale)
    assert figures["mae"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("predicted", "gold", "reason"),
    [
        ([0.5, 0.5, 0.5], [1, 2, 3], "all predictions are alike"),
        ([0.5, 0.5 + 6e-8, 0.5], [1, 2, 3], "all predictions are alike"),
        ([0.1, 0.2, 0.3], [2, 2, 2], "all human ratings are equal"),
        ([0.1], [2], "1 pairs"),
    ],
)
@pytest.mark.fault(20)
def test_undefined_correlations(predicted: list[float], gold: list[float], reason: str) -> None:
    """Constant predictions have no correlation but a reason; the error stays a number."""
    figures = similarity_figures(np.array(predicted, np.float32), np.array(gold, np.float32), (0.0, 5.0))
    assert figures["pearson"] == figures["spearman"] == Unavailable(reason)
    assert isinstance(figures["mae"], float)
