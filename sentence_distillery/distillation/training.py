"""One resumable training loop for every student, which stops early if continuing would be useless.

A checkpoint after each epoch holds the tensors of the model and of Adam. The order of the sentences depends only on the
seed and the epoch, so a resumed run ends with the same bytes as a run that was never interrupted.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from sentence_distillery.distillation.options import MlpHead, PaperStudentOptions, Student
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime.progress import track
from sentence_distillery.training.checkpoint import Checkpoint

COLLAPSED = 0.99

log = logging.getLogger(__name__)

Batch = NDArray[np.int64]
Loss = Callable[[Batch], dict[str, Tensor]]
Curve = list[dict[str, float]]
Watch = Callable[[], dict[str, float]]  # figures of the current model, for the curve


@dataclass(frozen=True)
class Schedule:
    """`count` sentences in shuffled batches; the order depends on the seed and the epoch alone."""

    count: int
    batch_size: int
    seed: int

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Yield the rows of each batch; a last batch of one sentence, which has no neighbour, is left out."""
        order = np.random.default_rng((self.seed, epoch)).permutation(self.count)
        for start in range(0, self.count, self.batch_size):
            rows = order[start : start + self.batch_size]
            if len(rows) > 1:
                yield rows

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        whole, rest = divmod(self.count, self.batch_size)
        return whole + (rest > 1)


@dataclass(frozen=True)
class Training:
    """A model, its optimizer and its checkpoint.

    `key` names everything that the result depends on: a checkpoint with another key is ignored. `decay` lowers the
    learning rate linearly to 0.
    """

    model: nn.Module
    optimizer: Optimizer
    checkpoint: Path
    key: str
    decay: bool

    def run(
        self, loss: Loss, count: int, params: Student | PaperStudentOptions | MlpHead, watch: Watch = dict
    ) -> Curve:
        """Train the model in place.

        Args:
            loss: maps the rows of a batch to named terms, of which "loss" is minimised.
            count: sentences to train on.
            params: epochs, batch size, learning rate and seed.
            watch: gives figures of the model at the end of an epoch.

        Returns:
            For each epoch the mean of each term, and the figures of `watch`.

        Raises:
            InputError: the loss is not finite; the message has the step and the batch.
        """
        schedule = Schedule(count, params.batch_size, params.seed)
        state = Checkpoint(self.checkpoint, self.key, self.model, self.optimizer)
        curve: Curve = state.resume()
        left = range(len(curve), params.epochs)
        for epoch in track(left, params.epochs, "epochs", done=len(curve)):
            sums: dict[str, float] = {}
            for step, rows in enumerate(schedule.batches(epoch)):
                done = (epoch + step / schedule.steps) / params.epochs
                for group in self.optimizer.param_groups:
                    group["lr"] = params.learning_rate * (1 - done if self.decay else 1)
                place = f"epoch {epoch + 1}, step {step + 1}"
                for name, value in self._step(loss, rows, place, params.learning_rate).items():
                    sums[name] = sums.get(name, 0.0) + value
            curve.append({name: value / schedule.steps for name, value in sums.items()} | watch())
            log.info("epoch %d of %d: loss %.4f", epoch + 1, params.epochs, curve[-1]["loss"])
            state.save(curve)
        return curve

    def _step(self, loss: Loss, rows: Batch, place: str, learning_rate: float) -> dict[str, float]:
        self.optimizer.zero_grad()
        terms = loss(rows)
        if not torch.isfinite(terms["loss"]):
            raise InputError(
                f"The loss is {terms['loss'].item()} at {place}, on the batch of sentences {rows[:5].tolist()} and "
                f"{max(len(rows) - 5, 0)} more. Lower learning_rate, which is {learning_rate}."
            )
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return {name: term.item() for name, term in terms.items()}


def refuse_collapsed(vectors: NDArray[np.float32], name: str, remedy: str) -> None:
    """Raise InputError if a model has collapsed.

    Args:
        vectors: embeddings of different sentences, (sentences, dimension), rows of unit length or zero.
        name: the model's name in the message.
        remedy: what to do, in terms of the options that this model has.

    Raises:
        InputError: the mean cosine of different sentences is at least 0.99, or every vector is zero.
    """
    count = len(vectors)
    if not vectors.any():
        raise InputError(f"The {name} has collapsed: all its vectors are zero. {remedy}")
    if count < 2:
        return  # a single sentence has nothing to resemble
    mean = (np.square(vectors.sum(axis=0)).sum() - np.square(vectors).sum()) / (count * (count - 1))
    if mean >= COLLAPSED:
        raise InputError(
            f"The {name} has collapsed: the mean cosine of {count} different sentences is {mean:.3f}. {remedy}"
        )
