"""An intermediate task: a cross-encoder learns human ratings of similarity before it learns paraphrases.

    loss = -mean (y log p + (1 - y) log (1 - p))        y: a pair's rating on [0, 1], p: the head's probability

"How similar?" is nearly the same question as "the same?", and more pairs have an answer to the former.
(Phang et al. 2018 call such a task STILTs; it is not in paper 2.) Both trainings train encoder and head, with the same
settings apart from the epochs and the rate. Pairs of the validation split, or of a test split that the cell reports,
are left out and counted.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproductions.grid.guard import guarded
from reproductions.paper2.pairs.data import LabelledPairs, PairData
from reproductions.paper2.pairs.options import Intermediate, Learning
from reproductions.paper2.pairs.training import Examples, Notes, PairModel, Training
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.training.checkpoint import key_of


@dataclass(frozen=True)
class IntermediateTask:
    """The rated pairs that a cross-encoder learns first: the set of `benchmarks` that `options` names."""

    options: Intermediate
    benchmarks: BenchmarkData

    def why_unavailable(self) -> Unavailable | None:
        """Say why the task cannot be learnt, or return None."""
        return self.benchmarks.why_unavailable(self.options.set, "intermediate.set")

    def examples(self, data: PairData, model: PairModel, counters: Counters) -> Examples:
        """Return the training pairs of the set as sequences of a cross-encoder, without those that `data` scores on.

        Counts the pairs that are left out. Raises InputError if the set has no training pairs or no ratings.
        """
        name = self.options.set
        scored = {f"{split} pairs": _texts(data, data.splits[split].rows) for split in ("validation", "test")}
        scored |= {f"{related} test": _texts(data, pairs.rows) for related, pairs in data.related.items()}
        guard = Counters("pairs")
        try:
            train = guarded(self.benchmarks.pairs(name, "train"), scored, guard)
            ratings = train.unit_scores()
        except InputError as error:
            raise InputError(f"intermediate.set: {error}") from error
        counters.details |= {f"{name} train, {reason}": count for reason, count in guard.dropped.items()}
        rows = np.arange(len(train.sentences1))[:, None]
        tokens = model.encoder.tokens(train.sentences1, train.sentences2)
        return Examples(tokens, rows, ratings, np.zeros((len(rows), 2), dtype=np.int64))

    def learn(
        self, data: PairData, learning: Learning, checkpoint: Path, counters: Counters, model: PairModel, seed: int
    ) -> Notes:
        """Train a model in place on the rated pairs, and note loss and seconds of each epoch.

        `checkpoint` is the path of the checkpoints, without the seed; the rest is as in `examples`.
        """
        task, examples = self.options, self.examples(data, model, counters)
        how = learning.model_copy(update={"epochs": task.epochs, "head_epochs": 0, "patience": None})
        key = key_of(examples.tokens, examples.labels.tolist())
        path = Path(f"{checkpoint}-scores-{seed}.safetensors")
        notes = Training(model, "pair", how, task.learning_rate, seed, path, key, _not_judged).run(examples)
        return [{"task": task.set} | note for note in notes]


def _texts(data: PairData, rows: NDArray[np.int64]) -> LabelledPairs:
    """Return pairs by their places (pairs, 2), without regard to their labels."""
    one, other = ([data.sentences[row] for row in side] for side in rows.T)
    return LabelledPairs(one, other, np.zeros(len(rows), dtype=np.int8))


def _not_judged() -> float:
    """Take the place of the validation accuracy, which a training without patience never asks for."""
    raise AssertionError("without patience no epoch is judged")
