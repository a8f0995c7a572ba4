"""The static student's tokens: a vector for each whole word, word pieces for the rest.

WordPiece is greedy, longest match first. With the frequent words of the corpus added to the word pieces, a known word
matches as a whole and only an unknown one is cut. So one ordinary `tokenizers` model does both, and any library can
load it:

    vocabulary: the, storm, storms, un, ##known, ##s
    "the storms"   -> the | storms          whole words
    "the unknowns" -> the | un ##known ##s  pieces

Text is normalised and split as BERT does it: lower case, accents off, punctuation apart. Punctuation has no vector: it
is left out of the vocabulary.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from tokenizers import Regex, Tokenizer, trainers
from tokenizers.models import WordLevel, WordPiece
from tokenizers.normalizers import BertNormalizer, Lowercase, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import BertPreTokenizer, Split
from tokenizers.pre_tokenizers import Sequence as PreTokenizers

UNKNOWN = "[UNK]"
UNKNOWN_ID = 0
CONTINUATION = "##"
LEARNT_PIECES = 10_000
LONGEST = 100  # characters; WordPiece treats a longer word as unknown, even if it is in the vocabulary

NORMALIZER = BertNormalizer(lowercase=True)
SPLITTER = BertPreTokenizer()


def words(text: str) -> list[str]:
    """Cut a text into lower-cased words; punctuation is left out, and so are words of more than 100 characters.

    Args:
        text: Any text.

    Returns:
        Its words in their order.

    Example:
        >>> words("Don't panic!")
        ['don', 't', 'panic']
    """
    marks = SPLITTER.pre_tokenize_str(NORMALIZER.normalize_str(text))
    return [mark for mark, _ in marks if len(mark) <= LONGEST and not is_punctuation(mark)]


def is_word(text: str) -> bool:
    """Tell whether `words` leaves a text unchanged.

    Args:
        text: Any text.

    Returns:
        True for one lower-cased word.

    Example:
        >>> is_word("storm"), is_word("Storm"), is_word("don't")
        (True, False, False)
    """
    return words(text) == [text]


@cache
def _stands_apart(character: str) -> bool:
    return len(SPLITTER.pre_tokenize_str(f"a{character}a")) == 3


def is_punctuation(mark: str) -> bool:
    """Tell whether BERT's splitter sets a character apart.

    Args:
        mark: Any text.

    Returns:
        True for one sign of ASCII, or of the categories P of a Unicode older than Python's.

    Example:
        >>> is_punctuation("!"), is_punctuation("a"), is_punctuation("!!")
        (True, False, False)
    """
    return len(mark) == 1 and _stands_apart(mark)


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of all texts.

    Args:
        texts: Any iterable of str.

    Returns:
        How often each word occurs.

    Example:
        >>> count_words(["The storm.", "A storm!"])["storm"]
        2
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words(text))
    return counts


def word_pieces(teacher: Tokenizer, counts: Counter[str]) -> list[str]:
    """Take the teacher's word pieces, or learn pieces from the corpus if the teacher has none.

    Args:
        teacher: The teacher's tokenizer.
        counts: The words of the corpus.

    Returns:
        Pieces, without those that no text can match (special tokens, capitals, punctuation).

    Example:
        >>> word_pieces(static_tokenizer(["[UNK]", "storm", "Port", "##s"]), Counter())
        ['storm', '##s']
    """
    if isinstance(teacher.model, WordPiece):
        vocabulary = teacher.get_vocab()
        pieces = sorted(vocabulary, key=lambda piece: vocabulary[piece])
    else:
        learnt = Tokenizer(WordPiece(unk_token=UNKNOWN))
        trainer = trainers.WordPieceTrainer(vocab_size=LEARNT_PIECES, show_progress=False)
        learnt.train_from_iterator(sorted(counts), trainer)
        pieces = sorted(learnt.get_vocab())
    return [piece for piece in pieces if is_word(bare(piece))]


def bare(piece: str) -> str:
    """Remove the mark of a continuation from a word piece.

    Args:
        piece: A word piece.

    Returns:
        Its characters.

    Example:
        >>> bare("##ing"), bare("storm")
        ('ing', 'storm')
    """
    return piece.removeprefix(CONTINUATION)


def static_tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    """Make a WordPiece tokenizer that adds no special tokens.

    Args:
        vocabulary: The tokens by id; the first one is the unknown token, `##` marks a continuation.

    Returns:
        The tokenizer.

    Raises:
        ValueError: If the first entry is not the unknown token.

    Example:
        >>> static_tokenizer(["[UNK]", "storm", "##s"]).encode("Storms!").tokens
        ['storm', '##s', '[UNK]']
    """
    if vocabulary[0] != UNKNOWN:
        raise ValueError(f"vocabulary[0] is '{vocabulary[0]}', expected '{UNKNOWN}'")
    tokenizer = Tokenizer(WordPiece({token: index for index, token in enumerate(vocabulary)}, unk_token=UNKNOWN))
    tokenizer.normalizer = NORMALIZER
    tokenizer.pre_tokenizer = SPLITTER
    return tokenizer


def content_tokenizer(vocabulary: Sequence[str], stop_words: Iterable[str]) -> Tokenizer:
    """Make a word-level tokenizer that cuts as `stages.corpus.text.content_tokens(tokenize(...))` does.

    One difference is left: a capital sigma that ends a word becomes σ here and ς in Python.

    Args:
        vocabulary: The tokens by id; the first one is the unknown token, for each content word that is not listed.
        stop_words: Words that are left out.

    Returns:
        The tokenizer.

    Raises:
        ValueError: If the first entry is not the unknown token.

    Example:
        >>> content_tokenizer(["[UNK]", "firm", "don't"], ["the"]).encode("The firm's ships don't.").tokens
        ['firm', '[UNK]', "don't"]
    """
    if vocabulary[0] != UNKNOWN:
        raise ValueError(f"vocabulary[0] is '{vocabulary[0]}', expected '{UNKNOWN}'")
    tokenizer = Tokenizer(WordLevel({token: index for index, token in enumerate(vocabulary)}, unk_token=UNKNOWN))
    letter = r"[\p{L}\p{N}]"  # Python's [^\W_]; the \w of Oniguruma has combining marks and lacks ½
    clitic = f"'s(?!{letter})"
    possessive = Regex(rf"{letter}+(?:(?!{clitic})'{letter}+)*\K{clitic}")
    word = Regex(f"{letter}+(?:'{letter}+)*")
    stop_word = Regex(f"^(?:{'|'.join(sorted(stop_words, reverse=True))})$")
    tokenizer.normalizer = Normalizers([Lowercase(), Replace("’", "'"), Replace(possessive, " ")])
    tokenizer.pre_tokenizer = PreTokenizers([Split(word, "removed", invert=True), Split(stop_word, "removed")])
    return tokenizer
