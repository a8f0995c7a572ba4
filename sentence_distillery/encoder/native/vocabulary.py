"""The vocabulary of a WordPiece tokenizer as this library makes it, which the native core looks up."""

from dataclasses import dataclass
from typing import Final

FULL: Final = 0  # the normalizer of this library
BERT: Final = 1  # that of BERT alone


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What decides how a text is cut.

    Attributes:
        words: The tokens by id; the first one is the unknown token.
        terms: The ids of added tokens, which are found before a text is split.
        longest_word: The most characters of a word that is cut; a longer one is unknown.
        normalizer: FULL or BERT; None if the native core has no table of it.
    """

    words: list[str]
    terms: list[int]
    longest_word: int
    normalizer: int | None
