"""Algorithm 1 of paper 1 (section 3.1): word vectors whose sentences' distributions lie far apart.

    v_i = sum_{w in S_i} a_w x_w / sum_{w in S_i} a_w      weighted average; a_w: TF-IDF weight of the word vector x_w
    p_i = softmax(v_i)
    D(p_i || p_j) = sum p_i log p_i - p_i · log p_j                                                       equation 1
    loss = - sum_{i != j} D(p_i || p_j)

The second form of equation 1 turns all pairs of a batch into one matrix product.

How we read "for each sentence pair (i, j) in batches of size batch_size": a batch is `batch_size` consecutive
sentences, the same ones in each iteration; its pairs are all ordered pairs i != j; there is one step of plain SGD per
batch, on the sum over its pairs, not the mean. As printed there is one step per pair. To first order in the learning
rate the steps of a batch add up to the one step on the sum, so the printed learning rate keeps its meaning. A sentence
whose vector is zero is in no pair (lines 12-14). `compute_sentence_vector` is the "weighted average method" of section
3.1, whose weights sum to 1; equation 8 of section 3.2 divides by |S| instead.

What to expect: the loss as printed has no term that pulls similar sentences together, so it is repulsion alone. After
the paper's 50 iterations at 1e-4 on 3,000 news sentences the table of vectors has moved by 0.4 % of its norm, and
correlations on STS-B and SICK do not rise. With a learning rate of 1e-3 it moves by 11 % and with 1e-2 by 570 %, and
similarity is destroyed. Dividing by |S| at 1e-4 moves it by 36 %.

Worked example: v_1 = (0, ln 3) and v_2 = (0, 0) give p_1 = (1/4, 3/4) and p_2 = (1/2, 1/2), so
D(p_1 || p_2) = 1/4 ln 1/2 + 3/4 ln 3/2 = 0.1308, D(p_2 || p_1) = 1/2 ln 2 + 1/2 ln 2/3 = 0.1438, loss = -0.2747.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.training.batches import InOrder
from sentence_distillery.training.trainer import Hooks, Note, Terms, Trainer


@dataclass(frozen=True)
class Iteration:
    """The figures of one pass over the sentences; `displacement` is the words' mean |x - x_start| / |x_start|."""

    iteration: int
    mean_kl: float
    displacement: float


@dataclass(frozen=True)
class Batch:
    """Sentences of token ids: ids and weights (tokens,), starts (sentences,); the weights of a sentence sum to 1."""

    ids: Tensor
    weights: Tensor
    starts: Tensor

    def sentence_vectors(self, vectors: Tensor) -> Tensor:
        """Compute (sentences, dimension) float64, without the sentences whose vector is zero."""
        sums = F.embedding_bag(self.ids, vectors, self.starts, mode="sum", sparse=True, per_sample_weights=self.weights)
        return sums[sums.detach().any(dim=1)]


def kl_matrix(sentence_vectors: Tensor) -> Tensor:
    """Compute D(p_i || p_j) of all ordered pairs, (sentences, sentences); zero on the diagonal (equation 1)."""
    log_p = F.log_softmax(sentence_vectors, dim=1)
    p = log_p.exp()
    return (p * log_p).sum(dim=1, keepdim=True) - p @ log_p.T


def batches(sentences: TokenIds, weights: NDArray[np.float32], batch_size: int) -> list[Batch]:
    """Cut `sentences` into batches; `weights` (vocabulary,) holds the weight of each token id."""
    occurrences = weights[sentences.ids].astype(np.float64)
    shares = occurrences / np.bincount(sentences.owners, occurrences)[sentences.owners]
    cut = []
    for first in range(0, len(sentences), batch_size):
        offsets = sentences.offsets[first : first + batch_size + 1]
        span = slice(offsets[0], offsets[-1])
        starts = torch.from_numpy(offsets[:-1] - offsets[0])
        cut.append(
            Batch(torch.from_numpy(sentences.ids[span].astype(np.int64)), torch.from_numpy(shares[span]), starts)
        )
    return cut


def refine(
    vectors: Tensor,
    cut: list[Batch],
    learning_rate: float,
    iterations: int,
    watch: Callable[[Iteration], object] = lambda iteration: None,
) -> list[Iteration]:
    """Change `vectors` (vocabulary, dimension) float64 in place, and return the figures of each iteration.

    `learning_rate` is 1e-4 and `iterations` is 50 in the paper. `watch` gets the figures after each iteration. Raises
    DivergedError if the loss is not finite.
    """
    start = vectors.clone()
    done: list[Iteration] = []
    model = torch.nn.ParameterList([torch.nn.Parameter(vectors)])

    def objective(batch: Batch) -> Terms:
        kl = kl_matrix(batch.sentence_vectors(model[0]))
        return {"loss": -kl.sum(), "pairs": torch.tensor(float(len(kl) * (len(kl) - 1)))}

    def after(means: dict[str, float]) -> Note:
        mean_kl = -means["loss"] / (means.get("pairs") or 1.0)
        done.append(Iteration(len(done) + 1, mean_kl, displacement(start, vectors)))
        watch(done[-1])
        return {}

    trainer = Trainer(
        model,
        torch.optim.SGD(model.parameters(), lr=learning_rate),
        InOrder(cut),
        iterations,
        hooks=Hooks(after=after),
        remedy=f"Lower learning_rate, which is {learning_rate}.",
        unit="iterations",
    )
    trainer.run(objective)
    return done


def displacement(start: Tensor, vectors: Tensor) -> float:
    """Compute the mean of |x - x_start| / |x_start| over the words whose start is not zero; 0 if there is none."""
    lengths = start.norm(dim=1)
    known = lengths > 0
    moves = (vectors - start)[known].norm(dim=1) / lengths[known]
    return float(moves.mean()) if len(moves) else 0.0
