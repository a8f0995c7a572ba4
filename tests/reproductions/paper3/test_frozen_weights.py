"""Weights of components that are learnt: the parts of a sentence, and weights that are known beforehand come out."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from reproductions.paper3.component_focus.cells import SPLITS, parts_of
from reproductions.paper3.component_focus.frozen_weights import STEPS, Kind, Sides, embedded, learn
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation.sets.data import Split

# No man attacks her.
TREE = Tree(
    tokens=["No", "man", "attacks", "her", "."],
    lemmas=["no", "man", "attack", "she", "."],
    upos=["DET", "NOUN", "VERB", "PRON", "PUNCT"],
    xpos=["DT", "NN", "VBZ", "PRP", "."],
    heads=[2, 3, 0, 3, 3],
    relations=["det", "nsubj", "root", "obj", "punct"],
)


def test_the_parts_of_a_sentence() -> None:
    assert parts_of(TREE, "one") == parts_of(TREE, "gate") == {"component": "No man attacks her"}
    assert parts_of(TREE, "roles") == {"subject": "No man", "predicate": "attacks", "object": "her"}
    tags = {"DET": "No", "NOUN": "man", "VERB": "attacks", "PRON": "her", "PUNCT": "."}
    assert parts_of(TREE, "tags") == tags


def test_a_part_that_a_sentence_lacks_is_zero() -> None:
    vectors = {"a": [1.0, 2.0], "b": [3.0, 4.0]}
    found = embedded(
        [{"x": "a"}, {}, {"y": "b", "x": "b"}], ["x", "y"], lambda texts: np.array([vectors[t] for t in texts], "f")
    )
    assert found.tolist() == [[[1, 2], [0, 0]], [[0, 0], [0, 0]], [[3, 4], [3, 4]]]


def task(
    weights: torch.Tensor, gate: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor, dict[Split, Sides]]:
    """Sentences, their parts, and pairs whose scores are the cosines by these weights."""
    generator = torch.Generator().manual_seed(1)
    basic = torch.randn(400, 8, generator=generator)
    parts = torch.randn(400, len(weights), 8, generator=generator)
    own = weights.expand(400, -1) if gate is None else weights + (F.normalize(basic, dim=1) @ gate)[:, None]
    true = basic + (own[..., None] * parts).sum(dim=1)
    rows = np.random.default_rng(1).integers(0, 400, (900, 2))
    gold = F.cosine_similarity(true[rows[:, 0]], true[rows[:, 1]]).numpy()
    return basic, parts, {name: Sides(rows[i::3], gold[i::3]) for i, name in enumerate(SPLITS)}


@pytest.mark.parametrize(("kind", "weights"), [("one", [0.7]), ("roles", [0.5, -0.4, 0.0])])
def test_known_weights_are_learnt(kind: Kind, weights: list[float]) -> None:
    basic, parts, sides = task(torch.tensor(weights))
    found = learn(kind, [str(place) for place in range(len(weights))], basic, parts, sides)
    assert list(found.weights.values()) == pytest.approx(weights, abs=0.05)
    assert 0 < found.step <= STEPS
    assert found.dev > 0.99
    assert np.corrcoef(found.cosines, found.gold)[0, 1] > 0.99


def test_a_gate_tells_sentences_apart() -> None:
    gate = torch.zeros(8)
    gate[0] = 1.5
    basic, parts, sides = task(torch.tensor([0.2]), gate)
    gated = learn("gate", ["component"], basic, parts, sides)
    plain = learn("one", ["component"], basic, parts, sides)
    assert gated.dev > plain.dev + 0.02
    assert gated.weights["component"] == pytest.approx(0.2, abs=0.1)


def test_parts_that_say_nothing_leave_the_encoder_as_it_is() -> None:
    basic, parts, sides = task(torch.tensor([0.7]))
    found = learn("one", ["component"], basic, torch.zeros_like(parts), sides)
    assert (found.step, found.weights) == (0, {"component": 0.0})
