"""Paper 2's losses and heads: by hand, and compared with loops."""

import numpy as np
import pytest
import torch

from reproductions.paper2.pairs.heads import LogisticHead, combine
from reproductions.paper2.pairs.losses import PairBatch, hardest_negatives, margin_loss, paraphrase_groups, triplet_loss
from reproductions.paper2.pairs.options import Combination
from reproductions.paper2.pairs.training import loss_of

AT = {1.0: (1.0, 0.0), 0.8: (0.8, 0.6), 0.6: (0.6, 0.8), 0.0: (0.0, 1.0)}  # cosine with (1, 0) -> vector


def vectors(*cosines: float) -> torch.Tensor:
    return torch.tensor([AT[cosine] for cosine in cosines])


def test_margin_loss_by_hand() -> None:
    """d = 0.2 for a paraphrase; max(0, 0.5 - 0.2) and max(0, 0.5 - 1) for none: (0.2 + 0.3 + 0) / 3."""
    u, v = vectors(1.0, 1.0, 1.0), 3 * vectors(0.8, 0.8, 0.0)
    assert margin_loss(u, v, torch.tensor([1.0, 0.0, 0.0]), 0.5).item() == pytest.approx(0.5 / 3, abs=1e-6)


def test_triplet_loss_against_loops() -> None:
    generator = torch.Generator().manual_seed(1)
    u, v = (torch.randn(6, 5, generator=generator) for _ in range(2))
    labels = np.array([1, 0, 1, 1, 0, 0])
    pairs = np.array([[0, 1], [2, 3], [4, 5], [1, 6], [7, 8], [0, 9]])  # 0-1 and 1-6 make one chain
    groups = paraphrase_groups(pairs, labels.astype(np.int8), 10)
    unit = torch.nn.functional.normalize(torch.cat([u, v])).numpy()
    of = np.concatenate([groups[:, 0], groups[:, 1]])
    losses = []
    for row in range(12):
        partner = (row + 6) % 12
        far = min(1 - unit[row] @ unit[other] for other in range(12) if of[other] != of[row])
        apart = 1 - unit[row] @ unit[partner]
        losses.append(max(0.0, 0.5 + apart - far) if labels[row % 6] else max(0.0, 0.5 - apart))
    found = triplet_loss(u, v, torch.from_numpy(labels).float(), torch.from_numpy(groups), 0.5)
    assert found.item() == pytest.approx(np.mean(losses), abs=1e-5)


def test_groups_follow_chains_of_paraphrases() -> None:
    """0-1 and 1-2 are paraphrases, 3-4 are not; 5 is alone."""
    pairs = np.array([[0, 1], [1, 2], [3, 4], [0, 5]])
    groups = paraphrase_groups(pairs, np.array([1, 1, 0, 0], np.int8), 6)
    assert len({*groups[0], *groups[1]}) == 1
    assert groups[2, 0] != groups[2, 1] and groups[3, 0] != groups[3, 1]


def test_without_another_group_there_is_no_negative() -> None:
    near = torch.zeros(2, 2)
    assert hardest_negatives(near, torch.tensor([3, 3])).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        ("u", [1, 2]),
        ("u,v", [1, 2, 3, 1]),
        ("|u-v|", [2, 1]),
        ("u+v", [4, 3]),
        ("u*v", [3, 2]),
        ("|u-v|,u*v", [2, 1, 3, 2]),
        ("u,v,|u-v|,u*v", [1, 2, 3, 1, 2, 1, 3, 2]),
    ],
)
def test_combinations(combination: str, expected: list[int]) -> None:
    u, v = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0]])
    assert combine(u, v, Combination(combination)).tolist() == [expected]


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_logistic_regression(hidden_layers: int) -> None:
    """p = sigmoid(w . relu(W relu(V c + d) + e) + b); binary cross-entropy as its definition has it."""
    head = LogisticHead(2, Combination.BOTH, seed=1, hidden_layers=hidden_layers)
    u, v = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[3.0, 1.0], [0.0, 4.0]])
    labels = torch.tensor([1.0, 0.0])
    value = torch.cat([u, v], dim=1)
    layers = [module for module in head.hidden.modules() if isinstance(module, torch.nn.Linear)]
    assert [tuple(layer.weight.shape) for layer in layers] == [(2, 4), (2, 2)][:hidden_layers]
    for layer in layers:
        value = (value @ layer.weight.T + layer.bias).clamp(min=0)
    p = 1 / (1 + np.exp(-(value @ head.linear.weight[0] + head.linear.bias).detach().numpy()))
    expected = -(np.log(p[0]) + np.log(1 - p[1])) / 2
    assert loss_of("logistic", head, PairBatch(u, v, labels, labels, 0.5)).item() == pytest.approx(expected, abs=1e-6)


def test_a_head_depends_on_its_seed_alone() -> None:
    torch.manual_seed(7)
    first = LogisticHead(4, Combination.ALL, seed=1).linear.weight
    torch.manual_seed(8)
    assert torch.equal(first, LogisticHead(4, Combination.ALL, seed=1).linear.weight)
    assert not torch.equal(first, LogisticHead(4, Combination.ALL, seed=2).linear.weight)


@pytest.mark.parametrize("strategy", ["cosent", "ranking"])
def test_losses_of_the_library(strategy: str) -> None:
    """CoSENT at scale 20: log(1 + exp(20 (cos- - cos+))). Ranking: cross-entropy over the batch's partners."""
    u, v = vectors(1.0, 1.0), vectors(0.8, 0.6)
    found = loss_of(strategy, None, PairBatch(u, v, torch.tensor([1.0, 0.0]), torch.zeros(2), 0.0)).item()
    logits = 20 * np.array([[0.8, 0.6], [0.8, 0.6]])
    ranking = np.mean([np.log(np.exp(row).sum()) - row[place] for place, row in enumerate(logits)])
    expected = {"cosent": np.log1p(np.exp(20 * (0.6 - 0.8))), "ranking": ranking}[strategy]
    assert found == pytest.approx(expected, abs=1e-4)
