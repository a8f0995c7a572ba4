"""Decide whether two sentences are paraphrases, by a model that was trained on pairs.

The model is any directory that `export.write_model` wrote with a threshold: a bi-encoder, or a cross-encoder.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproductions.paper2.pairs.data import read_unlabelled
from reproductions.paper2.pairs.export import read_model
from reproductions.paper2.pairs.training import PairModel
from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.ragged import Floats


@dataclass(frozen=True)
class Prediction:
    """The decisions of a model: `scores` (pairs,) float32, `paraphrase` (pairs,) bool, and the threshold between."""

    scores: Floats
    paraphrase: NDArray[np.bool_]
    threshold: float


def predict(model_directory: Path, pairs: Sequence[tuple[str, str]]) -> Prediction:
    """Decide which pairs of sentences are paraphrases.

    Args:
        model_directory: a trained model of pairs, such as models/paraphraser after a run.
        pairs: two sentences each, at least one pair.

    Returns:
        For each pair its score, a cosine in [-1, 1] or a probability in [0, 1], and the decision: a paraphrase has a
        score of at least the threshold.

    Raises:
        InputError: the directory has no model of pairs, or a file of it is damaged.

    >>> predict(Path("models/paraphraser"), [("A gale shut the port.", "A storm closed it.")])      # doctest: +SKIP
    Prediction(scores=array([0.71], dtype=float32), paraphrase=array([ True]), threshold=0.64)
    """
    paraphraser = Paraphraser.load(model_directory)
    return paraphraser.predict([pair[0] for pair in pairs], [pair[1] for pair in pairs])


@dataclass(frozen=True)
class Paraphraser:
    """A model of pairs in memory, and the lowest score of a paraphrase."""

    model: PairModel
    threshold: float
    crossed: bool  # a cross-encoder
    both_orders: bool

    @classmethod
    def load(cls, directory: Path) -> "Paraphraser":
        """Read a model; raises InputError if it is missing or damaged."""
        model, about = read_model(directory)
        both_orders = bool(about.get("both_orders"))
        return cls(model.eval(), float(about["threshold"]), about["strategy"] == "pair", both_orders)

    @property
    def separates(self) -> bool:
        """Whether the threshold is among the possible scores, so that not all pairs get the same decision."""
        return -1 <= self.threshold <= 1

    def scores(self, sentences1: list[str], sentences2: list[str]) -> Floats:
        """Score pairs, (pairs,): the cosine in [-1, 1], or the probability of a head; higher is more alike."""
        encoder = self.model.encoder
        if self.crossed:
            orders = [(sentences1, sentences2), (sentences2, sentences1)][: 1 + self.both_orders]
            vectors = np.mean([encoder.embed(encoder.tokens(*sides)) for sides in orders], axis=0)
            return self.model.scores(vectors, vectors)
        texts = list(dict.fromkeys([*sentences1, *sentences2]))
        place = {text: row for row, text in enumerate(texts)}
        vectors = encoder.embed(encoder.tokens(texts))
        u, v = (vectors[[place[text] for text in side]] for side in (sentences1, sentences2))
        return self.model.scores(u, v)

    def predict(self, sentences1: list[str], sentences2: list[str]) -> Prediction:
        """Score and decide pairs, given as their first and their second sentences."""
        scores = self.scores(sentences1, sentences2)
        return Prediction(scores, scores >= self.threshold, self.threshold)


def predict_file(paraphraser: Paraphraser, source: Path, target: Path) -> int:
    """Decide the pairs of a file.

    Args:
        paraphraser: the model.
        source: .csv or .tsv with the columns sentence1 and sentence2.
        target: .csv that gets sentence1, sentence2, score and paraphrase (0 or 1); it appears once it is whole.

    Returns:
        The number of paraphrases.

    Raises:
        InputError: the source cannot be read or a row does not fit, or the target cannot be written.
    """
    sentences1, sentences2 = read_unlabelled(source)
    decided = paraphraser.predict(sentences1, sentences2)
    rows = zip(sentences1, sentences2, decided.scores, decided.paraphrase, strict=True)
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("sentence1", "sentence2", "score", "paraphrase"))
        writer.writerows((one, other, f"{score:.4f}", int(alike)) for one, other, score, alike in rows)
    return int(decided.paraphrase.sum())
