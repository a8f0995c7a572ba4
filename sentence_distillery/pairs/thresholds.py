"""From scores to decisions: a pair is a paraphrase where its score is at least the threshold.

The threshold is chosen by cross-validation: for each of k folds, the one that a rule finds on the other folds is tried
on the fold. The median of the k thresholds is the final one, the mean accuracy on the folds says how good it is before
any test pair was seen. There are two rules:

    accuracy   the threshold of the best accuracy, as in paper 2
    logistic   the score at which logistic regression gives either label the same odds (Platt 1999)

Of a few hundred pairs the best accuracy is a matter of luck. Thresholds for all-MiniLM-L6's cosines from 394 of MRPC's
training pairs, drawn 200 times, were right about 73.3 ± 0.4 % of the other training pairs by accuracy, and about 73.5 ±
0.3 % by logistic regression; F1 was 81.9 ± 0.8 and 82.4 ± 0.4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.options import ThresholdRule

Labels = NDArray[np.int8]


@dataclass(frozen=True)
class Folds:
    """How many folds there are, the seed that deals the pairs out to them, and the rule that is tried on them."""

    count: int
    seed: int
    rule: ThresholdRule = "accuracy"


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


def even_odds(scores: Floats, labels: Labels) -> float:
    """The score at which logistic regression has the labels at even odds.

    Where high scores speak against a paraphrase there is none to be had, and it is that of the best accuracy.
    """
    middle, width = float(scores.mean()), float(scores.std()) or 1.0
    fitted = LogisticRegression().fit(((scores - middle) / width)[:, None], labels)
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return middle - width * intercept / slope if slope > 0 else best_threshold(scores, labels)


RULES: dict[ThresholdRule, Callable[[Floats, Labels], float]] = {"accuracy": best_threshold, "logistic": even_odds}


def cross_validated(scores: Floats, labels: Labels, folds: Folds) -> Threshold:
    """The median of the folds' thresholds, and their mean accuracy; each fold has its share of either label."""
    fold = np.empty(len(labels), dtype=np.int64)
    generator = np.random.default_rng(folds.seed)
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % folds.count
    choose = RULES[folds.rule]
    values, accuracies = [], []
    for number in np.unique(fold):
        inside = fold == number
        values.append(choose(scores[~inside], labels[~inside]))
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
