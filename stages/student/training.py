"""One training loop for both students: resumable, and it stops where going on would be a waste.

A checkpoint after each epoch holds the tensors of the model and of Adam. The order of the sentences depends only on the
seed and the epoch, so a run that resumes ends with the bytes of a run that was never interrupted.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from stages.artifacts import InputError, atomic_file
from stages.progress import track

COLLAPSED = 0.99
PROBE = 512  # sentences whose pairwise cosine shows a collapse

log = logging.getLogger("stages")

Batch = NDArray[np.int64]
Loss = Callable[[Batch], dict[str, Tensor]]


@dataclass(frozen=True)
class Schedule:
    """How long and in what order: `epochs` passes over `count` sentences in batches of `batch_size`."""

    count: int
    batch_size: int
    epochs: int
    seed: int

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Shuffled rows; a last batch of one sentence, which has no neighbour, is left out."""
        order = np.random.default_rng((self.seed, epoch)).permutation(self.count)
        for start in range(0, self.count, self.batch_size):
            rows = order[start : start + self.batch_size]
            if len(rows) > 1:
                yield rows

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        return sum(1 for _ in self.batches(0))


def train(
    model: nn.Module, optimizer: Optimizer, loss: Loss, schedule: Schedule, checkpoint: Path, key: str, decay: bool
) -> list[dict[str, float]]:
    """Train in place and return the mean of each loss for each epoch.

    `loss` maps the rows of a batch to named terms, whose "loss" is minimised. `key` names everything that the result
    depends on: a checkpoint with another key is ignored. `decay` lowers the learning rate to 0 in a straight line.
    Raises InputError where the loss is not finite, with the step and the batch.
    """
    curves = _resume(model, optimizer, checkpoint, key)
    rates = [group["lr"] for group in optimizer.param_groups]
    total = schedule.epochs * schedule.steps
    epochs = range(len(curves), schedule.epochs)
    for epoch in track(epochs, schedule.epochs, "epochs", done=len(curves)):
        sums: dict[str, float] = {}
        for step, rows in enumerate(schedule.batches(epoch)):
            done = epoch * schedule.steps + step
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * (1 - done / total) if decay else rate
            optimizer.zero_grad()
            terms = loss(rows)
            if not torch.isfinite(terms["loss"]):
                raise InputError(_not_finite(epoch, step, rows))
            terms["loss"].backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            for name, value in terms.items():
                sums[name] = sums.get(name, 0.0) + value.item()
        curves.append({name: value / schedule.steps for name, value in sums.items()})
        log.info("epoch %d of %d: %s", epoch + 1, schedule.epochs, {k: round(v, 4) for k, v in curves[-1].items()})
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        _save(model, optimizer, checkpoint, key, curves)
    return curves


def _not_finite(epoch: int, step: int, rows: Batch) -> str:
    return (
        f"The loss is not finite at epoch {epoch + 1}, step {step + 1}, on the sentences with rows {rows[:5].tolist()} "
        f"and {max(len(rows) - 5, 0)} more. Lower student.learning_rate, or look for soft labels that are not finite."
    )


def refuse_collapsed(vectors: NDArray[np.float32], name: str) -> None:
    """Raises InputError where the mean cosine of different sentences is at least 0.99: all sentences look alike.

    `vectors` (sentences, dimension), rows of unit length.
    """
    sample = vectors[:PROBE]
    count = len(sample)
    if count < 2:
        return  # one sentence resembles no other
    mean = (np.square(sample.sum(axis=0)).sum() - np.square(sample).sum()) / (count * (count - 1))
    if mean >= COLLAPSED:
        raise InputError(
            f"The {name} has collapsed: the mean cosine of {count} different sentences is {mean:.3f}. "
            "Lower student.learning_rate, or raise student.relational_weight."
        )


def _tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Everything that the next step depends on, by name."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
    return {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}


def _save(model: nn.Module, optimizer: Optimizer, checkpoint: Path, key: str, curves: list[dict[str, float]]) -> None:
    with atomic_file(checkpoint) as partial:
        save_file(_tensors(model, optimizer), partial, metadata={"key": key, "curves": json.dumps(curves)})


def _resume(model: nn.Module, optimizer: Optimizer, checkpoint: Path, key: str) -> list[dict[str, float]]:
    """Restore a checkpoint made with `key` and return its curves; without one, change nothing."""
    try:
        with safe_open(checkpoint, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("key") != key:
                return []  # made from other data or parameters
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError):
        return []  # none, or cut short by a kill: start again
    model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
    state: dict[int, dict[str, object]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, field = name.split(".", 2)
            whole = field == "step" and isinstance(optimizer, torch.optim.SparseAdam)  # an int there, a tensor in Adam
            state.setdefault(int(index), {})[field] = int(value) if whole else value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    curves: list[dict[str, float]] = json.loads(metadata["curves"])
    log.info("resumed after epoch %d", len(curves))
    return curves
