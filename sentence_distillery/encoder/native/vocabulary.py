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
        terms: Those that are added tokens, which are found before a text is split.
        longest_word: The most characters of a word that is cut; a longer one is unknown.
        normalizer: FULL or BERT; None if the native core has no table of it.

    Example:
        >>> Vocabulary(["[UNK]", "c++", "storm"], ["c++"], 100, FULL).term_ids()
        [1]
    """

    words: list[str]
    terms: list[str]
    longest_word: int
    normalizer: int | None

    def term_ids(self) -> list[int]:
        """List the ids of the terms."""
        ids = {word: number for number, word in enumerate(self.words)} if self.terms else {}
        return [ids[term] for term in self.terms]
