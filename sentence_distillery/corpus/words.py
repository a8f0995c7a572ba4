"""The words of many sentences at once, as a column of Arrow, and hashes of any run of them.

A sum of powers over the bytes of the words (Karp and Rabin 1987) hashes any run of words in two look-ups:

    S[n] = sum over i < n of c_i b^i          hash of the bytes m ... n-1 = (S[n] - S[m]) b^-m          modulo 2^64

b is odd, so that it has an inverse, and the hash does not depend on the position of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.corpus.text import STOP_WORDS, tokenize

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


@dataclass(frozen=True)
class Words:
    """The words of some sentences in order: sentence s has those from offsets[s] to offsets[s + 1]."""

    values: pa.StringArray
    offsets: NDArray[np.int32]  # (sentences + 1,)
    letters: NDArray[np.int64]  # (sentences,) letters of each sentence
    characters: NDArray[np.int64]  # (sentences,) characters other than spaces
    starts: NDArray[np.int64]  # (words + 1,) the first byte of each word among those of all words
    powers: NDArray[np.uint64]  # (bytes of all words + 1,) S, as the module's docstring defines it

    @property
    def lists(self) -> pa.ListArray:
        """The words as list<string>, one row per sentence."""
        return pa.ListArray.from_arrays(pa.array(self.offsets), self.values)

    def identities(self, boundaries: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Hash all words between each two of the `boundaries`, which are indices of words."""
        places = self.starts[boundaries]
        return self._hashes(places[:-1], places[1:])

    def shingles(self, boundaries: NDArray[np.int64], size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Hash every `size` consecutive words, and count the hashes before each of the boundaries.

        Two consecutive `boundaries` enclose a document. No shingle crosses them; a shorter document is one shingle.
        """
        lengths = np.diff(boundaries)
        first = np.repeat(boundaries[:-1], lengths)
        last = np.repeat(boundaries[1:], lengths)
        begin = np.arange(boundaries[0], boundaries[-1])
        end = np.minimum(begin + size, last)

        # Runs that reach beyond their document are left out, but a short document is one run.
        whole = (begin == first) | (begin + size <= last)
        hashes = self._hashes(self.starts[begin[whole]], self.starts[end[whole]])
        counts = np.where(lengths == 0, 0, np.maximum(lengths - size + 1, 1))
        return hashes, np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)

    def _hashes(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.uint64]:
        return _mixed((self.powers[end] - self.powers[begin]) * _powers(_INVERSE, len(self.powers))[begin])


def find_words(sentences: Sequence[str]) -> Words:
    """Find the words of `sentences`."""
    words = [tokenize(sentence) for sentence in sentences]
    values = pa.array([*chain.from_iterable(words)], pa.string())
    content = np.frombuffer("".join(chain.from_iterable(words)).encode("utf-8"), np.uint8)

    # In lower case, since a few letters have another number of characters there.
    lower = [sentence.lower() for sentence in sentences]
    return Words(
        values,
        np.cumsum([0, *map(len, words)], dtype=np.int32),
        np.array([*map(_letters, lower)], np.int64),
        np.array([len(sentence) - sentence.count(" ") for sentence in lower], np.int64),
        np.concatenate([[0], np.cumsum(pc.binary_length(values).to_numpy(), dtype=np.int64)]),
        np.concatenate([[np.uint64(0)], np.cumsum(content * _powers(_BASE, len(content)), dtype=np.uint64)]),
    )


def _letters(text: str) -> int:
    if text.isascii():  # the same in a tenth of the time
        return len(text.encode("ascii").translate(None, _NO_LETTERS))
    return sum(map(str.isalpha, text))


def encoded(lists: pa.ListArray) -> pa.ListArray:
    """Encode `lists` of words as indices of a dictionary, so that each distinct word is processed once."""
    return pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())


def without_stop_words(lists: pa.ListArray, language: str) -> pa.ListArray:
    """Remove the stop words of `language` from encoded `lists`; a language without a list keeps all words."""
    words = lists.values
    kept = ~are_stop_words(words.dictionary, language).to_numpy(zero_copy_only=False)[words.indices.to_numpy()]
    # As numbers first: adding up truth values takes NumPy ten times as long.
    before = np.concatenate([[0], np.cumsum(kept.astype(np.int32))])
    offsets = pa.array(before[lists.offsets.to_numpy()].astype(np.int32))
    indices = words.indices.filter(pa.array(kept))
    return pa.ListArray.from_arrays(offsets, pa.DictionaryArray.from_arrays(indices, words.dictionary))


def are_stop_words(words: pa.StringArray, language: str) -> pa.BooleanArray:
    """Mark the `words` that are stop words of `language`."""
    return pc.is_in(words, pa.array(sorted(STOP_WORDS.get(language, ())), pa.string()))


@cache
def _power_table(base: int, size: int) -> NDArray[np.uint64]:
    powers = np.full(size, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers)


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    """Compute the powers 0 ... count - 1 of `base` modulo 2^64."""
    return _power_table(base, 1 << max(count, 1).bit_length())[:count]


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits (the finaliser of MurmurHash3), since the low bits of a sum of powers vary little."""
    for _ in range(2):
        hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return hashes ^ (hashes >> np.uint64(33))
