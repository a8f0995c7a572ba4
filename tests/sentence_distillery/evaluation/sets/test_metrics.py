"""Agreement with human ratings: answers known by hand, textbook formulas in NumPy, and undefined figures."""

import numpy as np
import pytest

from sentence_distillery.evaluation.protocols.metrics import similarity_figures
from sentence_distillery.evaluation.protocols.similarity import correlations, cosines
from sentence_distillery.io.unavailable import Unavailable


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Covariance over the product of standard deviations."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    return float(((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std()))


def ranks(values: np.ndarray) -> np.ndarray:
    """1 for the smallest; equal values share the mean of their ranks."""
    return np.array([(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values])


def test_cosines_by_hand() -> None:
    left = np.array([[3, 4], [1, 0], [2, 0], [0, 0], [-1, -1]], dtype=np.float32)
    right = np.array([[4, 3], [0, 5], [7, 0], [1, 1], [1, 1]], dtype=np.float32)
    np.testing.assert_allclose(cosines(left, right), [0.96, 0, 1, 0, -1], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_the_textbooks(seed: int) -> None:
    generator = np.random.default_rng(seed)
    predicted = generator.normal(size=50).astype(np.float32)
    gold = np.round(predicted + generator.normal(size=50)).astype(np.float32)  # with ties
    found = correlations(predicted, gold)
    assert found["pearson"] == pytest.approx(pearson(predicted, gold), abs=1e-5)
    assert found["spearman"] == pytest.approx(pearson(ranks(predicted), ranks(gold)), abs=1e-9)


def test_spearman_sees_order_alone() -> None:
    predicted = np.array([0.1, 0.2, 0.9, 1.0], dtype=np.float32)
    found = correlations(predicted, np.array([0, 1, 2, 5], dtype=np.float32))
    assert found["spearman"] == pytest.approx(1.0)
    assert isinstance(found["pearson"], float) and found["pearson"] < 0.95


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


@pytest.mark.parametrize(
    ("predicted", "reason"),
    [([], "0 pairs"), ([0.1, np.nan], "some predictions are not finite"), ([np.inf, 0.1], "some predictions are not")],
)
@pytest.mark.fault(20)
def test_nothing_is_nan(predicted: list[float], reason: str) -> None:
    """Without pairs, or with cosines that are not finite, there is no figure and no warning."""
    gold = np.arange(len(predicted), dtype=np.float32)
    for figure in similarity_figures(np.array(predicted, np.float32), gold, (0.0, 5.0)).values():
        assert isinstance(figure, Unavailable) and figure.reason.startswith(reason)
