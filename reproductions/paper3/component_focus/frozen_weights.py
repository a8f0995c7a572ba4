"""Learn the weight of the component for a frozen encoder (not in paper 3).

    emb_S = e(S) + sum_k w_k e(S_k)          loss = -Pearson(cos(emb_A, emb_B), rating)

    one      S_1 is the component of S: the W_cf of equation 1
    roles    S_1, S_2, S_3 are the subjects, the predicates and the objects in it
    tags     S_k are the words of S with the universal part of speech k (the paper's future work)
    gate     S_1 is the component, and w_1 = b + g e(S) / |e(S)| is each sentence's own

All weights start at 0, the encoder alone, and take STEPS steps of Adam over all training pairs at once. Nothing is
random, so there is no seed. The step with the best Spearman on dev counts; it may be the start.
"""

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reproductions.encoders.trainable import PairEncoder
from reproductions.paper3.component_focus.cells import SPLITS, Inputs, indexed, parts_of, spearman, task_pairs
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation.sets.data import Split
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers.functions import Embed
from sentence_distillery.training.batches import InOrder
from sentence_distillery.training.trainer import Best, Hooks, Trainer

Kind = Literal["one", "roles", "tags", "gate"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STEPS = 150
LEARNING_RATE = 0.02
TINY = 1e-12  # the least divisor, a product of two squared lengths

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learnt:
    """The weights by part (for a gate: b), the step that they are from, and their cosines of the test pairs."""

    kind: Kind
    weights: dict[str, float]
    step: int
    dev: float  # Spearman
    cosines: list[float]
    gold: list[float]  # human ratings on [0, 1]; a key of learnt.json


@dataclass(frozen=True)
class Products:
    """The inner products from which the cosines of some pairs follow under any weights.

    `across` (pairs, 1 + parts, 1 + parts) are the inner products of one side's sentence and parts with the other's,
    `within` those of each side with itself; `units` (pairs, dimension) of each side, the sentences at unit length, are
    the input of a gate.
    """

    across: Tensor
    within: tuple[Tensor, Tensor]
    units: tuple[Tensor, Tensor]
    ratings: NDArray[np.float32]

    @classmethod
    def of(cls, sides: "Sides", basic: Tensor, parts: Tensor) -> "Products":
        one, other = (torch.cat([basic[side, None], parts[side]], dim=1) for side in sides.rows.T)
        units = F.normalize(one[:, 0], dim=1), F.normalize(other[:, 0], dim=1)
        return cls(one @ other.mT, (one @ one.mT, other @ other.mT), units, sides.ratings)


class Mixture(nn.Module):
    """The weights, (parts,), and the direction of a gate if there is one."""

    def __init__(self, parts: int, dimension: int, gated: bool) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(parts))
        self.gate = nn.Parameter(torch.zeros(dimension)) if gated else None

    def forward(self, products: Products) -> Tensor:
        """Compute the cosines, (pairs,)."""
        one, other = map(self._weights, products.units)
        lengths = [_form(side, within, side) for side, within in zip((one, other), products.within, strict=True)]
        return _form(one, products.across, other) / (lengths[0] * lengths[1]).clamp_min(TINY).sqrt()

    def _weights(self, units: Tensor) -> Tensor:
        """Return the weights (pairs, 1 + parts) for the sentences of one side; each sentence itself has weight 1."""
        weights = self.weights.expand(len(units), -1)
        if self.gate is not None:
            weights = weights + (units @ self.gate)[:, None]
        return F.pad(weights, (1, 0), value=1.0)


def _form(one: Tensor, products: Tensor, other: Tensor) -> Tensor:
    """Sum products (pairs, n, n), weighted by (pairs, n) of both sides, to (pairs,)."""
    return torch.einsum("pk,pkl,pl->p", one, products, other)


@dataclass(frozen=True)
class Sides:
    """The pairs of a split as row numbers of sentences, (pairs, 2), and their human ratings on [0, 1]."""

    rows: NDArray[np.int64]
    ratings: NDArray[np.float32]


def learn_all(task: str, embed: Embed, trees: dict[str, Tree], inputs: Inputs, counters: Counters) -> list[Learnt]:
    """Learn the weights of each kind on the task's training pairs; a sentence without a tree has no parts."""
    guard = Counters("pairs")
    pairs = task_pairs(task, inputs, guard)
    counters.details |= {f"{task} train, {reason}": count for reason, count in guard.dropped.items()}
    texts, rows = indexed(pairs)
    sides = {split: Sides(rows[split], each.unit_scores()) for split, each in pairs.items()}
    basic = torch.from_numpy(embed(texts))
    learnt = []
    for kind in KINDS:
        parts = [parts_of(trees[text], kind) if text in trees else {} for text in texts]
        names = sorted({name for each in parts for name in each})
        learnt.append(learn(kind, names, basic, torch.from_numpy(embedded(parts, names, embed)), sides))
    return learnt


def embedded(parts: Sequence[dict[str, str]], names: Sequence[str], embed: Embed) -> Floats:
    """Encode the parts of each sentence, (sentences, names, dimension); zero for a part that a sentence lacks."""
    texts = list(dict.fromkeys(text for each in parts for text in each.values()))
    vectors = embed(texts)
    place = {text: row for row, text in enumerate(texts)}
    encoded = np.zeros((len(parts), len(names), vectors.shape[1]), np.float32)
    for row, each in enumerate(parts):
        for name, text in each.items():
            encoded[row, names.index(name)] = vectors[place[text]]
    return encoded


def learn(kind: Kind, names: Sequence[str], basic: Tensor, parts: Tensor, sides: dict[Split, Sides]) -> Learnt:
    """Learn on train, choose the step on dev, and compute the cosines of test."""
    mixture = Mixture(len(names), basic.shape[1], kind == "gate")
    start = copy.deepcopy(mixture)
    train, dev, test = (Products.of(sides[split], basic, parts) for split in SPLITS)
    ratings = torch.from_numpy(train.ratings)
    trainer = Trainer(
        mixture,
        torch.optim.Adam(mixture.parameters(), lr=LEARNING_RATE),
        InOrder([train]),
        STEPS,
        best=Best("dev"),
        hooks=Hooks(after=lambda means: {"dev": spearman(_cosines(mixture, dev), dev.ratings)}),
        unit="steps",
    )
    curve = trainer.run(lambda pairs: {"loss": -torch.corrcoef(torch.stack([mixture(pairs), ratings]))[0, 1]})
    figures = [spearman(_cosines(start, dev), dev.ratings), *(note["dev"] for note in curve)]
    step = int(np.argmax(figures))
    chosen = mixture if step else start
    weights = dict(zip(names, chosen.weights.tolist(), strict=True))
    return Learnt(kind, weights, step, figures[step], _cosines(chosen, test).tolist(), test.ratings.tolist())


@torch.inference_mode()
def _cosines(mixture: Mixture, products: Products) -> Floats:
    return np.asarray(mixture(products).numpy())


def embed_with(encoder: PairEncoder, texts: list[str]) -> Floats:
    """Encode texts with the encoder as it is, (texts, dimension) float32."""
    return encoder.embed(encoder.tokens(texts))
