"""Encoders scored with the component before training: the same vectors as the cells of the grid have."""

from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper3.component_focus.cells import Inputs, entailment_of_train
from reproductions.paper3.component_focus.options import PoolingOrder
from reproductions.paper3.component_focus.training import embed, pair_cosines
from reproductions.paper3.component_focus.weights import Weights
from reproductions.paper3.results import cell_figures
from reproductions.paper3.untrained import Texts, cells, encoded
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet, Split
from sentence_distillery.io.counters import Counters
from tests.reproductions.paper3.conftest import DOG, TEXT

RIGHT = ["the police", "a storm", "the government", "water people", "the guitar"]


class Benchmarks:
    """Splits of one set, without files; all but test have sentences of their own."""

    def __init__(self, times: int = 1, labels: list[str] | None = None) -> None:
        self.times, self.labels = times, labels

    def pairs(self, name: str, split: Split) -> PairSet:
        left = [TEXT if split == "test" else f"the woman {split}"] * len(RIGHT) * self.times
        scores = np.array([1, 2, 3, 4, 5] * self.times, dtype=np.float32)
        return PairSet(name, split, left, RIGHT * self.times, scores, self.labels, (1.0, 5.0))


def encode(encoder: PairEncoder, times: int = 1, labels: list[str] | None = None) -> Texts:
    inputs = Inputs(cast(BenchmarkData, Benchmarks(times, labels)), Path())
    return encoded("tiny", "stsb", encoder, inputs, {TEXT: DOG}, Counters("sentences"))


@pytest.mark.parametrize("pooling", Pooling)
def test_the_cosines_are_those_of_a_cell(encoder: PairEncoder, pooling: Pooling) -> None:
    encoder.pooling = pooling
    texts = encode(encoder)
    found = list(cells(texts, [0.0, 0.7], get_args(PoolingOrder), []))
    assert len(found) == 4
    for cell in found:
        place: dict[str, Any] = cell.place
        weights = Weights(place["weight"], encoder.dimension, place["order"])
        expected = pair_cosines(embed(encoder, texts.data, weights, "test"), texts.data, "test")
        np.testing.assert_allclose(cell.column("score")[0], expected, atol=1e-6)
    before, after = (cell.column("score")[0] for cell in found[1::2])
    assert np.allclose(before, after, atol=1e-6) == (pooling is Pooling.CLS)


def test_distances_and_protocols(encoder: PairEncoder) -> None:
    """By hand, for the pairs of the test split."""
    texts = encode(encoder)
    (cell,) = cells(texts, [0.2], ["before_pooling"], [])
    rows = {(row.metric, row.protocol): row.number for row in cell_figures(cell)}
    u, v = (texts.focused(0.2, "before_pooling")[side] for side in texts.data.rows["test"].T)
    expected = np.corrcoef(-np.abs(u - v).sum(axis=1), [1, 2, 3, 4, 5])[0, 1]
    assert rows["pearson", "component focus by manhattan, before pooling"] == pytest.approx(expected, abs=1e-5)
    expected = np.corrcoef(-np.linalg.norm(u - v, axis=1), [1, 2, 3, 4, 5])[0, 1]
    assert rows["pearson", "component focus by euclidean, before pooling"] == pytest.approx(expected, abs=1e-5)


def test_accuracy_of_entailment(encoder: PairEncoder) -> None:
    """The share of the test pairs whose label is guessed."""
    labels = ["ENTAILMENT", "NEUTRAL", "CONTRADICTION", "NEUTRAL", "ENTAILMENT"] * 20
    labels[::7] = ["NEUTRAL"] * len(labels[::7])
    texts = encode(encoder, 20, labels)
    (cell,) = cells(texts, [0.2], ["before_pooling"], [0.2])
    guessed = entailment_of_train(texts.focused(0.2, "before_pooling"), texts.data.rows, labels)
    right = sum(one == other for one, other in zip(guessed, labels, strict=True))
    assert 0.5 < right / len(labels) < 1
    assert cell.there[0].figures["accuracy"] == pytest.approx(right / len(labels))


def test_entailment_learnt_on_train() -> None:
    """Pairs whose sentences are far apart contradict each other, in train and in test."""
    made = np.random.default_rng(5)
    vectors = made.normal(size=(200, 8)).astype(np.float32)
    apart = np.arange(100) % 2 == 1
    vectors[100:] = vectors[:100] + np.where(apart, 2.0, 0.1)[:, None]
    rows = np.column_stack([np.arange(100), np.arange(100, 200)])
    labels = np.where(apart, "CONTRADICTION", "ENTAILMENT").tolist()
    found = entailment_of_train(vectors, {"train": rows[:60], "test": rows[60:]}, labels[:60])
    assert found == labels[60:]
