"""The losses: by hand, compared with NumPy, and the directions of their gradients."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from reproductions.paper1.word_vectors.student import PaperLoss, PaperStudent
from sentence_distillery.distillation.static_student import StaticLoss, StaticStudent
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.training.losses import cosine_loss, relational_loss

RNG = np.random.default_rng(0)
STUDENT, TEACHER = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 5))


def neighbours(vectors: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """softmax_j(cos(v_i, v_j) / temperature) over j != i, as (batch, batch) with a zero diagonal."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = np.exp(unit @ unit.T / temperature)
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def test_cosine_loss_by_hand() -> None:
    student = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    teacher = torch.tensor([[1.0, 0.0], [0.0, -3.0], [1.0, 0.0]])
    assert cosine_loss(student, student).item() == pytest.approx(0.0, abs=1e-6)
    assert cosine_loss(student, teacher).item() == pytest.approx(1 - (1 - 1 + 0.5**0.5) / 3)
    assert cosine_loss(torch.zeros(1, 2), teacher[:1]).item() == 1.0


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_relational_loss_equals_numpy(temperature: float) -> None:
    p, q = neighbours(TEACHER, temperature), neighbours(STUDENT, temperature)
    others = ~np.eye(6, dtype=bool)
    expected = (p[others] * np.log(p[others] / q[others])).sum() / 6
    found = relational_loss(torch.from_numpy(STUDENT), torch.from_numpy(TEACHER), temperature).item()
    assert found == pytest.approx(expected)
    same = relational_loss(torch.from_numpy(TEACHER) * 3, torch.from_numpy(TEACHER), temperature).item()
    assert same == pytest.approx(0.0, abs=1e-9)


def test_gradients_point_to_the_teacher() -> None:
    teacher = torch.from_numpy(TEACHER[:, :3].copy())
    for loss in (cosine_loss, lambda s, t: relational_loss(s, t, 0.5)):
        student = torch.from_numpy(STUDENT).requires_grad_()
        before = loss(student, teacher)
        (gradient,) = torch.autograd.grad(before, student)
        assert loss(student - 0.1 * gradient, teacher) < before < loss(student + 0.1 * gradient, teacher)


def test_static_loss_equals_its_parts() -> None:
    tokens = TokenIds.from_lists([[1, 2], [3], [2, 2, 1], [1]])
    table = RNG.normal(size=(4, 3)).astype(np.float32)
    targets = RNG.normal(size=(4, 3)).astype(np.float16)
    rows = np.array([2, 0, 3])
    terms = StaticLoss(StaticStudent(table.copy()), tokens, targets, 0.3, 0.5)(rows)
    sums = np.stack([table[2] * 2 + table[1], table[1] + table[2], table[1]])
    teacher = targets[rows].astype(np.float32)
    cosine = cosine_loss(torch.from_numpy(sums), torch.from_numpy(teacher))
    relational = relational_loss(torch.from_numpy(sums), torch.from_numpy(teacher), 0.5)
    assert terms["cosine"].item() == pytest.approx(cosine.item(), rel=1e-5)
    assert terms["relational"].item() == pytest.approx(relational.item(), rel=1e-5)
    assert terms["loss"].item() == pytest.approx(cosine.item() + 0.3 * relational.item(), rel=1e-5)


def test_paper_loss_is_the_mean_squared_error() -> None:
    means, targets = STUDENT.astype(np.float32), TEACHER.astype(np.float16)
    model = PaperStudent(3, 5, seed=1)
    weight, bias = model.layer()
    rows = np.array([4, 1])
    expected = np.square(means[rows] @ weight.T + bias - targets[rows].astype(np.float32)).mean()
    assert PaperLoss(model, means, targets)(rows)["loss"].item() == pytest.approx(expected, rel=1e-5)


def test_the_papers_layer_depends_on_its_seed_alone() -> None:
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    first = PaperStudent(3, 2, seed=1).layer()[0]
    assert torch.rand(1) == before
    np.testing.assert_array_equal(first, PaperStudent(3, 2, seed=1).layer()[0])
    assert (first != PaperStudent(3, 2, seed=2).layer()[0]).any()
