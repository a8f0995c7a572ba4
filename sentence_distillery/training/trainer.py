"""The optimiser loop of everything that is trained here.

It sets the learning rate of each step, stops at a loss that is not finite, clips gradients, saves the state after each
epoch, keeps the best epoch or the last one, and stops early. The batches and the draws of dropout depend on the seed
and the step alone, so a training that was killed and resumed ends with the bytes of one that was not.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.optim import Optimizer

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime.progress import track
from sentence_distillery.training.batches import Source
from sentence_distillery.training.checkpoint import Checkpoint, has_weights, save_weights
from sentence_distillery.training.schedules import Schedule, constant

Item = TypeVar("Item")
Terms = dict[str, Tensor]
Objective = Callable[[Item], Terms]
Note = dict[str, Any]
Curve = list[Note]

SHOWN_ROWS = 5  # of a batch whose loss is not finite
STEP_SEEDS = 1_000_003  # more than any training has steps


class DivergedError(InputError):
    """The loss is infinite or NaN; the message has the epoch, the step and the batch, and the remedy."""


@dataclass(frozen=True)
class Saving:
    """The place where a training is saved."""

    path: Path  # the checkpoint, written after each epoch
    key: str  # names everything that the result depends on; a checkpoint with another key is ignored
    # Epochs before this one, from 0, are not saved, since repeating them takes less time than saving
    from_epoch: int = 0

    @property
    def best(self) -> Path:
        """The weights of the best epoch so far."""
        return self.path.with_suffix(".best")


@dataclass(frozen=True)
class Best:
    """Which epoch's weights are kept: those with the highest value of a figure, the first of equal ones."""

    figure: str  # its name in the notes of an epoch
    patience: int | None = None  # stop after so many epochs that were no better, at least 1; None trains all epochs
    module: nn.Module | None = None  # the part of the model that is kept; None means all of it


@dataclass(frozen=True)
class Hooks:
    """The actions of a training around its epochs."""

    before: Callable[[int], object] = lambda epoch: None  # called with the number of the epoch before its first step
    # called with the means of the epoch's terms; returns further figures for its note
    after: Callable[[dict[str, float]], Note] = lambda means: {}


@dataclass(frozen=True)
class Trainer(Generic[Item]):
    """Train a model: the optimiser loop of this library.

    Attributes:
        model: The model to train; the checkpoint has its weights.
        optimizer: The optimiser; its groups have the full learning rates.
        batches: The batches of each epoch, for the objective.
        epochs: The number of passes over the batches, at least 1.
        schedule: The share of the learning rates at a step, counted over all epochs.
        saving: The place of the checkpoint; None saves nothing.
        best: The rule for the epoch that is kept; None keeps the last. Without `saving` they stay in memory.
        clip_norm: The maximum norm of the gradient, above 0; None does not clip.
        dropout_seed: Makes the random draws of each step repeatable, at least 0; None leaves torch's generator alone.
        hooks: Further actions before and after an epoch.
        remedy: A sentence for the reader of the error about a loss that is not finite.
        unit: The unit of the progress line.

    Example:
        >>> from sentence_distillery.training.batches import Batches
        >>> model = nn.Linear(1, 1, bias=False)
        >>> x = torch.linspace(-1, 1, 64)[:, None]
        >>> batches = Batches(np.arange(64), size=8, seed=1)
        >>> trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=0.1), batches, epochs=20)
        >>> curve = trainer.run(lambda rows: {"loss": ((model(x[rows]) - 3 * x[rows]) ** 2).mean()})
        >>> len(curve), round(model.weight.item(), 1)
        (20, 3.0)

    Reference:
        Clipping: Pascanu, Mikolov and Bengio 2013, On the Difficulty of Training Recurrent Neural Networks,
        https://arxiv.org/abs/1211.5063; early stopping: Prechelt 1998, Early Stopping - But When?,
        https://doi.org/10.1007/3-540-49430-8_3
    """

    model: nn.Module
    optimizer: Optimizer
    batches: Source[Item]
    epochs: int
    schedule: Schedule = constant
    saving: Saving | None = None
    best: Best | None = None
    clip_norm: float | None = None
    dropout_seed: int | None = None
    hooks: Hooks = field(default_factory=Hooks)
    remedy: str = "Lower the learning rate."
    unit: str = "epochs"

    def run(self, objective: Objective[Item]) -> Curve:
        """Train the model in place.

        Args:
            objective: A function from a batch to named terms, scalar tensors, of which "loss" is minimised.

        Returns:
            The mean of each term over its steps, for each epoch, and the figures that `hooks.after` adds.

        Raises:
            DivergedError: If the loss is not finite.
        """
        rates = [group["lr"] for group in self.optimizer.param_groups]
        curve = self._resumed()
        kept: dict[str, Tensor] = {}

        # Draws of a step come from the seed and the step, so that a resumed training makes the same ones.
        with nullcontext() if self.dropout_seed is None else torch.random.fork_rng():
            for epoch in track(self._left(curve), self.epochs, self.unit, done=len(curve)):
                self.hooks.before(epoch)
                means = self._epoch(objective, epoch, rates)
                curve.append(means | self.hooks.after(means))
                self._save(curve, kept)
        self._restore_best(curve, kept)
        return curve

    def _epoch(self, objective: Objective[Item], epoch: int, rates: list[float]) -> dict[str, float]:
        """Take the steps of an epoch and return the mean of each term."""
        sums = {"loss": 0.0}
        count = 0
        for count, batch in enumerate(self.batches(epoch), start=1):
            step = epoch * self.batches.steps + count - 1
            if self.dropout_seed is not None:
                torch.manual_seed(self.dropout_seed * STEP_SEEDS + step)

            # The groups keep their own full rates; a schedule is a share of them.
            share = self.schedule(step)
            for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * share
            for name, value in self._step(objective, batch, f"epoch {epoch + 1}, step {count}").items():
                sums[name] = sums.get(name, 0.0) + value
        return {name: value / max(count, 1) for name, value in sums.items()}

    def _step(self, objective: Objective[Item], batch: Item, place: str) -> dict[str, float]:
        self.optimizer.zero_grad()
        terms = objective(batch)

        # Before a step, which would spoil the weights.
        if not torch.isfinite(terms["loss"]):
            raise DivergedError(f"The loss is {terms['loss'].item()} at {place}{_shown(batch)}. {self.remedy}")
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        return {name: term.item() for name, term in terms.items()}

    def _left(self, curve: Curve) -> Iterator[int]:
        """Yield the epochs to come: until the last, or until `patience` of them were no better."""
        patience = self.best.patience if self.best is not None else None
        while len(curve) < self.epochs:
            if patience is not None and curve and len(curve) - 1 - self._best_epoch(curve) >= patience:
                return
            yield len(curve)

    def _best_epoch(self, curve: Curve) -> int:
        assert self.best is not None
        return int(np.argmax([note[self.best.figure] for note in curve]))

    def _resumed(self) -> Curve:
        """Restore the last state; without the weights of the best epoch so far it is worth nothing."""
        if self.saving is None:
            return []
        if self.best is not None and not has_weights(self.saving.best, self.saving.key):
            return []
        return self._checkpoint(self.saving).resume()

    def _save(self, curve: Curve, kept: dict[str, Tensor]) -> None:
        """Save the state, and before it the weights of an epoch that is the best so far."""
        if self.best is not None and self._best_epoch(curve) == len(curve) - 1:
            module = self._kept(self.best)
            if self.saving is None:
                kept |= {name: tensor.clone() for name, tensor in module.state_dict().items()}
            else:
                save_weights(self.saving.best, self.saving.key, module)
        if self.saving is not None and len(curve) > self.saving.from_epoch:
            self._checkpoint(self.saving).save(curve)

    def _restore_best(self, curve: Curve, kept: dict[str, Tensor]) -> None:
        """Give the model the weights of its best epoch, if that is not the last."""
        if self.best is not None and self._best_epoch(curve) < len(curve) - 1:
            state = kept if self.saving is None else load_file(self.saving.best)
            self._kept(self.best).load_state_dict(state)

    def _kept(self, best: Best) -> nn.Module:
        return self.model if best.module is None else best.module

    def _checkpoint(self, saving: Saving) -> Checkpoint:
        return Checkpoint(saving.path, saving.key, self.model, self.optimizer)


def _shown(batch: object) -> str:
    """Name the first examples of a batch, if it is an array of their numbers."""
    if not isinstance(batch, np.ndarray):
        return ""
    more = f" and {len(batch) - SHOWN_ROWS} more" if len(batch) > SHOWN_ROWS else ""
    return f", on the batch of examples {batch[:SHOWN_ROWS].tolist()}{more}"
