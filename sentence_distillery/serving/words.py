"""Show how a student reads a text: known words, words cut into pieces, and unknown words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import CONTINUATION, is_punctuation

Reading = Literal["known", "cut", "unknown"]


@dataclass(frozen=True)
class Word:
    """A word as it is written in the text, and its tokens if it is cut."""

    text: str
    reading: Reading
    pieces: tuple[str, ...] = ()


def read_words(encoder: StaticEncoder, text: str) -> list[Word]:
    """Tell how a student reads each word of a text, in their order; punctuation that has no vector is left out.

    Example:
        >>> from sentence_distillery import load
        >>> [(word.text, word.reading) for word in read_words(load(), "The storm, flabbergastingly 𓀀.")]
        [('The', 'known'), ('storm', 'known'), ('flabbergastingly', 'cut'), ('𓀀', 'unknown')]
    """
    return list(_words(encoder, text))


def _words(encoder: StaticEncoder, text: str) -> Iterator[Word]:
    encoding = encoder.tokenizer.encode(text, add_special_tokens=False)
    starts = 0

    def number(place: int) -> int:
        """Count words; a continuation belongs to the word before it."""
        nonlocal starts
        starts += not encoding.tokens[place].startswith(CONTINUATION)
        return starts

    # Punctuation without a vector is not a word that the student fails to know.
    for _, group in groupby(range(len(encoding.ids)), number):
        places = list(group)
        written = text[encoding.offsets[places[0]][0] : encoding.offsets[places[-1]][1]]
        if all(encoding.ids[place] == encoder.unknown_id for place in places):
            if not is_punctuation(written):
                yield Word(written, "unknown")
        elif len(places) == 1:
            yield Word(written, "known")
        else:
            yield Word(written, "cut", tuple(encoding.tokens[place] for place in places))
