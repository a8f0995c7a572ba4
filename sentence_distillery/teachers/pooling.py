"""From token outputs to one embedding per sentence, in batches with little padding."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import torch
from torch import Tensor


def weighted_mean(hidden: Tensor, weights: Tensor) -> Tensor:
    """Average over tokens: hidden (batch, tokens, dimension), weights (batch, tokens) >= 0, 0 on padding.

    With weights of 1 on real tokens it is SoftLabel(S) = 1/n sum h_i (paper 1, equations 2 and 3). A sentence whose
    weights are all 0 gets the zero vector.
    """
    total = torch.einsum("bt,btd->bd", weights, hidden)
    return total / weights.sum(dim=1, keepdim=True).clamp(min=1e-9)


def length_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield indices of sentences in batches of similar length, each of at most `budget` tokens, padding included.

    The longest come first, so that a batch that does not fit in memory fails at once.

    >>> list(length_batches([2, 9, 3, 8], budget=18))
    [[1, 3], [2, 0]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batch: list[int] = []
    for row in order.tolist():
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def equal_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield indices of sentences in batches of one length, each of at most `budget` tokens, the longest first.

    Without padding, a sentence has the same vector to the last bit whichever sentences stand beside it.

    >>> list(equal_batches([2, 9, 2, 8], budget=18))
    [[1], [3], [0, 2]]
    """
    for batch in length_batches(lengths, budget):
        for _, same in groupby(batch, lambda row: lengths[row]):
            yield list(same)
