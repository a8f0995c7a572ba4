"""The static student's tokens: a vector for each whole word, word pieces for the rest.

WordPiece is greedy, longest match first. With the frequent words of the corpus added to the word pieces, a known word
matches as a whole and only an unknown one is cut. So one ordinary `tokenizers` model does both, and any library can
load it:

    vocabulary: the, storm, storms, un, ##known, ##s
    "the storms"   -> the | storms          whole words
    "the unknowns" -> the | un ##known ##s  pieces

Text is normalised and split as BERT does it: lower case, accents off, punctuation apart. Before that, NFKC replaces
ligatures, full-width forms and other compatibility characters. Punctuation has no vector: it is left out of the
vocabulary.

Terms are the exception: words that are written with signs, such as c++, .net, 3.14, covid-19, #metoo, or an emoji. A
term in the vocabulary is an added token of the tokenizer, which every library matches before it splits. It must stand
between characters that are not letters or digits; an emoji may stand anywhere.
"""

import re
from collections.abc import Sequence
from typing import Final

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer

from sentence_distillery.encoder.native.characters import CONTINUATION as CONTINUATION
from sentence_distillery.encoder.native.characters import LONGEST, LONGEST_RUN, normalizer
from sentence_distillery.encoder.native.characters import UNKNOWN as UNKNOWN
from sentence_distillery.encoder.native.characters import UNKNOWN_ID as UNKNOWN_ID
from sentence_distillery.encoder.native.characters import is_emoji as is_emoji
from sentence_distillery.encoder.native.characters import is_punctuation as is_punctuation
from sentence_distillery.encoder.native.characters import is_term as is_term

# Letters of languages that are written without blanks: Thai, Lao, Burmese, Khmer, kana. BERT cuts Chinese characters.
UNSPACED: Final = re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff]")

NORMALIZER = normalizer()
SPLITTER = BertPreTokenizer()


def words(text: str) -> list[str]:
    """Cut a text into lower-cased words; punctuation is left out, and so are words of more than 100 characters.

    What a language without blanks has between two signs is one word, of at most 400 characters.
    """
    marks = SPLITTER.pre_tokenize_str(NORMALIZER.normalize_str(text))
    return [mark for mark, _ in marks if _short(mark) and not is_punctuation(mark)]


def _short(word: str) -> bool:
    return len(word) <= LONGEST or (len(word) <= LONGEST_RUN and UNSPACED.search(word) is not None)


def is_word(text: str) -> bool:
    """Tell whether `words` leaves a text unchanged, so that it is one lower-cased word."""
    return words(text) == [text]


def bare(piece: str) -> str:
    """Remove the mark of a continuation from a word piece."""
    return piece.removeprefix(CONTINUATION)


def static_tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    """Make a WordPiece tokenizer that adds no special tokens, and knows the terms of its vocabulary.

    Args:
        vocabulary: The tokens by id; the first one is the unknown token, `##` marks a continuation.

    Returns:
        The tokenizer.

    Raises:
        ValueError: If the first entry is not the unknown token.

    Example:
        >>> static_tokenizer(["[UNK]", "storm", "##s"]).encode("Storms!").tokens
        ['storm', '##s', '[UNK]']
        >>> static_tokenizer(["[UNK]", "c#", "c"]).encode("C# or C").tokens
        ['c#', '[UNK]', 'c']
    """
    ids = numbered(vocabulary)
    unspaced = any(token.startswith(CONTINUATION) and UNSPACED.search(token) for token in vocabulary)
    longest = LONGEST_RUN if unspaced else LONGEST
    tokenizer = Tokenizer(WordPiece(ids, unk_token=UNKNOWN, max_input_chars_per_word=longest))
    tokenizer.normalizer = NORMALIZER
    tokenizer.pre_tokenizer = SPLITTER

    # Added last: they get the ids that they have in the vocabulary. Emoji may be next to letters, other terms may not.
    terms = filter(is_term, vocabulary)
    tokenizer.add_tokens([AddedToken(term, single_word=not is_emoji(term), normalized=True) for term in terms])
    return tokenizer


def numbered(vocabulary: Sequence[str]) -> dict[str, int]:
    """Return the id of each token; raises ValueError if the first one is not the unknown token."""
    if vocabulary[0] != UNKNOWN:
        raise ValueError(f"vocabulary[0] is '{vocabulary[0]}', expected '{UNKNOWN}'")
    return {token: index for index, token in enumerate(vocabulary)}
