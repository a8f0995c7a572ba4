"""The vocabulary of a student: the frequent words and terms of a corpus, and the pieces of all other words.

Terms are words that are written with signs, such as c++, .net, 3.14, covid-19, #metoo, or an emoji.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from tokenizers import Tokenizer, trainers
from tokenizers.models import WordPiece

from sentence_distillery.encoder.native.characters import CONTINUATION, LONGEST, TERM, UNKNOWN, is_emoji, is_term
from sentence_distillery.encoder.tokenizer import NORMALIZER, UNSPACED, bare, is_word, static_tokenizer, words
from sentence_distillery.io.unicode import whole_surrogates

LEARNT_PIECES: Final = 10_000
_RUN: Final = re.compile(f"{UNSPACED.pattern}+")
_JOINED_WORDS: Final = re.compile(r"[^\W\d_]{3,}(?:[-/][^\W\d_]{3,})+")  # long-term: its words say enough
_NUMBERS: Final = 5  # times as frequent as another term a number must be: there are so many
_RATE: Final = 0.1  # a term is kept if at least so many of its rarest part's occurrences are in the term


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of all texts.

    >>> count_words(["The storm.", "A storm!"])["storm"]
    2
    """
    return Counter(chain.from_iterable(map(words, texts)))


def count_terms(texts: Iterable[str]) -> Counter[str]:
    """Count the possible terms, in lower case: words with signs in, before or after them, and emoji.

    >>> sorted(count_terms(["C++ or C#, not .NET.", "A long-term e-mail: 3.14 😀!"]))
    ['.net', '3.14', 'c#', 'c++', 'e-mail', 'long-term', '😀']
    """
    found = chain.from_iterable(TERM.findall(NORMALIZER.normalize_str(text)) for text in texts)
    return Counter(term for term in found if not term.isalnum())


def choose_terms(terms: Mapping[str, int], counts: Mapping[str, int], minimum_count: int) -> dict[str, int]:
    """Choose the terms that say something which their words do not, most frequent first, of the counts of a text.

    A term has to be frequent. Two ordinary words with a hyphen or a slash are left to their own vectors. And a term
    must be no accident of two frequent words, as "it.the" is: a tenth of the occurrences of its rarest part must be in
    the term. Numbers are exempt, since their parts say nothing, but they must be five times as frequent.

    >>> words = {"c": 9, "it": 90, "the": 99, "3": 99}
    >>> choose_terms({"c#": 5, "it.the": 5, "long-term": 5, "3.14": 15, "2.7": 5}, words, 3)
    {'3.14': 15, 'c#': 5}
    """
    ordered = sorted(terms.items(), key=lambda entry: (-entry[1], entry[0]))
    return {
        term: count
        for term, count in ordered
        if len(term) <= LONGEST
        and not _JOINED_WORDS.fullmatch(term)
        and _tells_more(term, count, counts, minimum_count)
    }


def _tells_more(term: str, count: int, counts: Mapping[str, int], minimum_count: int) -> bool:
    """Tell whether a term is frequent, and no accident of its parts."""
    parts = words(term)
    if all(part.isdigit() for part in parts):
        return count >= _NUMBERS * minimum_count
    return count >= max(minimum_count, _RATE * min(counts.get(part, 0) for part in parts))


def with_terms(counts: Mapping[str, int], terms: Mapping[str, int]) -> dict[str, int]:
    """Count words and terms: an occurrence in a term is not one of the term's words.

    A word in which an emoji is stuck is left out, since the emoji is cut off.

    >>> with_terms({"covid": 5, "19": 9, "storm😀": 3}, {"covid-19": 4, "😀": 3})
    {'covid': 1, '19': 5, 'covid-19': 4, '😀': 3}
    """
    emoji = {term for term in terms if is_emoji(term)}
    left = {word: count for word, count in counts.items() if word.isascii() or emoji.isdisjoint(word)}
    for term, count in terms.items():
        for part in words(term):
            if part in left:
                left[part] = max(left[part] - count, 0)
    return left | dict(terms)


def own_tokens(given: Iterable[str]) -> list[str]:
    """Normalise words, terms and emoji that a user wants in a vocabulary: in lower case, without accents, each once.

    Raises TypeError if one is not a str, ValueError if one is cut into several tokens before it is looked up, or is
    nothing.

    >>> own_tokens(["Müller", "C++", "müller"])
    ['muller', 'c++']
    """
    found: dict[str, None] = {}
    for token in given:
        if not isinstance(token, str):
            raise TypeError(f"A token of a vocabulary is a str, not {type(token).__name__} ({token!r}).")

        # A text is looked up as the normalizer leaves it, so a token has to be in that form, too.
        normal = NORMALIZER.normalize_str(whole_surrogates(token)).strip()
        if not (is_word(normal) or is_term(normal)):
            parts = ", ".join(words(token)) or "no word"
            raise ValueError(
                f"{token!r} cannot be one token: a text with it is cut into {parts}. Give these, or leave it out."
            )
        found[normal] = None
    return list(found)


def word_pieces(teacher: Tokenizer | None, counts: Counter[str]) -> list[str]:
    """Take the teacher's word pieces, or learn pieces from the words of the corpus if its tokenizer is None.

    Pieces that no text can match (special tokens, capitals, punctuation) are left out. Words that are written without
    blanks are cut into the teacher's pieces, whatever its tokenizer.

    >>> word_pieces(static_tokenizer(["[UNK]", "storm", "Port", "##s"]), Counter())
    ['storm', '##s']
    """
    if teacher is not None and isinstance(teacher.model, WordPiece):
        vocabulary = teacher.get_vocab()
        pieces = sorted(vocabulary, key=lambda piece: vocabulary[piece])
    else:
        learnt = Tokenizer(WordPiece(unk_token=UNKNOWN))
        # The trainer numbers continuations as it meets them, in no fixed order, and breaks ties by their numbers.
        characters = sorted({f"{CONTINUATION}{character}" for word in counts for character in word[1:]})
        trainer = trainers.WordPieceTrainer(vocab_size=LEARNT_PIECES, show_progress=False, special_tokens=characters)
        learnt.train_from_iterator(sorted(counts), trainer)
        pieces = sorted(learnt.get_vocab())
    kept = [piece for piece in pieces if is_word(bare(piece))]
    unspaced = _unspaced_pieces(teacher, counts)
    if teacher is not None and unspaced:  # learnt pieces join adjacent words
        kept = [piece for piece in kept if not UNSPACED.search(piece)]
    return list(dict.fromkeys([*kept, *unspaced]))


def _unspaced_pieces(teacher: Tokenizer | None, counts: Mapping[str, int]) -> list[str]:
    """Return the teacher's pieces into which words without blanks are cut, the longest first, and their characters.

    The teacher's own text is taken, without marks of its tokenizer. A piece may begin a word or continue it.
    """
    runs = sorted(word for word in counts if UNSPACED.search(word))
    if not runs:
        return []
    characters = {character for word in runs for character in word}
    texts = set() if teacher is None else {_plain(teacher.decode([place])) for place in range(teacher.get_vocab_size())}

    # Candidates are all characters, and what the teacher takes for a piece of a run.
    bodies = sorted(characters | {text for text in texts if _RUN.fullmatch(text) and is_word(text)})
    every = [*bodies, *(f"{CONTINUATION}{body}" for body in bodies)]

    # Those that no run is cut into would be rows that nothing reads.
    cut = static_tokenizer([UNKNOWN, *every])
    used = {token for encoding in cut.encode_batch(runs) for token in encoding.tokens}
    alone = characters | {f"{CONTINUATION}{character}" for character in characters}
    return [piece for piece in every if piece in used | alone]


def _plain(piece: str) -> str:
    return NORMALIZER.normalize_str(bare(piece.strip())).strip()
