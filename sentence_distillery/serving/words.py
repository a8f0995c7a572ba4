"""Show how a student reads a text: known words, words cut into pieces, and unknown words."""

from dataclasses import dataclass
from itertools import accumulate, groupby
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
    encoding = encoder.tokenizer.encode(text, add_special_tokens=False)
    # The number of the word of each token; a continuation belongs to the word before it
    numbers = list(accumulate(not token.startswith(CONTINUATION) for token in encoding.tokens))
    words = []

    # Punctuation without a vector is not a word that the student fails to know.
    for _, group in groupby(range(len(numbers)), numbers.__getitem__):
        places = list(group)
        written = text[encoding.offsets[places[0]][0] : encoding.offsets[places[-1]][1]]
        if all(encoding.ids[place] == encoder.unknown_id for place in places):
            if not is_punctuation(written):
                words.append(Word(written, "unknown"))
        elif len(places) == 1:
            words.append(Word(written, "known"))
        else:
            words.append(Word(written, "cut", tuple(encoding.tokens[place] for place in places)))
    return words
