"""An intermediate task: the joined pair learns how similar people find two sentences before it learns paraphrases.

    loss = -mean (y log p + (1 - y) log (1 - p))        y: a pair's score on [0, 1], p: the head's probability

"How similar?" is nearly the question "the same?", and there are more pairs with the one answer than with the other.
(Phang et al. 2018 train on such a task in between, which they call STILTs; not in paper 2.) Encoder and head go through
both, and both are trained alike (section `modern_learning`) but for the epochs and the rate. Pairs that stand among the
held-out ones, or in a test split that the cell reports, are left out and counted.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.benchmarks.data import load_pairs
from sentence_distillery.benchmarks.decontamination import guarded
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.pairs.cells import key_of, settings_of, weights_hash
from sentence_distillery.pairs.data import LabelledPairs, Material
from sentence_distillery.pairs.options import Intermediate, Learning
from sentence_distillery.pairs.training import Examples, Notes, PairModel, Training


def _texts(material: Material, rows: NDArray[np.int64]) -> LabelledPairs:
    """Pairs of a material, by their places (pairs, 2), whatever their labels."""
    one, other = ([material.sentences[row] for row in side] for side in rows.T)
    return LabelledPairs(one, other, np.zeros(len(rows), dtype=np.int8))


def scored_examples(name: str, material: Material, model: PairModel, counters: Counters) -> Examples:
    """The training pairs of a set of scored pairs, joined, without those that `material` scores on.

    Raises InputError where the set has no training pairs or no scores.
    """
    scored = {f"{split} pairs": _texts(material, material.splits[split].rows) for split in ("validation", "test")}
    scored |= {f"{related} test": _texts(material, pairs.rows) for related, pairs in material.related.items()}
    guard = Counters("pairs")
    try:
        train = guarded(load_pairs(name, "train"), scored, guard)
        labels = train.unit_scores()
    except InputError as error:
        raise InputError(f"intermediate.set: {error}") from error
    counters.details |= {f"{name} train, {reason}": count for reason, count in guard.dropped.items()}
    rows = np.arange(len(train.sentences1))[:, None]
    tokens = model.encoder.tokens(train.sentences1, train.sentences2)
    return Examples(tokens, rows, labels, np.zeros((len(rows), 2), dtype=np.int64))


def learn_scores(
    model: PairModel, examples: Examples, learning: Learning, task: Intermediate, seed: int, checkpoint: Path
) -> Notes:
    """Train a model in place on pairs whose labels are scores; the loss and the seconds of each epoch."""
    how = learning.model_copy(update={"epochs": task.epochs, "head_epochs": 0, "patience": None})
    key = key_of(weights_hash(model), examples.tokens, examples.labels.tolist(), settings_of(how), task, seed)
    return Training(model, "pair", how, task.learning_rate, seed, checkpoint, key, _not_judged).run(examples)


def _not_judged() -> float:
    raise AssertionError("without patience no epoch is judged")
