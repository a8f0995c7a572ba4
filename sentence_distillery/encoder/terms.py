"""Find the possible terms of a student in a text, for the fast path of the encoder.

The fast path replaces punctuation by blanks, and a term is written with punctuation. So its signs get a mark instead,
and words that might hold a term are put back as they were; they are then looked up whole, or cut by the tokenizer:

    text      The C++, of today, e-mail        terms: c++, covid-19
    marked    the c!!  of today  e!mail
    restored  the c++  of today  e mail        no term has a hyphen between e and ma

The two characters on either side of a sign decide. They may put back a word without a term, which the tokenizer then
cuts as ever; they never miss one.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.tokenizer import is_emoji, is_punctuation

_BYTES = 256
_BLANK = ord(" ")
_MARK = 1  # a control, which no normalised text has
_LOWER = np.frombuffer(bytes(range(_BYTES)).lower(), np.uint8)
_IN_WORDS = b"0123456789abcdefghijklmnopqrstuvwxyz_"
_KINDS = len(_IN_WORDS) + 1  # each of them, and 0 for any other byte
_MOST_TRIMMED = 4  # signs at either end of a word; more of them stay, which changes no token
_LONG_WORD = 32  # characters
_ANY = slice(None)


class Terms:
    """The terms of a student: `emoji` is a table for str.translate that sets emoji apart.

    Args:
        terms: The terms, in lower case.

    Example:
        >>> terms = Terms(["c++", "covid-19", "😀"])
        >>> text = b"the C++, e-mail\\n"
        >>> terms.restore(text, text.translate(terms.marked(bytes(range(256)).lower())))
        b'the c++, e mail\\n'
        >>> "a😀".translate(terms.emoji)
        'a 😀 '
    """

    def __init__(self, terms: Iterable[str]) -> None:
        listed = list(terms)
        self.emoji = {ord(term): f" {term} " for term in listed if is_emoji(term)}
        signed = [term for term in listed if not is_emoji(term)]
        signs = sorted({term[_first_sign(term)] for term in signed})
        self._sign = np.zeros(_BYTES, np.uint16)  # a bit for each sign, 0 for any other byte
        for number, sign in enumerate(signs):
            self._sign[ord(sign)] = 1 << number
        self._kind = np.zeros(_BYTES, np.uint8)
        self._kind[np.frombuffer(_IN_WORDS, np.uint8)] = np.arange(1, _KINDS)
        self._kind = self._kind[_LOWER]
        self._around = np.zeros((_KINDS,) * 4, np.uint16)  # the signs that a term has between these four
        for term in signed:
            self._allow(term)
        self._before = _idle({term[0] for term in signed})
        self._after = _idle({term[-1] for term in signed})

    def _allow(self, term: str) -> None:
        """Note the two characters before and after a term's first sign; a term ends where no letter or digit follows.

        Beyond that end any character will do.
        """
        place = _first_sign(term)
        kinds = [0, *(self._kind_of(character) for character in term), 0]
        at = place + 1
        around = tuple(kinds[at + step] if 0 <= at + step < len(kinds) else _ANY for step in (-2, -1, 1, 2))
        self._around[around] |= self._sign[ord(term[place])]

    def _kind_of(self, character: str) -> int:
        return int(self._kind[ord(character)]) if character.isascii() else 0

    def marked(self, table: bytes) -> bytes:
        """Return a byte table like `table`, by which `restore` finds the signs of terms."""
        return np.where(self._sign, np.uint8(_MARK), np.frombuffer(table, np.uint8)).tobytes()

    def restore(self, text: bytes, marked: bytes) -> bytes:
        """Put back the words that may contain a term, in lower case.

        Args:
            text: Text that ends with a line feed, normalised but for the case of ASCII.
            marked: The same bytes, translated by `marked`, with blanks for other punctuation and white space.

        Returns:
            `marked`, with words of `text`, and blanks for other marks.
        """
        codes = np.frombuffer(text, np.uint8)
        restored = np.frombuffer(marked, np.uint8).copy()
        places = np.flatnonzero(restored == _MARK)
        restored[places] = _BLANK
        # Beyond either end there is the line feed, whose place is -1, too
        around = np.maximum(places - 2, -1), places - 1, places + 1, np.minimum(places + 2, len(codes) - 1)
        signs = self._around[tuple(self._kind[codes[at]] for at in around)]
        hits = places[signs & self._sign[codes[places]] != 0]
        if len(hits) == 0:
            return restored.tobytes()
        starts = _reached(codes, hits, -1) + 1
        first = np.diff(starts, prepend=-1) > 0  # of the hits in a word
        starts, stops = self._trimmed(codes, starts[first], _reached(codes, hits[first], 1))
        inside = _ranges(starts, stops - starts)
        restored[inside] = _LOWER[codes[inside]]
        return restored.tobytes()

    def _trimmed(
        self, codes: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Leave out punctuation at the ends of words with which no term begins or ends; each word holds a sign."""
        for _ in range(_MOST_TRIMMED):
            starts = starts + (self._before[codes[starts]] & (starts < stops - 1))
            stops = stops - (self._after[codes[stops - 1]] & (starts < stops - 1))
        return starts, stops


def _idle(used: set[str]) -> NDArray[np.bool_]:
    """Mark the punctuation of ASCII that is not used, (256,) bool; _ joins words for the tokenizer, so it is not."""
    marks = [code for code in range(128) if is_punctuation(chr(code)) and chr(code) not in used | {"_"}]
    table = np.zeros(_BYTES, np.bool_)
    table[marks] = True
    return table


def _first_sign(term: str) -> int:
    """Return the place of the first sign of a term; all its signs are in ASCII."""
    return next(place for place, character in enumerate(term) if is_punctuation(character))


def _reached(codes: NDArray[np.uint8], places: NDArray[np.int64], step: int) -> NDArray[np.int64]:
    """Go from each place in steps of 1 or -1 to the first white space; before all there is the last line feed, -1."""
    reached, going = places.copy(), np.arange(len(places))
    for _ in range(_LONG_WORD):
        going = going[codes[reached[going]] > _BLANK]
        if not going.size:
            return reached
        reached[going] += step
    spaces = np.append(-1, np.flatnonzero(codes <= _BLANK))  # in long words so many steps would take long
    reached[going] = spaces[np.searchsorted(spaces, places[going]) - (step < 0)]
    return reached


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """List start, start + 1, ... of each range, one range after the other."""
    ends = np.cumsum(lengths)
    offsets: NDArray[np.int64] = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1])
    return offsets
