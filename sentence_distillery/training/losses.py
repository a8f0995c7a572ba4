"""The losses of a student: the same directions as its teacher, and the same neighbours within a batch."""

import torch
import torch.nn.functional as F
from torch import Tensor

ITSELF = -1e4  # in place of -inf, whose product with a probability of 0 is NaN


def distillation_loss(
    student: Tensor, teacher: Tensor, relational_weight: float, temperature: float
) -> dict[str, Tensor]:
    """Compute both losses below for a batch, and as "loss" the first plus `relational_weight` times the second."""
    cosine = cosine_loss(student, teacher)
    relational = relational_loss(student, teacher, temperature)
    return {"loss": cosine + relational_weight * relational, "cosine": cosine, "relational": relational}


def cosine_loss(student: Tensor, teacher: Tensor) -> Tensor:
    """Compute 1 - mean cosine of (batch, dimension) student and teacher embeddings, in [0, 2]."""
    return 1.0 - F.cosine_similarity(student, teacher, dim=1).mean()


def relational_loss(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Compute KL(P || Q), nats, between the in-batch similarity distributions of teacher (P) and student (Q).

    Row i of P is softmax_j(cos(t_i, t_j) / temperature) over j != i, and Q likewise: which of its neighbours a
    sentence resembles, whatever the coordinates, so student and teacher may differ in dimension (the idea of relational
    knowledge distillation: Park et al. 2019, Tejankar et al. 2021, ISD). Batch >= 2, temperature > 0.
    """
    log_q = _similarity_distribution(student, temperature)
    log_p = _similarity_distribution(teacher, temperature)
    return F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)


def _similarity_distribution(vectors: Tensor, temperature: float) -> Tensor:
    """Compute the log-softmax over the other members of the batch, (batch, batch); the diagonal does not count."""
    unit = F.normalize(vectors, dim=1)
    similarity = unit @ unit.T / temperature
    return torch.log_softmax(similarity.fill_diagonal_(ITSELF), dim=1)
