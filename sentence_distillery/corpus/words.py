"""The words of many sentences at once, equal to those of `text.tokenize`, by NumPy and Arrow instead of a loop.

All sentences are in one buffer, one per line, in lower case and as UTF-8. Every byte has the class of its character; a
word is a run of letters, their marks and digits, and an apostrophe joins two runs or, with a closing s, is cut off:

    line        t h e   f i r m ' s   d o n ' t
    word        1 1 1 0 1 1 1 1 0 0 0 1 1 1 1 1      -> the, firm, don't

A sum of powers over the bytes of the words (Karp and Rabin 1987) hashes any run of words in two look-ups:

    S[n] = sum over i < n of c_i b^i          hash of the bytes m ... n-1 = (S[n] - S[m]) b^-m          modulo 2^64

b is odd, so that it has an inverse, and the hash does not depend on the position of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.corpus.text import STOP_WORDS, is_mark

# _IN_WORD: letters, marks and digits; _REST: all bytes of a character but its first one, which bears its other classes.
_LETTER, _IN_WORD, _SPACE, _REST = 1, 2, 4, 8
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 2**64)
_PLANE = 0x10000
_APOSTROPHE, _S, _LINE_END = (ord(character) for character in "'s\n")


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
    """Find the words of `sentences`, none of which contains a line end."""
    lines = [sentence.lower().replace("’", "'") + "\n" for sentence in sentences]  # one by one: ASCII is much faster
    content = np.frombuffer("".join(lines).encode("utf-8"), np.uint8)
    classes = _classes(content, "".join(line for line in lines if not line.isascii()))
    word = _in_words(content, classes)
    ends = np.flatnonzero(content == _LINE_END)
    kept = content[word]

    # A word begins and ends where the mark of its bytes changes.
    edges = np.flatnonzero(np.diff(word, prepend=False))  # begin and end of each word, in turns; no word ends the text
    first = edges[::2]
    starts = np.concatenate([[0], np.cumsum(edges[1::2] - first)])
    return Words(
        pa.StringArray.from_buffers(len(first), pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(kept.tobytes())),
        np.concatenate([[0], np.searchsorted(first, ends)]).astype(np.int32),
        _counts(classes & _LETTER, ends),
        _counts(classes & (_SPACE | _REST) == 0, ends),
        starts,
        np.concatenate([[np.uint64(0)], np.cumsum(kept * _powers(_BASE, len(kept)), dtype=np.uint64)]),
    )


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


def _classes(content: NDArray[np.uint8], rare: str) -> NDArray[np.uint8]:
    """Classify the bytes of `content`, (bytes,); `rare` has its non-ASCII characters in order."""
    classes = _ascii_classes()[content]
    codes = np.frombuffer(rare.encode("utf-32-le"), np.uint32)
    codes = codes[codes > 0x7F]
    character_classes = _plane_classes()[np.minimum(codes, _PLANE)]
    for place in np.flatnonzero(codes >= _PLANE):
        character_classes[place] = _class(int(codes[place]))

    # The first byte of a character bears its class, the others only whether they are in a word.
    firsts = np.flatnonzero(content >= 0xC0)
    classes[firsts] = character_classes
    for further, least in enumerate((0x80, 0x800, 0x10000), start=1):
        longer = codes >= least
        classes[firsts[longer] + further] = character_classes[longer] & _IN_WORD | _REST
    return classes


def _class(code: int) -> int:
    character = chr(code)
    space = _SPACE if character in " \n" else 0
    return (
        space | (_LETTER if character.isalpha() else 0) | (_IN_WORD if character.isalnum() or is_mark(character) else 0)
    )


@cache
def _ascii_classes() -> NDArray[np.uint8]:
    return np.array([*map(_class, range(128)), *[0] * 128], np.uint8)


@cache
def _plane_classes() -> NDArray[np.uint8]:
    """Classify all but rare characters, (_PLANE + 1,); emoji and the like would take five times as long."""
    return np.array([*map(_class, range(_PLANE)), 0], np.uint8)


def _in_words(content: NDArray[np.uint8], classes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mark the bytes, (bytes,) bool, that belong to a word."""
    word: NDArray[np.bool_] = classes & _IN_WORD != 0
    places = np.flatnonzero(content == _APOSTROPHE)
    places = places[
        word[places - 1] & word[places + 1]
    ]  # the last character is a line end, so no index leaves the text

    # A closing s is cut off, as in the firm's.
    clitic = (content[places + 1] == _S) & ~word[places + 2]
    joins = ~clitic
    for again in np.flatnonzero(clitic[:-1] & (np.diff(places) == 2)) + 1:
        if clitic[again - 1]:  # an s that was cut off precedes this apostrophe: x's's, x's'y
            clitic[again] = joins[again] = False
    word[places[clitic] + 1] = False
    word[places[joins]] = True
    return word


def _counts(flags: NDArray[np.generic], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the flagged bytes of each line, (lines,)."""
    starts = np.concatenate([[0], ends[:-1] + 1])
    return np.add.reduceat(flags != 0, starts, dtype=np.int64) if len(ends) else ends


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
