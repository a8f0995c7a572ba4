"""The static student: a vector for each token, trained so that sums have the teacher's directions.

    student(S) = sum_{w in S} x_w / || sum_{w in S} x_w ||
    loss       = (1 - cos(student(S), teacher(S))) + relational_weight * KL(teacher's neighbours || student's)

The teacher's embeddings are first projected on their leading principal directions, which sets the student's dimension
and keeps most of the cosines. Training starts from the vectors of distillation/start.py. Token weights need no separate
parameter: the length of x_w is the weight of w.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.training.losses import distillation_loss

ROWS = 20_000  # soft labels turned to float32 at a time


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
