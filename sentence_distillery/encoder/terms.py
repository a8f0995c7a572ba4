"""Where the terms of a student may stand in a text, for the fast path of the encoder.

The fast path replaces punctuation by blanks, and a term is written with punctuation. So words that might hold a term
are put back as they were, and are then looked up whole, or cut by the tokenizer:

    kept      the c++ of today, e-mail        terms: c++, covid-19
    blanked   the c   of today  e mail
    restored  the c++ of today  e mail        no term has a hyphen between e and m

A sign and the bytes next to it decide. They may put back a word without a term, which the tokenizer then cuts as ever;
they never miss one.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.tokenizer import is_emoji, is_punctuation

_BYTES = 256
_BLANK = ord(" ")


class Terms:
    """The terms of a student: `emoji` is a table for str.translate that sets emoji apart.

    Args:
        terms: The terms, in lower case.

    Example:
        >>> terms = Terms(["c++", "covid-19", "😀"])
        >>> terms.restore(b"the c++, e-mail\\n", b"the c    e mail ")
        b'the c++, e mail '
        >>> "a😀".translate(terms.emoji)
        'a 😀 '
    """

    def __init__(self, terms: Iterable[str]) -> None:
        listed = list(terms)
        self.emoji = {ord(term): f" {term} " for term in listed if is_emoji(term)}
        signed = [term for term in listed if not is_emoji(term)]
        signs = sorted({term[_first_sign(term)] for term in signed})
        self._number = np.zeros(_BYTES, np.uint8)  # of a byte that is a sign, 0 for any other
        for number, sign in enumerate(signs, start=1):
            self._number[ord(sign)] = number
        self._around = np.zeros((_BYTES, len(signs) + 1, _BYTES), np.bool_)
        for term in signed:
            self._allow(term)

    def _allow(self, term: str) -> None:
        """Note the bytes on either side of a term's first sign; outside of the term, any byte."""
        place = _first_sign(term)
        before = slice(None) if place == 0 else term[:place].encode()[-1]
        after = slice(None) if place + 1 == len(term) else term[place + 1 :].encode()[0]
        self._around[before, self._number[ord(term[place])], after] = True

    def restore(self, kept: bytes, blanked: bytes) -> bytes:
        """Put back the words in which a term may stand.

        Args:
            kept: Normalised text that ends with a line feed.
            blanked: The same bytes with blanks for punctuation and white space.

        Returns:
            `blanked`, with words of `kept`.
        """
        codes = np.frombuffer(kept, np.uint8)
        places = np.flatnonzero(self._number[codes])
        hits = places[self._around[codes[places - 1], self._number[codes[places]], codes[places + 1]]]
        if len(hits) == 0:
            return blanked
        spaces = np.flatnonzero(codes <= _BLANK)
        rows = np.unique(np.searchsorted(spaces, hits))
        starts = np.where(rows > 0, spaces[rows - 1] + 1, 0)
        inside = _ranges(starts, spaces[rows] - starts)
        restored = np.frombuffer(blanked, np.uint8).copy()
        restored[inside] = codes[inside]
        return restored.tobytes()


def _first_sign(term: str) -> int:
    """Return the place of the first sign of a term; all its signs are in ASCII."""
    return next(place for place, character in enumerate(term) if is_punctuation(character))


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """List start, start + 1, ... of each range, one range after the other."""
    ends = np.cumsum(lengths)
    offsets: NDArray[np.int64] = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1])
    return offsets
