"""Train an encoder as a cross-encoder on rated pairs: the rows BERT of paper 3's tables (section 3.2).

    p = sigmoid(w . C + b)      C: the vector of [CLS] after both sentences as one sequence

The rating on [0, 1] is learnt by cross-entropy; the paper leaves the loss open. Batches, epochs, rate and warm-up are
those of the bi-encoders, and the epoch with the best Spearman on dev counts, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproductions.encoders.trainable import PairEncoder, Pooling, Tokens
from reproductions.grid.results import over_runs
from reproductions.paper2.pairs.heads import LogisticHead
from reproductions.paper2.pairs.options import Combination, ModernLearning
from reproductions.paper2.pairs.training import Examples, PairModel, Training
from reproductions.paper3.component_focus.cells import SPLITS, Sets, spearman
from reproductions.paper3.component_focus.options import ComponentTraining
from reproductions.paper3.gains import CROSSED
from sentence_distillery.evaluation.protocols.similarity import correlations
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder
from sentence_distillery.training.checkpoint import key_of


@dataclass(frozen=True)
class CrossEncoder:
    """The pairs of a task as sequences of an encoder, and how a cross-encoder learns them."""

    teacher: Teacher
    pairs: Sets
    options: ComponentTraining
    learning: ModernLearning
    checkpoint: Path

    def predicted(self, seed: int) -> Floats:
        """Train with a seed, or resume from its checkpoint; return the probability of each test pair, (pairs,)."""
        encoder = PairEncoder(load_encoder(self.teacher), Pooling.CLS)
        model = PairModel(encoder, LogisticHead(encoder.dimension, Combination.FIRST, seed))
        tokens = {split: encoder.tokens(self.pairs[split].sentences1, self.pairs[split].sentences2) for split in SPLITS}
        ratings = {split: self.pairs[split].unit_scores() for split in SPLITS}
        rows = np.arange(len(tokens["train"]))[:, None]
        examples = Examples(tokens["train"], rows, ratings["train"], np.zeros((len(rows), 2), dtype=np.int64))
        key = key_of(tokens["train"], ratings["train"].tolist(), encoder.encoder.maximum_length)
        path = Path(f"{self.checkpoint}-{seed}.safetensors")
        judge = judged(model, tokens["dev"], ratings["dev"])
        rate = self.options.learning_rate
        Training(model, "pair", self._settings(), rate, seed, path, key, judge).run(examples)
        return scored(model, tokens["test"])

    def _settings(self) -> ModernLearning:
        """Return the settings of the bi-encoders; a patience of all epochs keeps the best one."""
        own = self.options
        changes = {name: getattr(own, name) for name in ("epochs", "batch_size", "warm_up", "precision")}
        changes |= {"iterations": None, "optimizer": "adamw", "weight_decay": 0.0, "halve_every": None}
        changes |= {"clip_norm": None, "head_epochs": 0, "patience": own.epochs}
        return self.learning.model_copy(update=changes)


def scored(model: PairModel, tokens: Tokens) -> Floats:
    """Score sequences, (sequences,)."""
    vectors = model.encoder.embed(tokens)
    return model.scores(vectors, vectors)


def judged(model: PairModel, tokens: Tokens, ratings: NDArray[np.float32]) -> Callable[[], float]:
    """Return a function that gives the current model's Spearman on these pairs."""
    return lambda: spearman(scored(model, tokens), ratings)


def rows(encoder: str, task: str, predicted: Sequence[Floats], ratings: NDArray[np.float32]) -> list[Result]:
    """Return the means over the seeds of Pearson and Spearman on the test pairs, with their spread."""
    found = [correlations(each, ratings) for each in predicted]
    made = Result(f"{encoder}, {CROSSED}", task, "test", CROSSED, "", 0.0, len(ratings), paper="3", table="5")
    made = replace(made, encoder=encoder, pooling="cls", strategy=CROSSED)
    metrics = ("pearson", "spearman")
    return [over_runs(replace(made, metric=metric), [figures[metric] for figures in found]) for metric in metrics]
