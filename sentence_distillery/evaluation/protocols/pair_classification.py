"""Pair classification: decide by the cosine whether two texts belong together.

    AP = sum_n (R_n - R_(n-1)) P_n        P_n, R_n: precision and recall of the pairs whose cosine is at least the n-th

over the distinct cosines in descending order. Accuracy and F1 are those of the best threshold between two cosines, as
MTEB's task type PairClassification takes it (`cosine_ap`, `cosine_accuracy`, `cosine_f1`): it is chosen on the pairs
that it is scored on, so these two are upper bounds. A threshold below all cosines is not tried.

    cosines 0.9, 0.8, 0.3 with the labels 1, 0, 1: AP = 1/2 * 1/1 + 1/2 * 2/3 = 0.83, best F1 = 0.67 (above 0.85)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.similarity import cosines, why_not_predicted
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

DRAWN_AT_ONCE = 1_000_000  # numbers


@dataclass(frozen=True)
class PairClassification:
    """The figures of a classifier of pairs; accuracy and F1 are those of the best threshold."""

    ap: Figure  # the average precision, in [0, 1], or `Unavailable`
    accuracy: Figure  # the accuracy of the best threshold, in [0, 1], or `Unavailable`
    f1: Figure  # the F1 of the best threshold, in [0, 1], or `Unavailable`


def pair_classification(left: Floats, right: Floats, positive: NDArray[np.bool_]) -> PairClassification:
    """Classify pairs by the cosines of (pairs, dimension) vectors; `positive` (pairs,) bool says which belong together.

    Returns:
        The figures, in [0, 1]; `Unavailable` if all pairs have one label, or the cosines are alike, too few or not
        finite.

    Example:
        >>> left = np.array([[1, 0], [1, 0], [1, 0]], np.float32)
        >>> right = np.array([[4, 1], [3, 2], [0, 1]], np.float32)
        >>> round(pair_classification(left, right, np.array([True, False, True])).ap, 2)
        0.83

    Reference:
        Muennighoff, Tazi, Magne and Reimers 2023, MTEB: Massive Text Embedding Benchmark,
        https://arxiv.org/abs/2210.07316
    """
    predicted = cosines(left, right)
    if unavailable := _why_unavailable(predicted, positive):
        return PairClassification(unavailable, unavailable, unavailable)
    once = np.ones((1, len(positive)), np.float32)
    return PairClassification(*map(float, _figures(predicted, positive, once)[0]))


def figures_of_draws(predicted: Floats, positive: NDArray[np.bool_], drawn: Floats) -> Floats:
    """Compute the figures of pairs that are drawn again and again, each with the best threshold of its draw.

    `predicted` are the cosines, `positive` whether the texts belong together, both (pairs,), and `drawn` how often each
    pair is in each draw, (draws, pairs). Returns average precision, accuracy and F1 of each draw, (draws, 3) float32 in
    [0, 1]; NaN if all pairs of the draw have one label or one cosine.
    """
    blocks = np.array_split(drawn, max(1, drawn.size // DRAWN_AT_ONCE))
    return np.concatenate([_figures(predicted, positive, block) for block in blocks]).astype(np.float32)


def _figures(predicted: Floats, positive: NDArray[np.bool_], drawn: Floats) -> NDArray[np.float64]:
    """Return average precision, accuracy and F1 of each draw, (draws, 3)."""
    order = np.argsort(-predicted, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(predicted[order])), len(order) - 1)  # a threshold does not divide equals
    hits, found = (
        np.cumsum(drawn[:, order] * weight, axis=1, dtype=np.float64)[:, ends] for weight in (positive[order], 1)
    )
    positives, pairs = hits[:, -1:], found[:, -1:]
    precisions = hits / np.maximum(found, 1)
    right = hits + (pairs - positives) - (found - hits)  # and the negatives below the threshold

    # A threshold above or below all cosines of the draw divides nothing.
    tried = (found > 0) & (found < pairs)
    accuracy, f1 = (
        np.where(tried, share, 0.0).max(axis=1)
        for share in (right / pairs, 2 * hits / np.maximum(found + positives, 1))
    )
    ap = (np.diff(hits, axis=1, prepend=0) * precisions).sum(axis=1) / np.maximum(positives[:, 0], 1)
    known = (positives > 0) & (positives < pairs) & tried.any(axis=1, keepdims=True)
    return np.where(known, np.stack([ap, accuracy, f1], axis=1), np.nan)


def _why_unavailable(predicted: Floats, positive: NDArray[np.bool_]) -> Unavailable | None:
    if unavailable := why_not_predicted(predicted):
        return unavailable
    if positive.all() or not positive.any():
        return Unavailable("all pairs have one label")
    return None
