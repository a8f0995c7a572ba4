"""Bootstrap draws of correlations, compared with scipy's on the drawn pairs themselves."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.intervals import ranks, spearman


def drawn_pairs(size: int, draw: int) -> np.ndarray:
    """The rows of a draw, in any order."""
    return np.repeat(np.arange(size), bootstrap.counts(size, draw + 1)[draw].astype(int))


def test_ranks() -> None:
    """Equal values share their mean rank; a value that was drawn twice counts twice."""
    values, drawn = np.array([3.0, 1.0, 3.0, 2.0], np.float32), np.array([[1, 2, 1, 0]], np.float32)
    assert ranks(values, drawn).tolist() == [[3.5, 1.5, 3.5, 2.5]]
    assert rankdata([1, 1, 3, 3]).tolist() == [1.5, 1.5, 3.5, 3.5]


@pytest.mark.parametrize("draw", [0, 7])
def test_spearman(draw: int) -> None:
    """That of the drawn pairs, with ties among the ratings."""
    random = np.random.default_rng(1)
    ratings = random.integers(0, 6, 60).astype(np.float32)
    cosines = (ratings / 5 + random.normal(size=60)).astype(np.float32)
    rows = drawn_pairs(60, draw)
    found = spearman(cosines, ratings, bootstrap.counts(60, 8))
    assert found[draw] == pytest.approx(spearmanr(cosines[rows], ratings[rows]).statistic, abs=1e-6)
