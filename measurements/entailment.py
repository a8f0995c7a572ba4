"""SICK-E: the labels of pairs of sentences, learnt from the difference of their vectors.

Logistic regression on |u - v| is trained on the split train, and three folds of it choose the penalty, as paper 3's
cells do it. SentEval (Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449) has u * v as a feature, too.
"""

from dataclasses import replace

import numpy as np

from reproductions.paper3.component_focus.cells import entailment_of_train
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Encoder, unit
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

SET, HOLDER = "sick-e", "sick"  # of the suite, and the set that has the labels
PROTOCOL, METRIC = "labels of pairs", "accuracy"


def entailment(
    train: PairSet, scored: PairSet, system: str, encoder: Encoder | Unavailable
) -> tuple[list[Result], Floats | None]:
    """Learn labels from `train`, and return the accuracy on `scored` with its interval, and that of each draw."""
    row = Result(system, SET, scored.split, PROTOCOL, METRIC, 0.0, len(scored.sentences1))
    if isinstance(encoder, Unavailable):
        return [replace(row, value=encoder)], None
    correct = _correct(train, scored, encoder)
    draws = bootstrap.means(correct, bootstrap.counts(len(correct)))
    low, high, _ = bootstrap.interval(draws)
    return [replace(row, value=float(correct.mean()), low=low, high=high)], draws


def _correct(train: PairSet, scored: PairSet, encoder: Encoder) -> Floats:
    """Tell of each pair whether it got the right label, (pairs,) 1 or 0."""
    texts = list(dict.fromkeys(text for part in (train, scored) for text in (*part.sentences1, *part.sentences2)))
    place = {text: number for number, text in enumerate(texts)}
    first, second = (
        np.array([[place[left], place[right]] for left, right in zip(part.sentences1, part.sentences2, strict=True)])
        for part in (train, scored)
    )
    predicted = entailment_of_train(unit(encoder)(texts), {"train": first, "test": second}, train.labels or [])
    pairs = zip(predicted, scored.labels or [], strict=True)
    return np.array([label == expected for label, expected in pairs], dtype=np.float32)
