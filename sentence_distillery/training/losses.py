"""The losses of a student: the same directions as its teacher, and the same neighbours within a batch."""

import torch
import torch.nn.functional as F
from torch import Tensor

ITSELF = -1e4  # in place of -inf, whose product with a probability of 0 is NaN


def distillation_loss(
    student: Tensor, teacher: Tensor, relational_weight: float, temperature: float
) -> dict[str, Tensor]:
    """Compute the loss of a student from (batch, dimension) float32 embeddings of it and its teacher.

        loss = cosine + relational_weight * relational

    Returns:
        Scalars by name, float32: "loss", at least 0, "cosine", in [0, 2], and "relational", at least 0, in nats.
    """
    cosine = cosine_loss(student, teacher)
    relational = relational_loss(student, teacher, temperature)
    return {"loss": cosine + relational_weight * relational, "cosine": cosine, "relational": relational}


def cosine_loss(student: Tensor, teacher: Tensor) -> Tensor:
    """Compute one minus the mean cosine of (batch, dimension) float32 embeddings; 0 if all directions agree.

        1 - 1/n sum_i s_i t_i / (|s_i| |t_i|)

    Example:
        >>> float(cosine_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])))
        1.0

    Reference:
        Sanh, Debut, Chaumond and Wolf 2019, DistilBERT, a Distilled Version of BERT: Smaller, Faster, Cheaper and
        Lighter, https://arxiv.org/abs/1910.01108
    """
    return 1.0 - F.cosine_similarity(student, teacher, dim=1).mean()


def relational_loss(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Compute the divergence between the neighbourhoods of teacher and student within a batch, in nats for each text.

        KL(P || Q)    P_ij = softmax_j(cos(t_i, t_j) / temperature) over j != i, Q_ij likewise of the student

    It compares which texts of the batch a text resembles, so (batch, dimension) embeddings of student and teacher may
    differ in dimension. A small temperature, above 0, makes only the nearest texts count.

    Reference:
        Park, Kim, Lu and Cho 2019, Relational Knowledge Distillation, https://arxiv.org/abs/1904.05068; the divergence
        of similarities: Tejankar et al. 2021, ISD: Self-Supervised Learning by Iterative Similarity Distillation,
        https://arxiv.org/abs/2012.09259
    """
    log_q = _similarity_distribution(student, temperature)
    log_p = _similarity_distribution(teacher, temperature)
    return F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)


def _similarity_distribution(vectors: Tensor, temperature: float) -> Tensor:
    """Compute the log-softmax over the other members of the batch, (batch, batch); the diagonal does not count."""
    unit = F.normalize(vectors, dim=1)
    similarity = unit @ unit.T / temperature
    return torch.log_softmax(similarity.fill_diagonal_(ITSELF), dim=1)
