"""Sentences of unequal length as token ids in one flat array: sentence i is ids[offsets[i]:offsets[i + 1]].

For the sentences (2, 0), () and (1): ids = [2, 0, 1], offsets = [0, 2, 2, 3].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
SHORTEST = 1e-18  # length of a vector whose squares float32 has in full
FEW_SENTENCES, FEW_TOKENS = 8, 1_000  # up to these, NumPy is faster than a sparse product


@dataclass(frozen=True, eq=False)
class TokenIds:
    """ids (tokens,) int32; offsets (sentences + 1,) int64, from 0 to the number of tokens."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens in each sentence, (sentences,)."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The sentence of each token, (tokens,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @classmethod
    def from_lists(cls, sentences: Iterable[Sequence[int]]) -> TokenIds:
        """Lay sentences of token ids end to end."""
        spans = list(sentences)
        offsets = np.cumsum([0, *map(len, spans)], dtype=np.int64)
        return cls(np.fromiter(chain.from_iterable(spans), dtype=np.int32, count=int(offsets[-1])), offsets)

    @classmethod
    def from_words(cls, sentences: Iterable[Sequence[str]], index: Mapping[str, int]) -> TokenIds:
        """Look words up in `index` and leave unknown words out; a sentence of only unknown words stays, empty."""
        return cls.from_lists([index[word] for word in sentence if word in index] for sentence in sentences)

    @classmethod
    def concatenate(cls, parts: Sequence[TokenIds]) -> TokenIds:
        """Concatenate the sentences of all parts, in order."""
        lengths = np.concatenate([[0], *(part.lengths for part in parts)])
        return cls(np.concatenate([np.empty(0, dtype=np.int32), *(part.ids for part in parts)]), np.cumsum(lengths))

    def take(self, sentences: Sequence[int] | NDArray[np.int64]) -> TokenIds:
        """Select the sentences with these numbers, in this order."""
        rows = np.asarray(sentences, dtype=np.int64)
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return TokenIds(self.ids[places], offsets)

    def span(self, start: int, stop: int) -> TokenIds:
        """Slice the sentences from `start` up to, not including, `stop`; their ids are a view."""
        offsets = self.offsets[start : stop + 1]
        return TokenIds(self.ids[offsets[0] : offsets[-1]], offsets - offsets[0])

    def without(self, token: int) -> TokenIds:
        """Remove the id `token` from all sentences."""
        kept = self.ids != token
        return TokenIds(self.ids[kept], np.concatenate([[0], np.cumsum(kept)])[self.offsets])

    def sums(self, table: NDArray[Any], weights: Floats | None = None) -> NDArray[Any]:
        """Compute sum_{w in S} a_w x_w, (sentences, dimension) in the type of `table`.

        `table` (vocabulary, dimension) and `weights` (vocabulary,), 1 by default, are indexed by token id. Terms are
        added in their order, however many sentences there are. Integers wrap round if a sum is too large for them.
        """
        few = len(self) <= FEW_SENTENCES and len(self.ids) <= FEW_TOKENS
        csr_array = None if few else _sparse()
        if csr_array is None:
            return self._few_sums(table, weights)
        data = np.ones(len(self.ids), dtype=table.dtype) if weights is None else weights[self.ids]
        offsets = self.offsets.astype(self.ids.dtype)  # one index type, or SciPy would copy the ids
        return np.asarray(csr_array((data, self.ids, offsets), shape=(len(self), len(table))) @ table)

    def _few_sums(self, table: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
        """Compute `sums` without SciPy; np.cumsum always adds in the same order, np.sum does not."""
        sums = np.zeros((len(self), table.shape[1]), dtype=table.dtype)
        for row, (start, stop) in enumerate(pairwise(self.offsets.tolist())):
            for first in range(start, stop, FEW_TOKENS):
                ids = self.ids[first : min(first + FEW_TOKENS, stop)]
                terms = table[ids] if weights is None else table[ids] * weights[ids, None]
                terms[0] += sums[row]
                sums[row] = np.cumsum(terms, axis=0, dtype=table.dtype)[-1]
        return sums

    def means(self, table: Floats, weights: Floats | None = None) -> Floats:
        """Compute v(S) = 1/|S| sum_{w in S} a_w x_w (paper 1, equation 8), (sentences, dimension) float32.

        The divisor does not depend on the weights. A sentence without tokens is the zero vector.
        """
        sums = self.sums(table, weights)
        sums /= np.maximum(self.lengths, 1)[:, None].astype(np.float32)
        return np.asarray(sums, dtype=np.float32)


def _sparse() -> Any:
    """Return SciPy's sparse matrix, whose import is slow; None where only the core is installed."""
    try:
        from scipy.sparse import csr_array
    except ModuleNotFoundError:
        return None
    return csr_array


def plain(given: Any) -> Any:
    """Return arrays in place of tensors of PyTorch, one or a list: on a GPU, in bfloat16, or with a gradient."""
    if isinstance(given, list | tuple) and given and hasattr(given[0], "detach"):
        return [plain(each) for each in given]
    return given.detach().cpu().double().numpy() if hasattr(given, "detach") else given


def unit_rows(vectors: NDArray[Any]) -> Floats:
    """Scale rows to length 1; a zero row stays zero, one that is not finite becomes NaN."""
    norms = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    if norms.min(initial=1) > SHORTEST and norms.max(initial=1) < np.inf:
        return np.asarray(np.multiply(vectors, (1 / norms)[:, None]))
    extreme = np.flatnonzero(~((norms > SHORTEST) & (norms < np.inf)))  # zero, not finite, or their squares are
    scaled = _scaled(vectors[extreme])
    norms[extreme] = np.inf
    with np.errstate(invalid="ignore"):  # of rows that are replaced below
        unit: Floats = np.multiply(vectors, (1 / norms)[:, None])
    unit[extreme] = scaled
    return unit


def _scaled(rows: Floats) -> Floats:
    """Scale rows to length 1 whose squares are too small or too large for float32."""
    largest = np.abs(rows).max(axis=1, initial=0)
    with np.errstate(invalid="ignore"):
        rows = np.divide(rows, largest[:, None], out=np.zeros_like(rows), where=largest[:, None] > 0)
    rows[~np.isfinite(largest)] = np.nan
    norms = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    return np.asarray(np.divide(rows, norms[:, None], out=rows, where=norms[:, None] > 0))


def of_any_length(vectors: NDArray[Any]) -> Floats:
    """Scale rows of any precision to length 1, from the numbers that float32 has for them, if it has any."""
    largest = np.abs(vectors).max(axis=1, initial=0).astype(np.float64)
    if ((largest == 0) | ((largest > 1e-30) & (largest < 1e30))).all():
        vectors = vectors.astype(np.float32)
    return unit_rows(vectors.astype(np.float64)).astype(np.float32)
