"""Texts to vectors, in two ways with the same methods: the native core, and a simple one for all else.

    Native   native/*.c: WordPiece with this library's or BERT's normalizer, sums, layers, the lexical channel, bits
    Simple   the package `tokenizers`, then NumPy, if there was no compiler

Texts for tokenizers of other kinds are cut by `tokenizers`, and their vectors are computed by the native core.

Both give the same tokens for every text, the same sums of int8 bit for bit, and vectors within 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.layers import Layer
from sentence_distillery.encoder.lexical import LexicalChannel, Weight, weights_by_length
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.vocabulary import Loaded, Vocabulary, terms_are_apart
from sentence_distillery.encoder.precision import Precision, quantize_embeddings
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

CHUNK: Final = 1_024  # texts of the simple way whose sums are computed at a time
_ROWS: Final = 4_096  # rows of the table that it gathers at a time
_PRECISIONS: Final[dict[str, Precision]] = {"float32": "float32", "uint8": "ubinary", "int8": "binary"}

Counts = NDArray[np.int32]
Vectors = Floats | NDArray[np.uint8] | NDArray[np.int8]


class Form(IntEnum):
    """What a vector is: of unit length, or the mean of the known tokens."""

    UNIT = 0
    MEAN = 1


@dataclass(frozen=True, eq=False)
class Simple:
    """The simple way.

    Attributes:
        token_ids: Turns texts into the tokens that count.
        table: (tokens, dimension), int8 levels or float16 or float32.
        unit: The step between levels, by which means are multiplied.
        channel: The lexical channel, or None; it excludes a layer.
        weight: Its length relative to the rest, of all texts, or of short and of long ones.
        layer: What follows the sums, or None.
    """

    token_ids: Callable[[list[str]], TokenIds]
    table: NDArray[Any]
    unit: float
    channel: LexicalChannel | None
    weight: Weight
    layer: Layer | None

    def encode(
        self, texts: list[str], out: Vectors, form: Form, counts: Counts | None = None, width: int | None = None
    ) -> None:
        """Write the vectors of texts.

        Args:
            texts: The texts.
            out: (texts, width) float32, C-contiguous, for the first numbers of each vector. Or an eighth of the
                numbers, rounded up, in uint8 or int8: a bit for each, as in the precisions ubinary and binary.
            form: What a vector is.
            counts: (texts,) int32 for the number of known tokens of each text.
            width: The numbers of a vector; None for as many as `out` has.
        """
        tokens = self.token_ids(texts)
        self.embed(tokens, out, form, width)
        if counts is not None:
            counts[:] = tokens.lengths

    def embed(self, tokens: TokenIds, out: Vectors, form: Form, width: int | None = None) -> None:
        """Write the vectors of texts whose tokens are known, all of which count; otherwise as `encode`."""
        wanted = out.shape[1] if width is None else width
        for start in range(0, len(tokens), CHUNK):
            part = tokens.span(start, min(start + CHUNK, len(tokens)))
            vectors = self._vectors(part, wanted, form)[:, :wanted]
            if form is Form.UNIT:
                vectors = unit_rows(vectors)
            out[start : start + CHUNK] = quantize_embeddings(vectors, _PRECISIONS[out.dtype.name])

    def _vectors(self, tokens: TokenIds, width: int, form: Form) -> Floats:
        """Compute sums or means, and what follows them; with the channel if `width` reaches into it."""
        dimension, layer = self.table.shape[1], self.layer
        vectors = _row_sums(self.table, tokens, min(width, dimension) if layer is None else dimension)
        if form is Form.MEAN or (layer is not None and layer.of_means):
            vectors *= (np.float32(self.unit) / np.maximum(tokens.lengths, 1).astype(np.float32))[:, None]
        if layer is not None:
            vectors = layer.apply(vectors)
        if self.channel is None or width <= dimension:
            return vectors
        return self.channel.beside(vectors, tokens, weights_by_length(self.weight, tokens.lengths))


def _row_sums(table: NDArray[Any], tokens: TokenIds, width: int) -> Floats:
    """Add up the first numbers of the rows of each text's tokens, (texts, width); those of int8 exactly."""
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
    """

    def __init__(self, vocabulary: Any, simple: Simple) -> None:
        compiled, table = loading.core(), simple.table
        assert compiled is not None
        known = table.dtype in (np.int8, np.float16, np.float32)
        held = np.require(table if known else table.astype(np.float32), requirements=["C", "A"])
        channel = None if simple.channel is None else simple.channel.arrays(simple.weight)
        layer = None if simple.layer is None else _as_taken(simple.layer)
        self._core = compiled.Encoder(vocabulary, held, simple.unit, channel, layer)
        self._cuts = vocabulary is not None
        self._simple = simple

    def encode(
        self, texts: list[str], out: Vectors, form: Form, counts: Counts | None = None, width: int | None = None
    ) -> None:
        """Write the vectors of texts, as `Simple` does."""
        wanted = out.shape[1] if width is None else width
        if not self._cuts:
            tokens = self._simple.token_ids(texts)
            self.embed(tokens, out, form, wanted)
            if counts is not None:
                counts[:] = tokens.lengths
        elif self._core.encode(texts, out, form, counts, wanted) < 0:
            self._mend(texts, out, form, counts, wanted)

    def embed(self, tokens: TokenIds, out: Vectors, form: Form, width: int | None = None) -> None:
        """Write the vectors of texts whose tokens are known, as `Simple` does."""
        ids, offsets = np.require(tokens.ids, np.int32, "C"), np.require(tokens.offsets, np.int64, "C")
        self._core.embed(ids, offsets, out, form, out.shape[1] if width is None else width)

    def _mend(self, texts: list[str], out: Vectors, form: Form, counts: Counts | None, width: int) -> None:
        """Encode once more, and the texts that are left in the simple way."""
        found = np.empty(len(texts), np.int32) if counts is None else counts
        self._core.encode(texts, out, form, found, width)
        rows = np.flatnonzero(found < 0)
        part, part_counts = np.empty((len(rows), out.shape[1]), out.dtype), np.empty(len(rows), np.int32)
        self._simple.encode([texts[row] for row in rows], part, form, part_counts, width)
        out[rows], found[rows] = part, part_counts


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
    """Look up the tokens of texts in the native core, 0 for an unknown word; `simple` does those that it leaves."""
    # Copied: an array of bytes could not be changed, as scipy does when it sorts
    found, counts = (np.frombuffer(bytearray(given), np.int32) for given in vocabulary.token_ids(texts))
    left = np.flatnonzero(counts < 0)
    tokens = TokenIds(found, np.concatenate([[0], np.cumsum(np.maximum(counts, 0))]))
    if not left.size:
        return tokens
    order = np.arange(len(texts))
    order[left] = len(texts) + np.arange(len(left))
    return TokenIds.concatenate([tokens, simple([texts[row] for row in left])]).take(order)
