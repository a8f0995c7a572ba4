"""Train an encoder on pairs: batches, learning rate, the loop, and scores.

Every batch and each draw of dropout depends on the seed and the step alone, and a checkpoint after each epoch holds the
rest. So a killed and resumed run ends with the same weights as an uninterrupted one.

While only the head is trained (the first `head_epochs`), the encoder's vectors do not change, and it is not run.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from sentence_distillery.encoders.trainable import PairEncoder, Tokens
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.heads import LogisticHead
from sentence_distillery.pairs.losses import margin_loss, triplet_loss
from sentence_distillery.pairs.options import Learning, MetricLearning
from sentence_distillery.runtime.progress import track
from sentence_distillery.training.checkpoint import Checkpoint, has_weights, save_weights

Notes = list[dict[str, Any]]

log = logging.getLogger(__name__)


class PairModel(nn.Module):
    """An encoder, and a head if the score of a pair is not the cosine of its vectors."""

    def __init__(self, encoder: PairEncoder, head: LogisticHead | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head.to(encoder.transformer.device) if head is not None else None

    @torch.inference_mode()
    def scores(self, u: Floats, v: Floats) -> Floats:
        """Score each two rows of u and v, (pairs, dimension): the head's probability in [0, 1], or the cosine.

        Returns (pairs,) float32.
        """
        device = self.encoder.transformer.device
        one, other = (torch.from_numpy(np.ascontiguousarray(side)).to(device) for side in (u, v))
        scores = F.cosine_similarity(one, other) if self.head is None else torch.sigmoid(self.head(one, other))
        return np.asarray(scores.float().cpu().numpy())


@dataclass(frozen=True)
class Examples:
    """The training pairs: `rows` (pairs, k) are places in `tokens`, k = 2 for a bi-encoder, 1 for a cross-encoder.

    `labels` (pairs,) are 0 and 1, or ratings on [0, 1]; `groups` (pairs, 2) are as in losses.triplet_loss. `frozen`
    (sequences, dimension) are the vectors of `tokens` before training, needed if only the head is trained at first.
    """

    tokens: Tokens
    rows: NDArray[np.int64]
    labels: NDArray[np.int8] | NDArray[np.float32]
    groups: NDArray[np.int64]
    frozen: Floats | None = None

    def vectors(self, encoder: PairEncoder, batch: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Encode a batch: u and v, (batch, dimension) each; the one vector of a cross-encoder serves as both."""
        sides = encoder(self.tokens.take(self.rows[batch].T.ravel())).split(len(batch))
        return sides[0], sides[-1]

    def frozen_vectors(self, batch: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the same from the vectors before training."""
        if self.frozen is None:
            raise ValueError("Only the head is to be trained, but there are no frozen vectors.")
        u, v = (torch.from_numpy(self.frozen[self.rows[batch, side]]).to(device) for side in (0, -1))
        return u, v


def loss_of(
    strategy: str, head: LogisticHead | None, u: Tensor, v: Tensor, labels: Tensor, groups: Tensor, margin: float
) -> Tensor:
    """Return the loss of a batch under a strategy; u and v (pairs, dimension); siamese and triplet use `margin`."""
    if strategy == "siamese":
        return margin_loss(u, v, labels, margin)
    if strategy == "triplet":
        return triplet_loss(u, v, labels, groups, margin)
    if strategy in ("cosent", "ranking"):
        return _library_loss(strategy)([u, v], labels)
    if head is None:
        raise ValueError(f"'{strategy}' needs a head.")
    return F.binary_cross_entropy_with_logits(head(u, v), labels)


def _library_loss(strategy: str) -> Callable[[list[Tensor], Tensor], Tensor]:
    """Return CoSENT (Su 2022) or multiple negatives ranking (Henderson et al. 2017), of sentence-transformers."""
    from sentence_transformers.sentence_transformer import losses  # the import takes seconds, and few cells need it

    known = {"cosent": losses.CoSENTLoss, "ranking": losses.MultipleNegativesRankingLoss}
    loss: Callable[[list[Tensor], Tensor], Tensor] = known[strategy](nn.Identity()).compute_loss_from_embeddings
    return loss


def batches(rows: NDArray[np.int64], learning: Learning, seed: int, epoch: int) -> Iterator[NDArray[np.int64]]:
    """Yield the batches of an epoch: one pass over `rows`, or the next `iterations` batches of endless passes."""
    count, size = len(rows), learning.batch_size
    if learning.iterations is None:
        stream = rows[np.random.default_rng((seed, epoch)).permutation(count)]
    else:
        first, last = (place * learning.iterations * size for place in (epoch, epoch + 1))
        passes = range(first // count, (last - 1) // count + 1)
        orders = [np.random.default_rng((seed, number)).permutation(count) for number in passes]
        stream = rows[np.concatenate(orders)[first - passes.start * count :][: last - first]]
    for start in range(0, len(stream), size):
        if len(batch := stream[start : start + size]) > 1:  # a single pair has nothing to compare with
            yield batch


def steps_of(count: int, learning: Learning) -> int:
    """Return the number of batches in an epoch over `count` pairs."""
    whole, rest = divmod(count, learning.batch_size)
    return learning.iterations or whole + (rest > 1)


def rate(step: int, steps: int, peak: float, learning: Learning) -> float:
    """Return the learning rate at a step, of `steps` in an epoch: a warm-up, then halvings, or a linear fall to 0."""
    total = steps * learning.epochs
    rise = learning.warm_up * total
    if step < rise:
        return peak * (step + 1) / (rise + 1)
    if learning.halve_every is not None:
        return float(peak * 0.5 ** (step // steps // learning.halve_every))
    return peak * (total - step) / (total - rise)


def optimizer_of(model: PairModel, learning: Learning) -> torch.optim.Optimizer:
    """Return SGD with Nesterov momentum and L2, or AdamW; the head is a separate group.

    Fused, it passes once over the table of tokens, which is most of a small encoder, instead of five times. But all
    parameters of a group must start together, and the head may be trained first.
    """
    modules = [model.encoder, *([model.head] if model.head is not None else ())]
    groups = [{"params": list(module.parameters())} for module in modules]
    decay, momentum = learning.weight_decay, learning.momentum
    if learning.optimizer == "adamw":
        return torch.optim.AdamW(groups, weight_decay=decay, fused=True)
    return torch.optim.SGD(groups, momentum=momentum, nesterov=momentum > 0, weight_decay=decay, fused=True)


@dataclass(frozen=True)
class Training:
    """One training of a model: its strategy, its settings, and its checkpoint.

    `peak` is the learning rate; `key` names everything that the result depends on; `judge` gives the current model's
    accuracy on the validation split.
    """

    model: PairModel
    strategy: str
    learning: Learning
    peak: float
    seed: int
    checkpoint: Path
    key: str
    judge: Callable[[], float]

    def run(self, examples: Examples) -> Notes:
        """Train in place, and note loss, validation accuracy and seconds of each epoch.

        With patience the model ends in the state after the best epoch, otherwise after the last. Raises InputError if
        there are fewer than two pairs, or if the loss is not finite, with the step and the batch.
        """
        self.model.encoder.precision = self.learning.precision
        optimizer = optimizer_of(self.model, self.learning)
        state = Checkpoint(self.checkpoint, self.key, self.model, optimizer)
        lost = self.learning.patience is not None and not has_weights(self._best_path, self.key)
        notes: Notes = [] if lost else state.resume()
        usable = examples.labels == 1 if self.strategy == "ranking" else examples.labels >= 0
        rows = np.flatnonzero(usable)
        if len(rows) < 2:
            raise InputError(f"{self.strategy} has {len(rows)} pair(s) to learn from, and needs two or more.")
        with torch.random.fork_rng():
            for _ in track(self._left(notes), self.learning.epochs, "epochs", done=len(notes)):
                notes.append(self._epoch(examples, rows, optimizer, len(notes)))
                if self.learning.patience is not None and _best(notes) == len(notes) - 1:
                    save_weights(self._best_path, self.key, self.model)
                if not self._alone(len(notes) - 1):  # training the head again takes less time than saving
                    state.save(notes)
        if self.learning.patience is not None and _best(notes) < len(notes) - 1:
            self.model.load_state_dict(load_file(self._best_path))
        self.model.encoder.precision = "float32"
        return notes

    def _left(self, notes: Notes) -> Iterator[int]:
        """Yield the remaining epochs, until the last, or until `patience` of them were not better."""
        patience = self.learning.patience
        while len(notes) < self.learning.epochs:
            if patience is not None and notes and len(notes) - 1 - _best(notes) >= patience:
                return
            yield len(notes)

    def _alone(self, epoch: int) -> bool:
        """Say whether only the head is trained in this epoch."""
        return self.model.head is not None and epoch < self.learning.head_epochs

    def _epoch(
        self, examples: Examples, rows: NDArray[np.int64], optimizer: torch.optim.Optimizer, epoch: int
    ) -> dict[str, Any]:
        """Train one epoch and return its note."""
        alone = self._alone(epoch)
        steps = steps_of(len(rows), self.learning)
        began = clock(self.model.encoder.transformer.device)
        self.model.encoder.requires_grad_(not alone)
        self.model.train()
        total = 0.0
        for number, batch in enumerate(batches(rows, self.learning, self.seed, epoch)):
            step = epoch * steps + number
            torch.manual_seed(self.seed * 1_000_003 + step)  # dropout of this step
            for group in optimizer.param_groups:
                group["lr"] = rate(step, steps, self.peak, self.learning)
            total += self._step(examples, batch, optimizer, alone, step)
        self.model.eval()
        seconds = clock(self.model.encoder.transformer.device) - began
        judged = self.judge() if self.learning.patience is not None else None
        log.info("epoch %d of %d: loss %.4f", epoch + 1, self.learning.epochs, total / steps)
        return {"loss": total / steps, "validation": judged, "seconds": round(seconds, 2)}

    def _step(
        self, examples: Examples, batch: NDArray[np.int64], optimizer: torch.optim.Optimizer, alone: bool, step: int
    ) -> float:
        """Take one step and return its loss."""
        device = self.model.encoder.transformer.device
        optimizer.zero_grad()
        u, v = examples.frozen_vectors(batch, device) if alone else examples.vectors(self.model.encoder, batch)
        labels = torch.from_numpy(examples.labels[batch]).to(device).float()
        groups = torch.from_numpy(examples.groups[batch]).to(device)
        margin = self.learning.margin if isinstance(self.learning, MetricLearning) else 0.0
        loss = loss_of(self.strategy, self.model.head, u, v, labels, groups, margin)
        if not torch.isfinite(loss):
            raise InputError(
                f"The loss of {self.strategy} is {loss.item()} at step {step + 1}, on the batch of pairs "
                f"{batch[:5].tolist()} and {max(len(batch) - 5, 0)} more; lower its learning rate."
            )
        loss.backward()  # type: ignore[no-untyped-call]
        if self.learning.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.learning.clip_norm)
        optimizer.step()
        return loss.item()

    @property
    def _best_path(self) -> Path:
        return self.checkpoint.with_suffix(".best.safetensors")


def _best(notes: Sequence[dict[str, Any]]) -> int:
    """Return the epoch of the highest validation accuracy, the first of equal ones."""
    return int(np.argmax([note["validation"] for note in notes]))


def clock(device: torch.device) -> float:
    """Return seconds of CPU time, which other programs do not change; of wall time on a GPU."""
    return time.process_time() if device.type == "cpu" else time.monotonic()
