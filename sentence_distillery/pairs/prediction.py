"""Say whether two sentences are paraphrases, with the score and the threshold.

    python -m stages.pairs.predict "The storm closed the port." "A gale shut the harbour."
    python -m stages.pairs.predict --file pairs.csv --output decided.csv     columns sentence1, sentence2

The model is the winner of the matrix, models/paraphraser, or any cell of it: `--model models/pairs/cells/<cell>`, or
models/pairs/starts/<cell> for one that reads both sentences at once.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.data import read_unlabelled
from sentence_distillery.pairs.export import read_model
from sentence_distillery.pairs.training import PairModel

MODEL = Path("models/paraphraser")
ALL_ALIKE = (
    "predict: the threshold of {model} is {threshold:.4f}, beyond every score, so that it decides all pairs alike: of "
    "the pairs it was chosen from, that was right the most often. Train on other pairs, or more: `pairs.dataset`."
)


@dataclass(frozen=True)
class Paraphraser:
    """A model of pairs, and the score from which on two sentences are paraphrases."""

    model: PairModel
    threshold: float
    joined: bool
    both_orders: bool

    @classmethod
    def load(cls, directory: Path = MODEL) -> "Paraphraser":
        """Read a model; raises InputError where it is missing or altered."""
        model, about = read_model(directory)
        both_orders = bool(about.get("both_orders"))
        return cls(model.eval(), float(about["threshold"]), about["strategy"] == "pair", both_orders)

    @property
    def tells_apart(self) -> bool:
        """Whether the threshold lies among the scores that there can be, so that not all pairs are decided alike."""
        return -1 <= self.threshold <= 1

    def scores(self, sentences1: list[str], sentences2: list[str]) -> Floats:
        """(pairs,): cosine in [-1, 1], or the probability that a head gives; higher is more alike."""
        encoder = self.model.encoder
        if self.joined:
            orders = [(sentences1, sentences2), (sentences2, sentences1)][: 1 + self.both_orders]
            vectors = np.mean([encoder.embed(encoder.tokens(*sides)) for sides in orders], axis=0)
            return self.model.scores(vectors, vectors)
        texts = list(dict.fromkeys([*sentences1, *sentences2]))
        place = {text: row for row, text in enumerate(texts)}
        vectors = encoder.embed(encoder.tokens(texts))
        u, v = (vectors[[place[text] for text in side]] for side in (sentences1, sentences2))
        return self.model.scores(u, v)

    def decide(self, sentences1: list[str], sentences2: list[str]) -> tuple[Floats, "np.ndarray[Any, Any]"]:
        """The scores, and which of the pairs are paraphrases, (pairs,) bool."""
        scores = self.scores(sentences1, sentences2)
        return scores, scores >= self.threshold


def decide_file(paraphraser: Paraphraser, source: Path, target: Path) -> int:
    """Write sentence1, sentence2, score and paraphrase (0 or 1) for each pair of a file, and return how many are 1."""
    sentences1, sentences2 = read_unlabelled(source)
    scores, alike = paraphraser.decide(sentences1, sentences2)
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("sentence1", "sentence2", "score", "paraphrase"))
        for one, other, score, same in zip(sentences1, sentences2, scores, alike, strict=True):
            writer.writerow((one, other, f"{score:.4f}", int(same)))
    return int(alike.sum())
