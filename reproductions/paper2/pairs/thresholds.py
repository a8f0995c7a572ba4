"""Decide by a threshold: a pair is a paraphrase if its score is at least the threshold.

The threshold is chosen by cross-validation: a rule chooses one on all folds but one, and it is tested on the left-out
fold. The final threshold is the median over the folds; their mean accuracy estimates its quality without any test pair.
There are two rules:

    accuracy   the threshold of the best accuracy, as in paper 2
    logistic   the score at which logistic regression gives either label the same odds (Platt 1999)

With a few hundred pairs, the threshold of the best accuracy depends on chance. Thresholds for all-MiniLM-L6's cosines
from 394 of MRPC's training pairs, drawn 200 times, decided 73.3 ± 0.4 % of the other training pairs correctly by
accuracy, and 73.5 ± 0.3 % by logistic regression; F1 was 81.9 ± 0.8 and 82.4 ± 0.4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproductions.paper2.pairs.options import ThresholdRule
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

Labels = NDArray[np.int8]


@dataclass(frozen=True)
class Folds:
    """The number of folds, the seed that assigns the pairs to them, and the rule that is tested on them."""

    count: int
    seed: int
    rule: ThresholdRule = "accuracy"


@dataclass(frozen=True)
class Threshold:
    """A threshold, and its mean accuracy on the folds, in [0, 1]."""

    value: float
    accuracy: float


def best_threshold(scores: Floats, labels: Labels) -> float:
    """Return the threshold of the highest accuracy, half-way between two scores; of several equal ones the middle one.

    Scores (0.2, 0.6, 0.8) with labels (0, 1, 1) give 0.4.
    """
    order = np.argsort(scores, kind="stable")
    ascending = scores[order].astype(np.float64)
    negatives = np.concatenate([[0], np.cumsum(labels[order] == 0)])
    positives = np.concatenate([[0], np.cumsum(labels[order] == 1)])
    right = negatives + positives[-1] - positives  # with the threshold before the sentence of this rank
    bounds = np.concatenate([[-np.inf], ascending, [np.inf]])
    right[1:-1][np.diff(ascending) == 0] = -1  # no threshold separates equal scores
    best = np.flatnonzero(right == right.max())
    place = int(best[len(best) // 2])
    low, high = max(bounds[place], ascending[0] - 1), min(bounds[place + 1], ascending[-1] + 1)
    return float((low + high) / 2)


def even_odds(scores: Floats, labels: Labels) -> float:
    """Return the score at which logistic regression gives both labels the same odds.

    If high scores are evidence against a paraphrase, or all pairs have one label, there is no such score; then the
    threshold of the best accuracy is returned.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second, and few need it

    if len(np.unique(labels)) < 2:
        return best_threshold(scores, labels)
    middle, width = float(scores.mean()), float(scores.std()) or 1.0
    fitted = LogisticRegression().fit(((scores - middle) / width)[:, None], labels)
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return middle - width * intercept / slope if slope > 0 else best_threshold(scores, labels)


RULES: dict[ThresholdRule, Callable[[Floats, Labels], float]] = {"accuracy": best_threshold, "logistic": even_odds}


def cross_validated(scores: Floats, labels: Labels, folds: Folds) -> Threshold:
    """Choose a threshold by cross-validation; each fold has its share of both labels.

    Args:
        scores: (pairs,) float32, higher for paraphrases.
        labels: (pairs,) int8 of 0 and 1.
        folds: how many, the seed, and the rule.

    Returns:
        The median of the folds' thresholds, and their mean accuracy.

    Raises:
        InputError: If there is no pair.
    """
    if not len(labels):
        raise InputError("There is no pair to choose a threshold on; give labelled pairs of a validation split.")
    fold = np.empty(len(labels), dtype=np.int64)
    generator = np.random.default_rng(folds.seed)
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % folds.count
    choose = RULES[folds.rule]
    if not fold.any():  # one pair of each label: there is no other fold to choose on
        value = choose(scores, labels)
        return Threshold(value, accuracy(scores, labels, value))
    values, accuracies = [], []
    for number in np.unique(fold):
        inside = fold == number
        values.append(choose(scores[~inside], labels[~inside]))
        accuracies.append(accuracy(scores[inside], labels[inside], values[-1]))
    return Threshold(float(np.median(values)), float(np.mean(accuracies)))


def accuracy(scores: Floats, labels: Labels, threshold: float) -> float:
    """Return the share of pairs that are decided correctly, in [0, 1]."""
    return float(((scores >= threshold) == (labels == 1)).mean())


def f1(scores: Floats, labels: Labels, threshold: float) -> float:
    """Return the harmonic mean of precision and recall of the paraphrases, in [0, 1]; 0 if no decision is correct."""
    predicted = scores >= threshold
    hits = int((predicted & (labels == 1)).sum())
    return 2 * hits / (int(predicted.sum()) + int((labels == 1).sum())) if hits else 0.0
