"""Further terms in the lexical channel: which there are, and that without any the vectors are the encoder's own."""

import numpy as np
import pytest

from measurements.channel_terms import IDF_OF_UNKNOWN, SHARE_OF_PAIRS, WithTerms, pairs_of_words, unknown_words
from sentence_distillery import load
from sentence_distillery.encoder.static_encoder import StaticEncoder

TEXTS = ["Trebuquets, the qzxwvy storm.", "storms in a trebuquet", "", "the storm " * 40]


@pytest.fixture(scope="module")
def search() -> StaticEncoder:
    return load("released-search")


def with_terms(search: StaticEncoder, *terms: object) -> WithTerms:
    return WithTerms(load(lexical_weight=0), search.lexical, terms)  # type: ignore[arg-type]


def test_without_further_terms_it_is_the_encoder(search: StaticEncoder) -> None:
    found = with_terms(search)
    np.testing.assert_allclose(found.encode(TEXTS), search.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(found.encode_document(TEXTS), search.encode_document(TEXTS), atol=1e-6)


def test_the_terms_of_a_text(search: StaticEncoder) -> None:
    (words,) = with_terms(search)._words(TEXTS[:1])
    assert [word for word, _ in words] == ["Trebuquets", ",", "the", "qzxwvy", "storm", "."]
    assert list(unknown_words(words)) == [("unknown trebuquet", IDF_OF_UNKNOWN), ("unknown qzxwvi", IDF_OF_UNKNOWN)]
    assert search.lexical is not None
    the, storm = search.token_ids(["the storm"]).ids.tolist()
    (pair,) = pairs_of_words(search.lexical)([("the", [the]), ("storm", [storm]), ("qz", [5, 6])])
    assert pair[1] == pytest.approx(SHARE_OF_PAIRS * search.lexical.idf[[the, storm]].mean())


def test_a_shared_unknown_word_brings_texts_together(search: StaticEncoder) -> None:
    """More than another unknown word of the same beginning, whose first pieces are shared, too."""
    texts = ["a trebuquet", "many trebuquets", "many trebuquons"]
    gains = []
    for encoder in (with_terms(search), with_terms(search, unknown_words)):
        one, same, other = encoder.encode_query(texts)
        gains.append(one @ same - one @ other)
    assert gains[1] > gains[0] + 0.05
