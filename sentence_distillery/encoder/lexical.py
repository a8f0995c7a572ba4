"""The lexical channel: dimensions beside the token vectors, in which texts that share words are close, as in TF-IDF.

    v(S) = (u, w |u| l)                                u: the sum of the token vectors
    l = unit(sum_s (1 + log n_s) idf_s r_s)            s: the stems of S, n_s: how often each occurs
    cosine of two texts = (cos(u, u') + w w' l l') / sqrt((1 + w^2) (1 + w'^2))

r_s has PLACES entries of 1 or -1 at places that a hash of the stem decides, one in each of PLACES blocks of dimensions,
and zeros elsewhere. So vectors of different stems are nearly orthogonal, and nothing but a hash and idf_s is stored for
a token: a channel of any dimension costs eight bytes a token. Two things tell it from a table with more columns: a word
that is repeated counts by its logarithm, and the channel of each text has the same length, short or long
(reproductions/docs/levers.md says what each gains).

A weight w may depend on the number of known tokens: shared words tell whether a long text answers a query, and mislead
where two sentences are compared. Where documents of different lengths are searched, it must not: a larger w leaves less
of a unit vector's length to the rest. So searches, `encode_query` and `encode_document`, have one weight in all texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.texts import is_whole
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

PLACES = 8  # of a stem; a dimension is a multiple of it
Weight = float | tuple[float, float]  # of all texts, or of short and of long ones
SEARCH_WEIGHT: Final = 1.2  # of the channel relative to the rest, in a search
LEXICAL_WEIGHT: Final[Weight] = (0.5, SEARCH_WEIGHT)  # for all kinds of tasks
SHORT_TEXT, LONG_TEXT = 12, 32  # known tokens: the most of a short text, and the fewest of a long one
GREATEST_WEIGHT = 1_000.0  # above it nothing is left of the rest
WEIGHT_RANGE = f"a number from 0 to {GREATEST_WEIGHT:,.0f}, or a pair of them, for short and for long texts"
GREATEST_DIMENSION = 2**16  # of 250 MB for a thousand texts

_NO_CHANNEL = (  # these options are of Python alone
    "but this model has no lexical channel (another library that saves a model leaves it out): leave the option out, "
    "or make a model that has one with distill(for_search=True)."
)

# SplitMix64, Steele, Lea and Flood 2014, https://doi.org/10.1145/2660193.2660195
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


@dataclass(frozen=True, eq=False)
class LexicalChannel:
    """What a channel knows of each token.

    Attributes:
        stems: (tokens,) int32, the hash of its stem, as `stem_hash` makes it.
        idf: (tokens,) float32, at least 0, the inverse document frequency of its stem; 0 for the unknown token.
        dimension: The numbers of the channel, a multiple of PLACES.

    Example:
        >>> stems = np.array([stem_hash(stem) for stem in ("[UNK]", "storm", "storm", "port")], np.int32)
        >>> channel = LexicalChannel(stems, np.array([0, 2, 2, 1], np.float32), 64)
        >>> storm, storms, port = channel.vectors(TokenIds.from_lists([[1], [2], [3]]))
        >>> round(float(storm @ storms), 6), float(storm @ port) < 0.5
        (1.0, True)

    Reference:
        Weinberger, Dasgupta, Langford, Smola and Attenberg 2009, Feature Hashing for Large Scale Multitask Learning,
        https://arxiv.org/abs/0902.2206; several places in blocks: Kane and Nelson 2014, Sparser Johnson-Lindenstrauss
        Transforms, https://doi.org/10.1145/2559902; TF-IDF: Salton and Buckley 1988, Term-Weighting Approaches in
        Automatic Text Retrieval, https://doi.org/10.1016/0306-4573(88)90021-0
    """

    stems: NDArray[np.int32]
    idf: Floats
    dimension: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle nothing that is derived."""
        return LexicalChannel, (self.stems, self.idf, self.dimension)

    def take(self, tokens: NDArray[np.int64]) -> LexicalChannel:
        """Keep the tokens with these ids, (kept,), in this order."""
        return LexicalChannel(self.stems[tokens], self.idf[tokens], self.dimension)

    def vectors(self, tokens: TokenIds) -> Floats:
        """Compute the channel of each text, (texts, dimension) float32 of unit length.

        It is zeros for a text without a known token, or if every text that was counted has all its stems.
        """
        stems, idf, places, signs = self._by_stem

        # Each stem of a text once, with the number of its tokens.
        found, counts = np.unique(tokens.owners * len(idf) + stems[tokens.ids], return_counts=True)
        texts, kinds = np.divmod(found, len(idf))
        weights = idf[kinds] * (1 + np.log(counts))

        # Every stem adds its weight at eight places of its text.
        flat = (texts * self.dimension)[:, None] + places[kinds]
        sums = np.bincount(flat.ravel(), (signs[kinds] * weights[:, None]).ravel(), len(tokens) * self.dimension)
        return unit_rows(sums.reshape(len(tokens), self.dimension).astype(np.float32))

    def beside(self, vectors: Floats, tokens: TokenIds, weights: Floats) -> Floats:
        """Put the channel of each text after its vector, `weights` (texts,) times as long."""
        lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        lengths *= weights
        return np.concatenate([vectors, self.vectors(tokens) * lengths[:, None]], axis=1)

    def arrays(self, weight: Weight) -> tuple[NDArray[np.int32], Floats, NDArray[np.uint32], int, float, float]:
        """Return what the native core needs: each token's stem, and of each stem its idf and its places.

        A place is doubled, and one more for a minus. The dimension and the weights of short and long texts follow.
        """
        numbers, idf, places, signs = self._by_stem
        packed = (places * 2 + (signs < 0)).astype(np.uint32)
        return numbers.astype(np.int32), np.ascontiguousarray(idf), packed, self.dimension, *_both(weight)

    @cached_property
    def _by_stem(self) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64], Floats]:
        """The number of each token's stem, and of each stem its idf, its places and its signs."""
        hashes, first, numbers = np.unique(self.stems, return_index=True, return_inverse=True)
        numbered = hashes.astype(np.int64)[:, None] * PLACES + np.arange(PLACES)
        mixed = _mixed(numbered.astype(np.uint64))
        block = self.dimension // PLACES
        within = (mixed >> np.uint64(1)) % np.uint64(block)
        places = within.astype(np.int64) + block * np.arange(PLACES)
        return numbers, self.idf[first], places, np.where(mixed & np.uint64(1), 1, -1).astype(np.float32)


def weights_by_length(weight: Weight, lengths: NDArray[np.int64]) -> Floats:
    """Return the weight that the channel has in texts of so many known tokens, (texts,) float32.

    Example:
        >>> weights_by_length((0.5, 1.5), np.array([3, 12, 22, 32, 400])).tolist()
        [0.5, 0.5, 1.0, 1.5, 1.5]
    """
    short, long = _both(weight)
    share = np.clip((lengths - SHORT_TEXT) / (LONG_TEXT - SHORT_TEXT), 0, 1)
    return (short + (long - short) * share).astype(np.float32)


def weight_of_long(weight: Weight) -> float:
    """Return the weight that the channel has in long texts."""
    return _both(weight)[1]


def _both(weight: Weight) -> tuple[float, float]:
    """Return the weight of short and that of long texts."""
    return weight if isinstance(weight, tuple) else (weight, weight)


def checked_weight(weight: Weight, channel: LexicalChannel | None) -> Weight:
    """Return the weight of a channel; ValueError if it is out of its range, or not 0 and there is no channel."""
    if not is_weight(weight):
        raise ValueError(f"lexical_weight is {weight!r}; it is {WEIGHT_RANGE}.")
    found = as_weight(weight)
    if found and channel is None:
        raise ValueError(f"lexical_weight is {weight!r}, {_NO_CHANNEL}")
    return found


def is_weight(value: Any) -> TypeGuard[Weight]:
    """Tell whether a value is a weight of a channel: a number from 0 to GREATEST_WEIGHT, or a pair of them."""
    numbers = value if isinstance(value, tuple | list) else (value, value)
    return len(numbers) == 2 and all(map(_is_one_weight, numbers))


def _is_one_weight(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and bool(0 <= value <= GREATEST_WEIGHT)


def as_weight(value: Any) -> Weight:
    """Return a weight, of which `is_weight` holds, as a float, or as two if they differ."""
    short, long = map(float, value if isinstance(value, tuple | list) else (value, value))
    return short if short == long else (short, long)


def is_dimension(value: Any) -> TypeGuard[int]:
    """Tell whether a value is a dimension of a channel: a multiple of PLACES up to GREATEST_DIMENSION."""
    return is_whole(value, PLACES, GREATEST_DIMENSION) and value % PLACES == 0


def resized(channel: LexicalChannel | None, dimension: int, weight: Weight) -> LexicalChannel:
    """Give a channel another dimension; ValueError if that is out of range, or the model has no channel in use."""
    if channel is None:
        raise ValueError(f"lexical_dimension is {dimension!r}, {_NO_CHANNEL}")
    if not is_dimension(dimension):
        raise ValueError(
            f"lexical_dimension is {dimension!r}; it is a multiple of {PLACES} up to {GREATEST_DIMENSION:,}, such as "
            f"{channel.dimension}."
        )

    # A dimension that has no effect is a mistake of the caller.
    if not weight:
        raise ValueError(
            f"lexical_dimension is {dimension!r}, but the lexical channel is left out: give a lexical_weight, too, "
            f"such as {LEXICAL_WEIGHT}."
        )
    return LexicalChannel(channel.stems, channel.idf, int(dimension))


def stem_hash(stem: str) -> int:
    """Return the hash of a stem, the same everywhere, as a signed number of 32 bits.

    Example:
        >>> stem_hash("storm")
        1230442650
    """
    from hashlib import sha256  # only a model that is made needs it

    return int.from_bytes(sha256(stem.encode()).digest()[:4], "little", signed=True)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number of 64 well mixed bits for each one."""
    numbers = numbers * np.uint64(_STEP)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(_FIRST)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(_SECOND)
    return numbers ^ (numbers >> np.uint64(31))
