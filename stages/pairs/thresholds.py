"""From scores to decisions: a pair is a paraphrase where its score is at least the threshold.

The threshold is chosen by cross-validation: for each of k folds, the one with the best accuracy on the other folds is
tried on the fold. The median of the k thresholds is the final one, the mean accuracy on the folds says how good it is
before any test pair was seen.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stages.ragged import Floats

Labels = NDArray[np.int8]


@dataclass(frozen=True)
class Folds:
    """How many folds there are, and the seed that deals the pairs out to them."""

    count: int
    seed: int


@dataclass(frozen=True)
class Threshold:
    """A threshold, and the accuracy of the folds that it comes from."""

    value: float
    accuracy: float


def best_threshold(scores: Floats, labels: Labels) -> float:
    """The threshold of the highest accuracy, half-way between two scores; of several equal ones the middle one.

    Scores (0.2, 0.6, 0.8) with labels (0, 1, 1) give 0.4.
    """
    order = np.argsort(scores, kind="stable")
    ascending = scores[order].astype(np.float64)
    negatives = np.concatenate([[0], np.cumsum(labels[order] == 0)])
    positives = np.concatenate([[0], np.cumsum(labels[order] == 1)])
    right = negatives + positives[-1] - positives  # with the threshold before the sentence of this rank
    bounds = np.concatenate([[-np.inf], ascending, [np.inf]])
    right[1:-1][np.diff(ascending) == 0] = -1  # no threshold parts equal scores
    best = np.flatnonzero(right == right.max())
    place = int(best[len(best) // 2])
    low, high = max(bounds[place], ascending[0] - 1), min(bounds[place + 1], ascending[-1] + 1)
    return float((low + high) / 2)


def cross_validated(scores: Floats, labels: Labels, folds: Folds) -> Threshold:
    """The median of the folds' best thresholds, and their mean accuracy; each fold has its share of either label."""
    fold = np.empty(len(labels), dtype=np.int64)
    generator = np.random.default_rng(folds.seed)
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % folds.count
    values, accuracies = [], []
    for number in np.unique(fold):
        inside = fold == number
        values.append(best_threshold(scores[~inside], labels[~inside]))
        accuracies.append(accuracy(scores[inside], labels[inside], values[-1]))
    return Threshold(float(np.median(values)), float(np.mean(accuracies)))


def accuracy(scores: Floats, labels: Labels, threshold: float) -> float:
    """The share of pairs that are decided rightly."""
    return float(((scores >= threshold) == (labels == 1)).mean())


def f1(scores: Floats, labels: Labels, threshold: float) -> float:
    """Harmonic mean of precision and recall of the paraphrases; 0 where none is found."""
    found = scores >= threshold
    hits = int((found & (labels == 1)).sum())
    return 2 * hits / (int(found.sum()) + int((labels == 1).sum())) if hits else 0.0
