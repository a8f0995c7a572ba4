"""Train an encoder on pairs: batches, learning rate, the loop, and scores.

Every batch and each draw of dropout depends on the seed and the step alone, and a checkpoint after each epoch holds the
rest. So a killed and resumed run ends with the same weights as an uninterrupted one.

While only the head is trained (the first `head_epochs`), the encoder's vectors do not change, and it is not run.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reproductions.encoders.trainable import PairEncoder, Tokens
from reproductions.paper2.pairs.heads import LogisticHead
from reproductions.paper2.pairs.losses import LOSSES, PairBatch
from reproductions.paper2.pairs.options import Learning, MetricLearning
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.checkpoint import key_of
from sentence_distillery.training.schedules import Schedule, halving, warm_up
from sentence_distillery.training.trainer import Best, Hooks, Saving, Trainer

Notes = list[dict[str, Any]]


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
            raise ValueError("Frozen vectors are missing, but only the head is trained; give frozen vectors.")
        u, v = (torch.from_numpy(self.frozen[self.rows[batch, side]]).to(device) for side in (0, -1))
        return u, v


def loss_of(strategy: str, head: LogisticHead | None, batch: PairBatch) -> Tensor:
    """Return the loss of a batch under a strategy: one of LOSSES, or the cross-entropy of a head."""
    if strategy in LOSSES:
        return LOSSES[strategy].compute(batch)
    if head is None:
        raise ValueError(f"'{strategy}' needs a head.")
    return F.binary_cross_entropy_with_logits(head(batch.u, batch.v), batch.labels)


def schedule_of(learning: Learning, steps: int) -> Schedule:
    """Return a warm-up, then halvings, or a fall in a straight line to 0; `steps` is the number in an epoch."""
    then = halving(learning.halve_every * steps) if learning.halve_every is not None else None
    return warm_up(steps * learning.epochs, learning.warm_up, then)


def optimizer_of(model: PairModel, learning: Learning, peak: float) -> torch.optim.Optimizer:
    """Return SGD with Nesterov momentum and L2, or AdamW; the head is a separate group.

    Fused, it passes once over the table of tokens, which is most of a small encoder, instead of five times. But all
    parameters of a group must start together, and the head may be trained first.
    """
    modules = [model.encoder, *([model.head] if model.head is not None else ())]
    groups = [{"params": list(module.parameters())} for module in modules]
    decay, momentum = learning.weight_decay, learning.momentum
    if learning.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=peak, weight_decay=decay, fused=True)
    return torch.optim.SGD(groups, lr=peak, momentum=momentum, nesterov=momentum > 0, weight_decay=decay, fused=True)


@dataclass(frozen=True)
class Training:
    """One training of a model: its strategy, its settings, and its checkpoint.

    `peak` is the learning rate; `key` names the pairs, of training and validation; `judge` gives the accuracy on the
    validation split of the model as it is then.
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

        With patience the model ends as it was after the best epoch, otherwise as after the last. Raises InputError if
        there are fewer than two pairs, or if the loss is not finite, with the step and the batch.
        """
        only = self.strategy in LOSSES and LOSSES[self.strategy].paraphrases_only
        rows = np.flatnonzero(examples.labels == 1 if only else examples.labels >= 0)
        if len(rows) < 2:
            raise InputError(f"{self.strategy} has {len(rows)} training pair(s) and needs two or more; add pairs.")
        learning, model, device = self.learning, self.model, self.model.encoder.transformer.device
        batches = Batches(rows, learning.batch_size, self.seed, learning.iterations)
        alone, began = False, 0.0

        def begin(epoch: int) -> None:
            nonlocal alone, began
            alone, began = model.head is not None and epoch < learning.head_epochs, clock(device)
            model.encoder.requires_grad_(not alone)
            model.train()

        def end(means: dict[str, float]) -> dict[str, Any]:
            model.eval()
            seconds = clock(device) - began
            return {"validation": self.judge() if learning.patience is not None else None, "seconds": round(seconds, 2)}

        trainer = Trainer(
            model,
            optimizer_of(model, learning, self.peak),
            batches,
            learning.epochs,
            schedule_of(learning, batches.steps),
            # Training the head again takes less time than saving.
            Saving(self.checkpoint, self._whole_key(), learning.head_epochs if model.head is not None else 0),
            Best("validation", learning.patience) if learning.patience is not None else None,
            learning.clip_norm,
            self.seed,
            Hooks(begin, end),
            f"Lower {self.strategy}_learning_rate, which is {self.peak}.",
        )
        with model.encoder.in_precision(learning.precision):
            return trainer.run(lambda batch: {"loss": self._loss(examples, batch, alone)})

    def _whole_key(self) -> str:
        """Hash everything that the result depends on: not the other rates, nor how pairs are scored afterwards."""
        model, learning = self.model, self.learning
        rates = {name for name in type(learning).model_fields if name.endswith("_rate")}
        how = learning.model_dump(exclude={*rates, "both_orders"})
        combination = model.head.combination if model.head is not None else None
        weights = [tensor.cpu().numpy().tobytes() for tensor in model.state_dict().values()]
        return key_of(self.key, *weights, model.encoder.pooling, combination, self.strategy, how, self.peak, self.seed)

    def _loss(self, examples: Examples, batch: Rows, alone: bool) -> Tensor:
        """Return the loss of a batch; `alone` says whether only the head is trained."""
        device = self.model.encoder.transformer.device
        u, v = examples.frozen_vectors(batch, device) if alone else examples.vectors(self.model.encoder, batch)
        labels = torch.from_numpy(examples.labels[batch]).to(device).float()
        groups = torch.from_numpy(examples.groups[batch]).to(device)
        margin = self.learning.margin if isinstance(self.learning, MetricLearning) else 0.0
        return loss_of(self.strategy, self.model.head, PairBatch(u, v, labels, groups, margin))


def clock(device: torch.device) -> float:
    """Return seconds of CPU time, which other programs do not change; of wall time on a GPU."""
    return time.process_time() if device.type == "cpu" else time.monotonic()
