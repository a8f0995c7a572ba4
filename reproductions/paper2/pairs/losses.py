"""The losses of paper 2's strategies, by name in LOSSES.

Those of section 3.2, with d(u, v) = 1 - cos(u, v) and the margin m = 0.5, are

    pairwise   L(u, v) = d(u, v)                    if v is a paraphrase of u
                         max(0, m - d(u, v))        if it is not
    triplet    L(a, p, n) = max(0, m + d(a, p) - d(a, n))

Triplets are formed from labelled pairs, as MRPC has them, by two rules:

    paraphrases (a, p)   give (a, p, n) and (p, a, n'): n is the hardest negative of the batch, the sentence nearest to
                         the anchor among those that no chain of paraphrases connects with it
    others (a, b)        give (a, a, b) and (b, b, a): a sentence is its own nearest paraphrase, d(a, a) = 0

Without the second rule almost no pair of label 0 would matter: of the 5,344 sentences that have a paraphrase in MRPC
train, 71 are in a pair of label 0 too.

Worked example, m = 0.5: paraphrases at a cosine of 0.9 whose hardest negative is at 0.6 lose max(0, 0.5 + 0.1 - 0.4)
= 0.2; a pair of label 0 at a cosine of 0.8 loses max(0, 0.5 + 0 - 0.2) = 0.3 under either loss.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn


def distance(u: Tensor, v: Tensor) -> Tensor:
    """Return 1 - cosine of each two rows of u and v, (pairs, dimension); (pairs,) in [0, 2]."""
    return 1.0 - F.cosine_similarity(u, v, dim=1)


def margin_loss(u: Tensor, v: Tensor, labels: Tensor, margin: float) -> Tensor:
    """Return the mean pairwise loss of u and v, (pairs, dimension), with labels (pairs,) of 0 and 1."""
    apart = distance(u, v)
    return (labels * apart + (1 - labels) * F.relu(margin - apart)).mean()


def triplet_loss(u: Tensor, v: Tensor, labels: Tensor, groups: Tensor, margin: float) -> Tensor:
    """Return the mean loss of the batch's triplets; `groups` (pairs, 2) are those of `paraphrase_groups`."""
    anchors = torch.cat([u, v])
    partners = distance(anchors, torch.cat([v, u]))
    paraphrase = torch.cat([labels, labels])
    unit = F.normalize(anchors, dim=1)
    hardest = hardest_negatives(1.0 - unit @ unit.T, torch.cat([groups[:, 0], groups[:, 1]]))
    near = paraphrase * partners
    far = paraphrase * hardest + (1 - paraphrase) * partners
    return F.relu(margin + near - far).mean()


def hardest_negatives(distances: Tensor, groups: Tensor) -> Tensor:
    """Return each sentence's distance to the nearest one of another group, (sentences,); without one 2."""
    same = groups[:, None] == groups[None, :]
    return distances.masked_fill(same, 2.0).amin(dim=1)


def paraphrase_groups(pairs: NDArray[np.int64], labels: NDArray[np.int8], sentences: int) -> NDArray[np.int64]:
    """Return the group of each pair's sentences, (pairs, 2): equal if a chain of paraphrases connects them.

    `pairs` (pairs, 2) holds numbers of sentences below `sentences`.
    """
    from scipy.sparse import coo_array  # takes a third of a second; the losses do not need it
    from scipy.sparse.csgraph import connected_components

    alike = pairs[labels == 1]
    graph = coo_array((np.ones(len(alike), np.int8), (alike[:, 0], alike[:, 1])), shape=(sentences, sentences))
    groups: NDArray[np.int64] = connected_components(graph, directed=False)[1][pairs].astype(np.int64)
    return groups


@dataclass(frozen=True)
class PairBatch:
    """A batch of pairs: vectors u and v (pairs, dimension), labels (pairs,) of 0 and 1, groups as in `triplet_loss`."""

    u: Tensor
    v: Tensor
    labels: Tensor
    groups: Tensor
    margin: float


@dataclass(frozen=True)
class PairLoss:
    """A strategy of `pair_grid.strategies` that trains an encoder without a head.

    Attributes:
        compute: Returns the loss of a batch.
        paraphrases_only: Whether pairs of label 0 are left out.
    """

    compute: Callable[[PairBatch], Tensor]
    paraphrases_only: bool = False


def _of_library(name: str) -> Callable[[PairBatch], Tensor]:
    """Return a loss of sentence-transformers as a function of a batch."""

    def compute(batch: PairBatch) -> Tensor:
        from sentence_transformers.sentence_transformer import losses  # takes seconds, and few cells need it

        loss: Tensor = getattr(losses, name)(nn.Identity()).compute_loss_from_embeddings(
            [batch.u, batch.v], batch.labels
        )
        return loss

    return compute


LOSSES = {
    "siamese": PairLoss(lambda batch: margin_loss(batch.u, batch.v, batch.labels, batch.margin)),
    "triplet": PairLoss(lambda batch: triplet_loss(batch.u, batch.v, batch.labels, batch.groups, batch.margin)),
    "cosent": PairLoss(_of_library("CoSENTLoss")),  # Su 2022
    "ranking": PairLoss(_of_library("MultipleNegativesRankingLoss"), paraphrases_only=True),  # Henderson et al. 2017
}
