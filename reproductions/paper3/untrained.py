"""Score an encoder with the component before any training, over many weights and both orders of adding and pooling.

Each text is encoded once. With `after_pooling` the weight multiplies the component's vector; with `before_pooling` and
the mean it is less by the share of tokens that the component has (component_focus/weights.py), so that both orders come
from the same vectors. Only a maximum before pooling needs the token outputs anew for each weight.

Besides the cosine, paper 3 has tried the negative Manhattan and Euclidean distance of two sentences (section 3.2.1).
SICK-E by logistic regression is in ten folds of the test pairs, as section 4.4 says, and trained on the training pairs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.grid.axes import Place
from reproductions.grid.cell import TEST, Cell, TrainedRun, table_of
from reproductions.paper3.component_focus.cells import (
    Inputs,
    Sets,
    components_of,
    entailment,
    entailment_of_train,
    indexed,
    task_pairs,
)
from reproductions.paper3.component_focus.options import PoolingOrder
from reproductions.paper3.component_focus.training import TokenizedTask, embed, shares
from reproductions.paper3.component_focus.weights import Weights
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation.protocols.similarity import correlations, cosines
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats

DISTANCES: dict[str, Callable[[Floats], Floats]] = {
    "manhattan": lambda difference: np.abs(difference).sum(axis=1),
    "euclidean": lambda difference: np.sqrt((difference**2).sum(axis=1)),
}


@dataclass(frozen=True)
class Texts:
    """The sentences of a task as tokens and vectors, and their components': `data.parts` are places in `vectors`."""

    name: str
    encoder: PairEncoder
    pairs: Sets
    data: TokenizedTask
    vectors: Floats

    def focused(self, weight: float, order: PoolingOrder) -> Floats:
        """Compute emb_S, (sentences, dimension)."""
        count = len(self.data.parts)
        if not weight:
            return self.vectors[:count]
        if order == "before_pooling" and self.encoder.pooling is Pooling.MAX:
            return embed(self.encoder, self.data, Weights(weight, self.encoder.dimension, order), *self.data.rows)
        places = np.column_stack([np.arange(count), self.data.parts])
        scales = np.float32(weight) * np.ones((count, 1), np.float32)
        if order == "before_pooling" and self.encoder.pooling is Pooling.MEAN:
            scales *= shares(self.data.tokens, places)[:, 0]
        return np.asarray(self.vectors[:count] + scales * self.vectors[self.data.parts[:, 0]])

    @property
    def test(self) -> tuple[PairSet, NDArray[np.int64]]:
        """The test pairs, and their places."""
        return self.pairs["test"], self.data.rows["test"]


def encoded(
    name: str, task: str, encoder: PairEncoder, inputs: Inputs, trees: dict[str, Tree], counters: Counters
) -> Texts:
    """Encode the sentences of a task's test split, and of its training split if the pairs have labels."""
    pairs = task_pairs(task, inputs, counters)
    wanted: Sets = {
        split: pairs[split] for split in pairs if split == "test" or (pairs[split].labels and split == "train")
    }
    texts, rows = indexed(wanted)
    parts = components_of(texts, trees, counters)
    place = {text: row for row, text in enumerate(dict.fromkeys([*texts, *parts]))}
    ratings = {split: each.unit_scores() for split, each in wanted.items()}
    tokens = encoder.tokens(list(place))
    data = TokenizedTask(tokens, np.array([[place[part]] for part in parts]), rows, ratings)
    counters.keep(len(texts))
    return Texts(name, encoder, wanted, data, encoder.embed(tokens))


def cells(
    texts: Texts, weights: Sequence[float], orders: Sequence[PoolingOrder], labelled: Sequence[float]
) -> Iterator[Cell]:
    """Score every weight in each order; the entailment only for the weights in `labelled`, as it takes a minute."""
    for order in orders:
        for weight in weights:
            yield _cell(texts, weight, order, weight in labelled)


def _cell(texts: Texts, weight: float, order: PoolingOrder, labelled: bool) -> Cell:
    test, rows = texts.test
    vectors = texts.focused(weight, order)
    predicted: dict[str, Any] = {
        "rating": texts.data.ratings["test"],
        "score": cosines(*(vectors[side] for side in rows.T)),
    }
    figures = _by_distance(vectors, rows, texts.data.ratings["test"])
    if labelled and test.labels is not None:
        predicted |= {"label": test.labels, "predicted": entailment(vectors, rows, test.labels)}
        train = texts.pairs["train"].labels
        assert train is not None
        guessed = entailment_of_train(vectors, texts.data.rows, train)
        figures["accuracy"] = float(np.mean(np.array(guessed) == np.array(test.labels)))
    place = Place(encoder=texts.name, task=test.name, weight=weight, order=order, pooling=texts.encoder.pooling.value)
    return Cell(place, [TrainedRun(None, figures)], table_of(None, {TEST: predicted}))


def _by_distance(vectors: Floats, rows: NDArray[np.int64], ratings: Floats) -> dict[str, float]:
    """Compute Pearson and Spearman of negative distances, by metric and distance."""
    difference = vectors[rows[:, 0]] - vectors[rows[:, 1]]
    return {
        f"{metric} by {name}": value
        for name, distance in DISTANCES.items()
        for metric, value in correlations(-distance(difference), ratings).items()
        if isinstance(value, float)
    }
