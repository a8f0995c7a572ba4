"""The tokenizer of paper 1's student: whole words, without stop words, as the word vectors are trained on."""

from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import Sequence as PreTokenizers
from tokenizers.pre_tokenizers import Split

from sentence_distillery.encoder.tokenizer import UNKNOWN, numbered


def content_tokenizer(vocabulary: Sequence[str], stop_words: Iterable[str]) -> Tokenizer:
    """Make a word-level tokenizer that cuts as `corpus.text.content_tokens(tokenize(...))` does, stop words left out.

    One difference is left: a capital sigma that ends a word becomes σ here and ς in Python. Raises ValueError if the
    first entry of the vocabulary is not the unknown token, which each content word gets that is not listed.
    """
    tokenizer = Tokenizer(WordLevel(numbered(vocabulary), unk_token=UNKNOWN))
    # As in corpus.text, of which the \w of Oniguruma lacks ½; the code points left out select glyphs.
    letter = r"[\p{L}\p{N}\p{Mn}\p{Mc}&&[^\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]]"
    clitic = f"'s(?!{letter})"
    possessive = Regex(rf"{letter}+(?:(?!{clitic})'{letter}+)*\K{clitic}")
    word = Regex(f"{letter}+(?:'{letter}+)*")
    stop_word = Regex(f"^(?:{'|'.join(sorted(stop_words, reverse=True))})$")
    tokenizer.normalizer = Normalizers([Lowercase(), Replace("’", "'"), Replace(possessive, " ")])
    tokenizer.pre_tokenizer = PreTokenizers([Split(word, "removed", invert=True), Split(stop_word, "removed")])
    return tokenizer
