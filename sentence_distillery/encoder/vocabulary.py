"""The vocabulary of a WordPiece tokenizer as this library makes it, which the native core looks up."""

from dataclasses import dataclass

from sentence_distillery.encoder.tokenizer import is_emoji, is_punctuation


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What decides how a text is cut.

    Attributes:
        words: The tokens by id; the first one is the unknown token.
        terms: Those that are added tokens, which are found before a text is split.
        longest_word: The most characters of a word that is cut; a longer one is unknown.
        normalizer: `native.FULL` or `native.BERT`; None if the native core has no table of it.

    Example:
        >>> Vocabulary(["[UNK]", "c++", "storm"], ["c++"], 100, 0).term_ids()
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

    def terms_are_apart(self) -> bool:
        """Tell whether each term is an emoji, or has signs of ASCII and no other punctuation and none of the emoji.

        The native core finds only these: it searches around signs, and emoji by themselves.
        """
        emoji = {term for term in self.terms if is_emoji(term)}
        others = {character for term in self.terms if term not in emoji for character in term}
        return emoji.isdisjoint(others) and not any(
            is_punctuation(character) for character in others if not character.isascii()
        )
