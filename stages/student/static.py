"""The static student: a vector for each token, trained until the sums point where the teacher's embeddings point.

    student(S) = sum_{w in S} x_w / || sum_{w in S} x_w ||
    loss       = (1 - cos(student(S), teacher(S))) + relational_weight * KL(teacher's neighbours || student's)

The teacher's embeddings are first projected on their leading principal directions, which gives the student its
dimension and keeps most of the cosines. Each token starts from the teacher's own embedding of it, scaled by
a / (a + p(w)): frequent words start small (Arora et al. 2017), and a word that the corpus lacks keeps a sensible vector.
Token weights need no parameter of their own: the length of x_w is the weight of w.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from stages.student.losses import cosine_loss, relational_loss
from stages.student.ragged import TokenIds

SMOOTHING = 1e-3  # a of the initial weights


def principal_directions(targets: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """The `dimension` leading right singular vectors of (sentences, n) targets, as (n, dimension) orthonormal columns.

    Not centred: a cosine is measured from the origin, so that is where the projection must keep it.
    """
    _, vectors = np.linalg.eigh(targets.T.astype(np.float64) @ targets)
    return vectors[:, ::-1][:, :dimension].astype(np.float32)


def initial_table(
    vectors: NDArray[np.float32], counts: NDArray[np.int64], silent: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """(vocabulary, dimension) start: the teacher's vectors times a / (a + p); `silent` tokens get zero vectors."""
    weights = SMOOTHING / (SMOOTHING + counts / max(counts.sum(), 1))
    table = vectors * weights[:, None]
    table[silent] = 0.0
    return table.astype(np.float32)


class StaticStudent(nn.Module):
    """An embedding bag without its own bias or order; `silent` rows (punctuation, unknown) are kept at zero."""

    def __init__(self, table: NDArray[np.float32]) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag.from_pretrained(
            torch.from_numpy(table.copy()), freeze=False, mode="sum", sparse=True
        )

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        embeddings: Tensor = self.bag(ids, offsets)
        return embeddings


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
        offsets = torch.from_numpy(batch.offsets[:-1].astype(np.int32)).to(where)
        student = self.model(ids, offsets)
        teacher = torch.from_numpy(self.targets[rows].astype(np.float32)).to(where)
        cosine = cosine_loss(student, teacher)
        relational = relational_loss(student, teacher, self.temperature)
        return {"loss": cosine + self.relational_weight * relational, "cosine": cosine, "relational": relational}
