"""The static student: a vector for each token, trained so that sums have the teacher's directions.

    student(S) = sum_{w in S} x_w / || sum_{w in S} x_w ||
    loss       = (1 - cos(student(S), teacher(S))) + relational_weight * KL(teacher's neighbours || student's)

The teacher's embeddings are first brought to unit length, and centred if they are all alike:

    t -> t / |t|                                where m, the mean of t / |t| over the sentences, is short
    t -> (t / |t| - m) / |t / |t| - m|          where |m|^2 is above ALIKE

A cosine does not change with the length of a vector, but Adam's steps have a length of their own: without the first
step a teacher of long vectors gives another student than the same teacher with short ones. |m|^2 is the mean cosine of
two sentences. Teachers that are trained at a low temperature have cosines between 0.7 and 1, and a student would spend
its dimensions on the part that all texts share. Of several teachers each is measured, and centred, for itself. The
embeddings are then projected on their leading principal directions, which sets the student's dimension and keeps most
of the cosines. Training starts from the vectors of distillation/start.py. Token weights need no separate parameter: the
length of x_w is the weight of w.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.training.losses import distillation_loss

ROWS = 20_000  # soft labels turned to float32 at a time
ALIKE = 0.5  # mean cosine of two sentences from which on embeddings are centred
EQUAL = 1 - 1e-4  # mean cosine from which on they say nothing, in float16


@dataclass(frozen=True, eq=False)
class Normalizer:
    """Brings embeddings to unit length, and those of each teacher whose mean cosine is too high to their mean.

    Attributes:
        mean_cosine: Of the teacher whose sentences are most alike.
        centre: (dimension,) float32, the mean of the sentences; zeros for a teacher that needs none; None if none does.
        dimensions: Those of each teacher; their embeddings lie side by side, of the same length.
    """

    mean_cosine: float
    centre: Floats | None
    dimensions: tuple[int, ...]

    @classmethod
    def of(cls, embeddings: NDArray[np.float16], dimensions: Sequence[int] = ()) -> "Normalizer":
        """Measure the embeddings of sentences, (sentences, dimension), of any length above 0, of one or more teachers.

        Raises InputError if those of a teacher all point in one direction.
        """
        mean = np.zeros(embeddings.shape[1])
        for rows in _slices(len(embeddings)):
            mean += unit_rows(embeddings[rows].astype(np.float32)).sum(axis=0, dtype=np.float64)
        mean /= max(len(embeddings), 1)

        # The squared length of the mean direction is the mean cosine of two sentences.
        sizes = tuple(dimensions) or (len(mean),)
        cosines = [float(part @ part) * len(sizes) for part in _parts(mean, sizes)]
        if max(cosines) > EQUAL:
            one = "The teacher" if len(sizes) == 1 else f"Teacher {1 + int(np.argmax(cosines))} of {len(sizes)}"
            raise InputError(
                f"{one}'s vectors of all {len(embeddings):,} sentences are the same, so there is nothing to learn from "
                "them; check the teacher."
            )
        centred = [part * (cosine > ALIKE) for part, cosine in zip(_parts(mean, sizes), cosines, strict=True)]
        centre = np.concatenate(centred).astype(np.float32)
        return cls(max(cosines), centre if centre.any() else None, sizes)

    def __call__(self, embeddings: NDArray[np.float16]) -> NDArray[np.float16]:
        """Return (any, dimension) embeddings at unit length; zero rows stay zero."""
        result = np.empty_like(embeddings)
        for rows in _slices(len(embeddings)):
            unit = unit_rows(embeddings[rows].astype(np.float32))
            if self.centre is not None:
                unit = self._centred(unit, self.centre)
            result[rows] = unit
        return result

    def _centred(self, unit: Floats, centre: Floats) -> Floats:
        """Take the centre off; what is left of a teacher is as long as before."""
        moved = (unit - centre) * unit.any(axis=1, keepdims=True)
        length = np.float32(1 / np.sqrt(len(self.dimensions)))
        pairs = zip(_parts(moved, self.dimensions), _parts(centre, self.dimensions), strict=True)
        return np.concatenate([unit_rows(part) * length if own.any() else part for part, own in pairs], axis=1)


def _parts(array: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Split the last axis into the parts of the teachers."""
    return np.split(array, np.cumsum(sizes)[:-1], axis=-1)


def principal_directions(targets: NDArray[np.float16], dimension: int) -> Floats:
    """Compute the leading right singular vectors of (sentences, n) targets, as (n, dimension) orthonormal columns.

    Not centred: a cosine is measured from the origin, so that is where the projection must keep it. The largest entry
    of each is positive, since another library may flip their signs.
    """
    gram = np.zeros((targets.shape[1], targets.shape[1]))
    for rows in _slices(len(targets)):
        block = targets[rows].astype(np.float32)
        gram += block.T @ block
    directions = np.linalg.eigh(gram)[1][:, ::-1][:, :dimension]
    largest = np.abs(directions).argmax(axis=0)
    return np.asarray(directions * np.sign(np.take_along_axis(directions, largest[None], axis=0)), dtype=np.float32)


def project(targets: NDArray[np.float16], directions: Floats) -> NDArray[np.float16]:
    """Project (sentences, n) targets on (n, dimension) directions; (sentences, dimension) float16."""
    return np.concatenate([(targets[rows] @ directions).astype(np.float16) for rows in _slices(len(targets))])


def _slices(count: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, count, ROWS))


class StaticStudent(nn.Module):
    """The sum of token vectors from a (vocabulary, dimension) float32 table."""

    def __init__(self, table: Floats) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag.from_pretrained(torch.from_numpy(table), freeze=False, mode="sum", sparse=True)

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        sums: Tensor = self.bag(ids, offsets)
        return sums

    def table(self) -> Floats:
        """Return the trained table, (vocabulary, dimension) float32."""
        return self.bag.weight.detach().cpu().numpy()


@dataclass(frozen=True)
class StaticLoss:
    """The loss of a batch of rows; `targets` (sentences, dimension) are the projected soft labels."""

    model: StaticStudent
    tokens: TokenIds
    targets: NDArray[np.float16]
    relational_weight: float
    temperature: float

    def __call__(self, rows: NDArray[np.int64]) -> dict[str, Tensor]:
        where = self.model.bag.weight.device
        batch = self.tokens.take(rows)
        ids = torch.from_numpy(batch.ids).to(where)
        student = self.model(ids, torch.from_numpy(batch.offsets[:-1].astype(np.int32)).to(where))
        teacher = torch.from_numpy(self.targets[rows].astype(np.float32)).to(where)
        return distillation_loss(student, teacher, self.relational_weight, self.temperature)
