"""Texts to vectors, behind one seam with two implementations: the native core, and a simple one for all else.

    Native   native/*.c: WordPiece with this library's or BERT's normalizer, sums, layers, the lexical channel, bits
    Simple   the package `tokenizers`, then NumPy, if there was no compiler

Texts for tokenizers of other kinds are cut by `tokenizers`, and their vectors are computed by the native core.

Both give the same tokens for every text, the same sums of int8 bit for bit, and vectors within 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.lexical import LexicalChannel, Weight, weights_by_length
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.vocabulary import Loaded, Vocabulary, terms_are_apart
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

CHUNK: Final = 1_024  # texts of the simple way whose sums are computed at a time
_ROWS: Final = 4_096  # rows of the table that it gathers at a time

Counts = NDArray[np.int32]
Vectors = Floats | NDArray[np.uint8] | NDArray[np.int8]


class Form(IntEnum):
    """What a vector is: of unit length, the mean of the known tokens, or their sum in units of the table's levels."""

    UNIT = 0
    MEAN = 1
    SUM = 2


class Layer(Protocol):
    """What follows the sum of a text, `layers` has them.

    Attributes:
        of_means: Whether it needs the mean of all tokens; or any multiple of the sum of the known ones will do.
        arrays: A and B of x + relu(x A) B, or W and b of W x + b if it is `of_means`.
    """

    @property
    def of_means(self) -> bool: ...

    @property
    def arrays(self) -> tuple[Floats, Floats]: ...

    def apply(self, vectors: Floats, /) -> Floats:
        """Compute (texts, dimension) of (texts, dimension of the table)."""
        ...


class Core(Protocol):
    """Turns texts into vectors."""

    def encode(
        self, texts: list[str], out: Vectors, form: Form, counts: Counts | None = None, width: int | None = None
    ) -> int:
        """Write the vectors of texts.

        Args:
            texts: The texts.
            out: (texts, width) float32, C-contiguous, for the first numbers of each vector. Or an eighth of the
                numbers, rounded up, in uint8 or int8: a bit for each, as in the precisions ubinary and binary.
            form: What a vector is; no SUM if a layer follows.
            counts: (texts,) int32 for the number of known tokens of each text.
            width: The numbers of a vector; None for as many as `out` has.

        Returns:
            The least number of known tokens of a text; any number above 0 if there are no texts.
        """
        ...

    def embed(self, tokens: TokenIds, out: Vectors, form: Form, width: int | None = None) -> None:
        """Write the vectors of texts whose tokens are known; all of them count.

        Args:
            tokens: The ids of the tokens.
            out: As for `encode`.
            form: As for `encode`.
            width: As for `encode`.
        """
        ...


class Simple:
    """The simple way.

    Args:
        token_ids: Turns texts into the tokens that count.
        table: (tokens, dimension), int8 levels or float16 or float32.
        unit: The step between levels, by which means are multiplied.
        channel: The lexical channel, or None; it excludes layers.
        weight: Its length relative to the rest, of all texts, or of short and of long ones.
        layers: What follows the sums, in this order.
    """

    def __init__(
        self,
        token_ids: Callable[[list[str]], TokenIds],
        table: NDArray[Any],
        unit: float,
        channel: LexicalChannel | None,
        weight: Weight,
        layers: Sequence[Layer] = (),
    ) -> None:
        self.token_ids = token_ids
        self._table = table
        self._unit = unit
        self._channel = channel
        self._weight = weight
        self._layers = layers

    def encode(
        self, texts: list[str], out: Vectors, form: Form, counts: Counts | None = None, width: int | None = None
    ) -> int:
        """Write the vectors of texts, as `Core` says."""
        tokens = self.token_ids(texts)
        self.embed(tokens, out, form, width)
        return _counted(tokens, counts)

    def embed(self, tokens: TokenIds, out: Vectors, form: Form, width: int | None = None) -> None:
        """Write the vectors of texts whose tokens are known, as `Core` says, a chunk of them at a time."""
        wanted = out.shape[1] if width is None else width
        for start in range(0, len(tokens), CHUNK):
            part = tokens.span(start, min(start + CHUNK, len(tokens)))
            vectors = self._vectors(part, wanted, form)[:, :wanted]
            if form is Form.UNIT:
                vectors = unit_rows(vectors)
            rows = out[start : start + CHUNK]
            if out.dtype == np.float32:
                rows[:] = vectors
            else:
                rows.view(np.uint8)[:] = np.packbits(vectors > 0, axis=1) ^ np.uint8(
                    0x80 if out.dtype == np.int8 else 0
                )

    def _vectors(self, tokens: TokenIds, width: int, form: Form) -> Floats:
        """Compute sums or means, and what follows them; with the channel if `width` reaches into it."""
        dimension = self._table.shape[1]
        vectors = row_sums(self._table, tokens, dimension if self._layers else min(width, dimension))
        if form is Form.MEAN or any(layer.of_means for layer in self._layers):
            vectors *= (np.float32(self._unit) / np.maximum(tokens.lengths, 1).astype(np.float32))[:, None]
        for layer in self._layers:
            vectors = layer.apply(vectors)
        if self._channel is None or width <= dimension:
            return vectors
        lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        lengths *= weights_by_length(self._weight, tokens.lengths)
        return np.concatenate([vectors, self._channel.vectors(tokens) * lengths[:, None]], axis=1)


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
        vocabulary: As `native_vocabulary` returns it; None has the simple way cut texts into tokens.
        simple: The simple way of the same encoder.
        table: As for `Simple`.
        unit: As for `Simple`.
        channel: As for `Simple`.
        weight: As for `Simple`.
        layers: What follows the sums, one layer at most.
    """

    def __init__(
        self,
        vocabulary: Any,
        simple: Simple,
        table: NDArray[Any],
        unit: float,
        channel: LexicalChannel | None,
        weight: Weight,
        layers: Sequence[Layer] = (),
    ) -> None:
        compiled = loading.core()
        assert compiled is not None
        (layer,) = layers or (None,)
        known = table.dtype in (np.int8, np.float16, np.float32)
        held = np.require(table if known else table.astype(np.float32), requirements=["C", "A"])
        arrays = None if channel is None else channel.arrays(weight)
        self._core = compiled.Encoder(vocabulary, held, unit, arrays, None if layer is None else _as_taken(layer))
        self._cuts = vocabulary is not None
        self._simple = simple

    def encode(
        self, texts: list[str], out: Vectors, form: Form, counts: Counts | None = None, width: int | None = None
    ) -> int:
        """Write the vectors of texts, as `Core` says."""
        wanted = out.shape[1] if width is None else width
        if not self._cuts:
            tokens = self._simple.token_ids(texts)
            self.embed(tokens, out, form, wanted)
            return _counted(tokens, counts)
        least: int = self._core.encode(texts, out, form, counts, wanted)
        return least if least >= 0 else self._mended(texts, out, form, counts, wanted)

    def embed(self, tokens: TokenIds, out: Vectors, form: Form, width: int | None = None) -> None:
        """Write the vectors of texts whose tokens are known, as `Core` says."""
        ids, offsets = np.require(tokens.ids, np.int32, "C"), np.require(tokens.offsets, np.int64, "C")
        self._core.embed(ids, offsets, out, form, out.shape[1] if width is None else width)

    def _mended(self, texts: list[str], out: Vectors, form: Form, counts: Counts | None, width: int) -> int:
        """Encode once more, and the texts that are left in the simple way."""
        found = np.empty(len(texts), np.int32) if counts is None else counts
        self._core.encode(texts, out, form, found, width)
        rows = np.flatnonzero(found < 0)
        part, part_counts = np.empty((len(rows), out.shape[1]), out.dtype), np.empty(len(rows), np.int32)
        self._simple.encode([texts[row] for row in rows], part, form, part_counts, width)
        out[rows], found[rows] = part, part_counts
        return int(found.min(initial=1))


def _counted(tokens: TokenIds, counts: Counts | None) -> int:
    """Count the tokens of each text, and return the least number."""
    if counts is not None:
        counts[:] = tokens.lengths
    return int(tokens.lengths.min(initial=1))


def _as_taken(layer: Layer) -> tuple[Floats, Floats, bool]:
    """Return the arrays of a layer as the native core takes them: matrices that are multiplied from the right."""
    first, second = layer.arrays
    if layer.of_means:
        first = first.T
    return np.require(first, np.float32, "C"), np.require(second, np.float32, "C"), not layer.of_means


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
