"""Thresholds: by hand, and never below any other in accuracy."""

import numpy as np
import pytest

from reproductions.paper2.pairs.thresholds import Folds, accuracy, best_threshold, cross_validated, even_odds, f1


def test_half_way_between_the_scores() -> None:
    scores, labels = np.array([0.2, 0.6, 0.8], np.float32), np.array([0, 1, 1], np.int8)
    assert best_threshold(scores, labels) == pytest.approx(0.4)


def test_no_other_threshold_is_better() -> None:
    """Of scores with ties; in the first two rounds all labels are 0, or all are 1."""
    generator = np.random.default_rng(1)
    for label in (0, 1, *[None] * 20):
        scores = generator.integers(0, 12, 40).astype(np.float32)
        drawn = generator.integers(0, 2, 40) if label is None else np.full(40, label)
        labels = drawn.astype(np.int8)
        tried = max(accuracy(scores, labels, bound) for bound in np.arange(-0.5, 13))
        assert accuracy(scores, labels, best_threshold(scores, labels)) == pytest.approx(tried)


def test_cross_validation_knows_what_it_does_not_see() -> None:
    """Labels that follow from the score are found; of labels drawn at random a fold is about half right."""
    generator = np.random.default_rng(1)
    scores = generator.random(400).astype(np.float32)
    clear = cross_validated(scores, (scores > 0.3).astype(np.int8), Folds(10, 1))
    assert clear.accuracy > 0.98 and clear.value == pytest.approx(0.3, abs=0.02)
    chance = cross_validated(scores, generator.integers(0, 2, 400).astype(np.int8), Folds(10, 1))
    assert 0.4 < chance.accuracy < 0.6


def test_even_odds_are_where_they_were_put() -> None:
    """Labels drawn with the odds exp(8 (score - 0.6))."""
    generator = np.random.default_rng(1)
    scores = generator.random(20_000).astype(np.float32)
    labels = (generator.random(20_000) < 1 / (1 + np.exp(-8 * (scores - 0.6)))).astype(np.int8)
    assert even_odds(scores, labels) == pytest.approx(0.6, abs=0.01)


def test_scores_that_speak_against_paraphrases() -> None:
    """No score has even odds with the paraphrases above it: all pairs of the more frequent label are right."""
    scores, labels = np.array([0.1, 0.2, 0.3, 0.8], np.float32), np.array([1, 1, 1, 0], np.int8)
    assert accuracy(scores, labels, even_odds(scores, labels)) == 0.75


def test_f1_by_hand() -> None:
    """Two of three found pairs are paraphrases, of four: precision 2/3, recall 1/2."""
    scores = np.array([0.9, 0.8, 0.7, 0.1, 0.1], np.float32)
    labels = np.array([1, 1, 0, 1, 1], np.int8)
    assert f1(scores, labels, 0.5) == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert f1(scores, labels, 1.0) == 0.0
