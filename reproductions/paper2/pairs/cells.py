"""The cells of paper 2's matrix: how a model is built, trained and scored, for every strategy.

A bi-encoder encodes each sentence alone:

    cosine      the unchanged start                                   table 1, table 7 "Baseline"
    siamese     pairwise margin loss                                 table 2, table 7 "Siam"
    triplet     triplet loss                                         table 3, table 7 "Triplet"
    logistic    logistic regression on combined vectors              tables 4 and 5, table 7 "LR"
    cosent      CoSENT, section `modern_learning`                    not in the paper
    ranking     multiple negatives ranking, the same, paraphrases only

A cross-encoder (`pair`, section 3.3) reads both sentences as one sequence, and a logistic head reads its vector. It is
the most accurate approach and the most expensive one: each pair is a run of the encoder. A bi-encoder that starts from
one is the combined approach of section 4.2.5. The recipes of a cross-encoder:

    combined       as in the paper, section `metric_learning`
    modern         section `modern_learning`
    intermediate   the same, after an intermediate task (reproductions/paper2/pairs/intermediate.py)

All seeds continue from the same start, so their spread is that of the second step alone.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproductions.encoders.trainable import PairEncoder, Tokens
from reproductions.paper2.pairs.data import SPLITS, PairData
from reproductions.paper2.pairs.heads import LogisticHead
from reproductions.paper2.pairs.losses import paraphrase_groups
from reproductions.paper2.pairs.options import Combination, Learning, MetricLearning, ModernLearning
from reproductions.paper2.pairs.starts import Start
from reproductions.paper2.pairs.thresholds import Folds, accuracy, cross_validated, f1
from reproductions.paper2.pairs.training import Examples, Notes, PairModel, Training, clock
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

CROSSED = "pair"  # the strategy of a cross-encoder


def learning_of(strategy: str, metric: MetricLearning, modern: ModernLearning) -> Learning:
    """Return the settings of a bi-encoder's strategy: the section that has its learning rate."""
    return modern if hasattr(modern, f"{strategy}_learning_rate") else metric


@dataclass(frozen=True)
class PairExperiment:
    """The models of a cell (papers/grid/run.py).

    Attributes:
        start: The encoder that every seed starts from, and its vectors.
        strategy: As above.
        learning: The settings.
        folds: Those that choose a threshold.
        data: The pairs.
        checkpoint: The path of the checkpoints, without the seed.
        combination: The features of strategy "logistic".
        hidden_layers: Of its head.
        first: What a model learns before, if anything: an intermediate task, given the model and the seed.
    """

    start: Start
    strategy: str
    learning: Learning
    folds: Folds
    data: PairData
    checkpoint: Path
    combination: Combination = Combination.FIRST
    hidden_layers: int = 0
    first: Callable[[PairModel, int], Notes] | None = None

    @property
    def crossed(self) -> bool:
        """Whether it is a cross-encoder."""
        return self.strategy == CROSSED

    @cached_property
    def vectors(self) -> Floats:
        """The start's vectors of all sentences, (sentences, dimension)."""
        return self.start.vectors(self.data)

    @cached_property
    def encoder(self) -> PairEncoder:
        """The start's encoder, of which each seed trains a copy."""
        return self.start.encoder()

    @cached_property
    def sequences(self) -> tuple[Tokens, dict[str, NDArray[np.int64]]]:
        """The pairs as sequences of the encoder, and for each split their places in them, (pairs, k).

        A bi-encoder has k = 2 sequences for a pair. A cross-encoder has k = 1 for a training pair; a pair of another
        split may also have the reverse order.
        """
        rows = {name: self.data.splits[name].rows for name in SPLITS}
        if not self.crossed:
            return self.encoder.tokens(self.data.sentences), rows
        pairs = np.concatenate(list(rows.values()))
        sides = [[self.data.sentences[row] for row in pairs[:, side]] for side in (0, 1)]
        ends = np.cumsum([len(each) for each in rows.values()])[:-1]
        train, *others = np.split(np.arange(len(pairs))[:, None], ends)
        if self.learning.both_orders:
            sides = [sides[0] + sides[1], sides[1] + sides[0]]
            others = [np.hstack([places, places + len(pairs)]) for places in others]
        return self.encoder.tokens(*sides), dict(zip(SPLITS, [train, *others], strict=True))

    def there(self, missing: Unavailable | None = None) -> "PairExperiment | Unavailable":
        """Return this, or why its start or something else that it needs is not available."""
        return self.start.why_unavailable() or missing or self

    def untrained(self) -> PairModel | None:
        """Return the start as it is, if that is the strategy."""
        return PairModel(self.encoder, None) if self.strategy == "cosine" else None

    def trained(self, seed: int) -> tuple[PairModel, Notes]:
        """Train a model; raises InputError if there are fewer than two pairs, or if the loss is not finite."""
        (tokens, rows), learning, train = self.sequences, self.learning, self.data.splits["train"]
        encoder = copy.deepcopy(self.encoder)
        headed = self.crossed or self.strategy == "logistic"
        head = LogisticHead(encoder.dimension, self.combination, seed, self.hidden_layers) if headed else None
        model = PairModel(encoder, head)
        before = self.first(model, seed) if self.first else []
        frozen = None if self.crossed else self.vectors
        if self.crossed and learning.head_epochs:
            frozen = self.encoded(encoder, "train")
        groups = paraphrase_groups(train.rows, train.labels, len(self.data.sentences))
        examples = Examples(tokens, rows["train"], train.labels, groups, frozen)
        peak: float = getattr(learning, f"{self.strategy}_learning_rate")
        path = Path(f"{self.checkpoint}-{seed}.safetensors")
        key = f"{self.data.sha256} {encoder.encoder.maximum_length} {self._judging}"
        training = Training(model, self.strategy, learning, peak, seed, path, key, self._judge(model))
        return model, [*before, *training.run(examples)]

    def scored(self, model: PairModel, notes: Notes) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
        """Decide the test pairs by a threshold that was chosen on the validation split.

        If nothing was trained, it is chosen on train, too. With a head that is not a cross-encoder's there are also the
        figures by cosine. The further sets have a human rating and the cosine for each pair.
        """
        device, by_head = model.encoder.transformer.device, model.head is not None and not self.crossed
        began = clock(device)
        unchanged = self.strategy == "cosine" or (by_head and self.learning.head_epochs >= self.learning.epochs)
        vectors = self.vectors if unchanged else self.encoded(model.encoder, "validation", "test")
        seconds = sum(note["seconds"] for note in notes) + clock(device) - began
        figures, scores = self._decided(model, vectors)
        if by_head:
            by_cosine, _ = self._decided(PairModel(model.encoder, None), vectors)
            figures |= {f"cosine {name}": by_cosine[name] for name in ("accuracy", "f1")}
        return self._predictions(scores, figures["threshold"], vectors), figures | {"seconds": round(seconds, 1)}

    def _predictions(self, scores: Floats, threshold: float, vectors: Floats) -> dict[str, dict[str, Any]]:
        """Return the predictions of the test pairs, and of each further set."""
        predicted = (scores >= threshold).astype(np.int8).astype(str)
        test = {"score": scores, "label": self.data.splits["test"].labels.astype(str), "predicted": predicted}
        further = {} if self.crossed else self.data.related
        rated = {
            name: {"rating": pairs.scores, "score": cosines(vectors[pairs.rows[:, 0]], vectors[pairs.rows[:, 1]])}
            for name, pairs in further.items()
        }
        return {"test": test, **rated}

    def encoded(self, encoder: PairEncoder, *splits: str) -> Floats:
        """Encode the sequences of these splits and of the further sets, (sequences, dimension); other rows are zero."""
        tokens, by_split = self.sequences
        needed = [by_split[name] for name in splits]
        if not self.crossed:
            needed += [rated.rows for rated in self.data.related.values()]
        places = np.unique(np.concatenate([rows.ravel() for rows in needed]))
        vectors = np.zeros((len(tokens), encoder.dimension), dtype=np.float32)
        vectors[places] = encoder.embed(tokens.take(places))
        return vectors

    def _score(self, model: PairModel, vectors: Floats, rows: NDArray[np.int64]) -> Floats:
        """Score pairs, (pairs,), given the vectors of all sequences; a cross-encoder's by the mean over the orders.

        The head is linear, so that this is the mean of its logits.
        """
        u, v = [vectors[rows].mean(axis=1)] * 2 if self.crossed else vectors[rows.T]
        return model.scores(u, v)

    @property
    def _judging(self) -> Folds:
        """The folds with the rule of the settings; without training that of the paper."""
        return replace(self.folds, rule=self.learning.threshold) if self.strategy != "cosine" else self.folds

    def _decided(self, model: PairModel, vectors: Floats) -> tuple[dict[str, float], Floats]:
        """Return the figures: the threshold, its accuracy on validation, those on test; and the test scores."""
        rows, splits = self.sequences[1], self.data.splits
        choosing = self.start.unseen_splits() if self.strategy == "cosine" else ["validation"]
        known = self._score(model, vectors, np.concatenate([rows[name] for name in choosing]))
        labels = np.concatenate([splits[name].labels for name in choosing])
        chosen = cross_validated(known, labels, self._judging)
        scores, labels = self._score(model, vectors, rows["test"]), splits["test"].labels
        figures = {"accuracy": accuracy(scores, labels, chosen.value), "f1": f1(scores, labels, chosen.value)}
        return {"threshold": chosen.value, "validation": chosen.accuracy, **figures}, scores

    def _judge(self, model: PairModel) -> Callable[[], float]:
        """Return a function that gives the cross-validated accuracy of the current model on the validation split."""
        tokens, by_split = self.sequences
        wanted = by_split["validation"][:, : by_split["train"].shape[1]]  # a cross-encoder's given order
        places, rows = np.unique(wanted, return_inverse=True)

        def judge() -> float:
            vectors = model.encoder.embed(tokens.take(places))
            scores = self._score(model, vectors, rows.reshape(wanted.shape))
            return cross_validated(scores, self.data.splits["validation"].labels, self._judging).accuracy

        return judge
