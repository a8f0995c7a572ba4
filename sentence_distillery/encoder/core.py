"""Texts to vectors, behind one seam with two implementations: the native core, and a simple one for all else.

    Native   native/*.c, for WordPiece with this library's or BERT's normalizer
    Simple   the package `tokenizers`, then NumPy, for tokenizers of any kind, and if there was no compiler

Both give the same tokens for every text, the same sums of int8 bit for bit, and vectors within 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.lexical import LexicalChannel
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.vocabulary import Loaded, Vocabulary, terms_are_apart
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

CHUNK: Final = 1_024  # texts of the simple way whose sums are computed at a time
_ROWS: Final = 4_096  # rows of the table that it gathers at a time

Counts = NDArray[np.int32]


class Form(IntEnum):
    """What a vector is: of unit length, the mean of the known tokens, or their sum in units of the table's levels."""

    UNIT = 0
    MEAN = 1
    SUM = 2


class Core(Protocol):
    """Turns texts into vectors."""

    def encode(self, texts: list[str], out: Floats, form: Form, counts: Counts | None = None) -> int:
        """Write the vectors of texts.

        Args:
            texts: The texts.
            out: (texts, dimensions) float32, C-contiguous, for the first numbers of each vector.
            form: What a vector is.
            counts: (texts,) int32 for the number of known tokens of each text.

        Returns:
            The least number of known tokens of a text; any number above 0 if there are no texts.
        """
        ...


class Simple:
    """The simple way.

    Args:
        token_ids: Turns texts into the tokens that count.
        table: (tokens, dimension), int8 levels or float16 or float32.
        unit: The step between levels, by which means are multiplied.
        channel: The lexical channel, or None.
        weight: Its length relative to the rest.
    """

    def __init__(
        self,
        token_ids: Callable[[list[str]], TokenIds],
        table: NDArray[Any],
        unit: float,
        channel: LexicalChannel | None,
        weight: float,
    ) -> None:
        self._token_ids = token_ids
        self._table = table
        self._unit = unit
        self._channel = channel
        self._weight = weight

    def encode(self, texts: list[str], out: Floats, form: Form, counts: Counts | None = None) -> int:
        """Write the vectors of texts, as `Core` says."""
        tokens = self._token_ids(texts)
        self.embed(tokens, out, form)
        if counts is not None:
            counts[:] = tokens.lengths
        return int(tokens.lengths.min(initial=1))

    def embed(self, tokens: TokenIds, out: Floats, form: Form) -> None:
        """Write the vectors of texts of which the tokens are known, a chunk of them at a time.

        Args:
            tokens: The ids of the tokens that count.
            out: As for `encode`.
            form: As for `encode`.
        """
        for start in range(0, len(tokens), CHUNK):
            part = tokens.span(start, min(start + CHUNK, len(tokens)))
            vectors = self._vectors(part, out.shape[1], form)[:, : out.shape[1]]
            if form is Form.UNIT:
                unit_rows(vectors, out=out[start : start + CHUNK])
            else:
                out[start : start + CHUNK] = vectors

    def _vectors(self, tokens: TokenIds, width: int, form: Form) -> Floats:
        """Compute sums or means, with the channel after them if `width` reaches into it."""
        dimension = self._table.shape[1]
        vectors = row_sums(self._table, tokens, min(width, dimension))
        if form is Form.MEAN:
            vectors *= (np.float32(self._unit) / np.maximum(tokens.lengths, 1).astype(np.float32))[:, None]
        if self._channel is None or width <= dimension:
            return vectors
        lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        channel = self._channel.vectors(tokens) * (np.float32(self._weight) * lengths)[:, None]
        return np.concatenate([vectors, channel], axis=1)


def row_sums(table: NDArray[Any], tokens: TokenIds, width: int) -> Floats:
    """Add up the rows of each text's tokens; those of int8 exactly.

    Args:
        table: (tokens, dimension) int8, float16 or float32.
        tokens: The ids of the tokens.
        width: The first numbers of each row that count.

    Returns:
        (texts, width) float32.

    Example:
        >>> row_sums(np.array([[0, 0], [100, 1], [100, 2]], np.int8), TokenIds.from_lists([[1, 2], []]), 2).tolist()
        [[200.0, 3.0], [0.0, 0.0]]
    """
    exact = np.int64 if table.dtype == np.int8 else np.float32
    sums = np.zeros((len(tokens), width), np.float32)
    for row, (start, stop) in enumerate(pairwise(tokens.offsets.tolist())):
        total: NDArray[Any] = np.zeros(width, exact)
        for first in range(start, stop, _ROWS):
            rows = table[tokens.ids[first : min(first + _ROWS, stop)], :width].astype(exact)
            rows[0] += total  # floats are added in their order, as the native core and other libraries do it
            total = rows.sum(axis=0)
        sums[row] = total
    return sums


class Native:
    """The native way. A text that it leaves to the simple one has the count -1 in the core.

    Args:
        vocabulary: As `native_vocabulary` returns it.
        simple: The simple way of the same encoder.
        table: As for `Simple`.
        unit: As for `Simple`.
        channel: As for `Simple`.
        weight: As for `Simple`.
    """

    def __init__(
        self,
        vocabulary: Any,
        simple: Simple,
        table: NDArray[Any],
        unit: float,
        channel: LexicalChannel | None,
        weight: float,
    ) -> None:
        compiled = loading.core()
        assert compiled is not None
        known = table.dtype in (np.int8, np.float16, np.float32)
        held = np.require(table if known else table.astype(np.float32), requirements=["C", "A"])
        self._core = compiled.Encoder(vocabulary, held, unit, None if channel is None else channel.arrays(weight))
        self._simple = simple

    def encode(self, texts: list[str], out: Floats, form: Form, counts: Counts | None = None) -> int:
        """Write the vectors of texts, as `Core` says."""
        least: int = self._core.encode(texts, out, form, counts)
        return least if least >= 0 else self._mended(texts, out, form, counts)

    def _mended(self, texts: list[str], out: Floats, form: Form, counts: Counts | None) -> int:
        """Encode once more, and the texts that are left in the simple way."""
        found = np.empty(len(texts), np.int32) if counts is None else counts
        self._core.encode(texts, out, form, found)
        rows = np.flatnonzero(found < 0)
        part, part_counts = np.empty((len(rows), out.shape[1]), np.float32), np.empty(len(rows), np.int32)
        self._simple.encode([texts[row] for row in rows], part, form, part_counts)
        out[rows], found[rows] = part, part_counts
        return int(found.min(initial=1))


def native_vocabulary(vocabulary: Vocabulary | Loaded | None) -> Any:
    """Load a vocabulary into the native core; None if there is no core, or it does not know such a vocabulary."""
    if isinstance(vocabulary, Loaded):
        return vocabulary.compiled
    if vocabulary is None or vocabulary.normalizer is None:
        return None
    compiled, words = loading.core(), vocabulary.words
    if compiled is None or not terms_are_apart([words[number] for number in vocabulary.terms]):
        return None
    try:
        return compiled.Vocabulary(words, vocabulary.terms, vocabulary.longest_word, vocabulary.normalizer)
    except ValueError:  # a token that it cannot look up, such as one of more than 512 bytes
        return None


def native_token_ids(vocabulary: Any, texts: list[str], simple: Callable[[list[str]], TokenIds]) -> TokenIds:
    """Look up tokens in the native core.

    Args:
        vocabulary: As `native_vocabulary` returns it.
        texts: The texts.
        simple: Looks up the texts that the core leaves.

    Returns:
        Their tokens, 0 for an unknown word.
    """
    # Copied: an array of bytes could not be changed, as scipy does when it sorts
    found, counts = (np.frombuffer(bytearray(given), np.int32) for given in vocabulary.token_ids(texts))
    left = np.flatnonzero(counts < 0)
    tokens = TokenIds(found, np.concatenate([[0], np.cumsum(np.maximum(counts, 0))]))
    if not left.size:
        return tokens
    order = np.arange(len(texts))
    order[left] = len(texts) + np.arange(len(left))
    return TokenIds.concatenate([tokens, simple([texts[row] for row in left])]).take(order)
