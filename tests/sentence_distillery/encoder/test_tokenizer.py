"""Words, word pieces and the two tokenizers: by hand, and equal to the corpus' own tokenization."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reproductions.paper1.word_vectors.tokenizer import content_tokenizer
from sentence_distillery.corpus.text import STOP_WORDS, content_tokens, tokenize
from sentence_distillery.encoder.native.characters import LONGEST, LONGEST_RUN
from sentence_distillery.encoder.tokenizer import (
    UNKNOWN,
    static_tokenizer,
    words,
)

# A capital sigma at a word's end becomes σ in Rust and ς in Python; surrogates are no text for either.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="Σ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't panic!", ["don", "t", "panic"]),
        ("Café—ÉTÉ", ["cafe", "ete"]),
        ("C$5 a_b", ["c", "5", "a", "b"]),
        ("漢字 ok", ["漢", "字", "ok"]),
        ("[UNK] ##ing", ["unk", "ing"]),
        ("\x00\ufffd \t\n", []),
        ("½ ❤", ["1", "2", "❤"]),
        ("ﬁrm Ｆｕｌｌ x² Intel™ 5½", ["firm", "full", "x2", "intel", "5", "1", "2"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_word_longer_than_wordpiece_takes_is_left_out() -> None:
    assert words("a" * LONGEST) == ["a" * LONGEST]
    assert words("a" * (LONGEST + 1)) == []
    for length, expected in ((LONGEST_RUN, 1), (LONGEST_RUN + 1, 0)):  # without blanks between words
        assert len(words("ก" * length)) == expected


def test_static_tokenizer_knows_whole_words_and_cuts_others() -> None:
    tokenizer = static_tokenizer([UNKNOWN, "the", "storm", "storms", "un", "##known", "##s"])
    assert tokenizer.encode("The storms").tokens == ["the", "storms"]
    assert tokenizer.encode("the unknowns").tokens == ["the", "un", "##known", "##s"]
    assert tokenizer.encode("storm, qz").tokens == ["storm", UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("make", [static_tokenizer, lambda vocabulary: content_tokenizer(vocabulary, [])])
def test_the_unknown_token_comes_first(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r"vocabulary\[0\] is 'storm', expected '\[UNK\]'"):
        make(["storm", UNKNOWN])


def content_words(text: str) -> list[str]:
    """The content words of `text` as the tokenizer cuts it, whatever the vocabulary."""
    tokenizer = content_tokenizer([UNKNOWN], STOP_WORDS["en"])
    assert tokenizer.pre_tokenizer is not None
    assert tokenizer.normalizer is not None
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))]


@given(st.text(CHARACTERS) | st.text(st.sampled_from("'s’ tThe_a½")))
@example("it's's")
@example("a's'b")
@example("the's")
@example("The firm's report: it's O'Neill's, they’re late")
@example("½ ² Ⅷ ㊀ naïve cafe\u0301 snake_case")
@example("İstanbul DŽ ǅ ẞ")
def test_content_tokenizer_equals_the_corpus(text: str) -> None:
    assert content_words(text) == content_tokens(tokenize(text))


def test_letters_marks_and_digits_are_those_of_python() -> None:
    """Every assigned character; a later Unicode in one of the two may know more."""
    codes = (code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cs", "Cn"))
    text = " ".join(map(chr, codes)).replace("'", "").replace("’", "")
    assert content_words(text) == content_tokens(tokenize(text))


def test_the_known_difference_is_a_final_sigma() -> None:
    assert content_words("ΛΟΓΟΣ") == ["λογοσ"]
    assert tokenize("ΛΟΓΟΣ") == ["λογος"]
