"""Which words, terms and pieces of words a student's vocabulary has."""

from collections import Counter

from tokenizers import Tokenizer
from tokenizers.models import BPE, WordPiece

from sentence_distillery.distillation.vocabulary import choose_terms, count_terms, count_words, with_terms, word_pieces
from sentence_distillery.encoder.tokenizer import bare, words


def test_count_words() -> None:
    assert count_words(["The storm.", "A storm"]) == Counter({"storm": 2, "the": 1, "a": 1})


def test_pieces_of_a_wordpiece_teacher_are_its_own() -> None:
    vocabulary = ["[PAD]", "[UNK]", "storm", "##s", "Storm", "!", "##!", "é"]
    teacher = Tokenizer(WordPiece({piece: index for index, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    assert word_pieces(teacher, Counter()) == ["storm", "##s"]


def test_pieces_for_another_teacher_are_learnt_from_the_corpus() -> None:
    pieces = word_pieces(Tokenizer(BPE()), count_words(["storm storms stormy"]))
    assert {"s", "##s", "storm"} <= set(pieces)
    assert all(words(bare(piece)) == [bare(piece)] for piece in pieces)


def test_the_corpus_decides() -> None:
    """Frequent terms stay whole; two ordinary words, an accident, and what is rare do not."""
    texts = [
        *["C# and C++ run on .NET 3.14."] * 4,
        *["Pi is 3.14, not 2.7"] * 11,
        *["The long-term cost of it.the plan"] * 4,
        *["it was the cost of the plan, and it was it"] * 20,
        *["Covid-19 😀 #MeToo"] * 3,
        "An e-mail about Covid",
    ]
    found = count_words(texts)
    terms = choose_terms(count_terms(texts), found, 3)
    assert set(terms) == {"c#", "c++", ".net", "3.14", "covid-19", "😀", "#metoo"}
    counts = with_terms(found, terms)
    assert (found["covid"], counts["covid"], counts["covid-19"], counts["19"]) == (4, 1, 3, 0)
    assert choose_terms(count_terms(texts), found, 5) == {}
    assert with_terms(found, {}) == found == Counter(found)
