"""The lexical channel of a student: document frequencies, and texts that share words."""

import numpy as np
import pytest

from sentence_distillery.distillation.lexical import inverse_document_frequencies, with_lexical_channel
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import TokenIds
from tests.sentence_distillery.distillation.conftest import deep_encoder


def test_document_frequencies_count_a_text_once() -> None:
    """Three texts: stem 0 is in all of them, stem 1 in one, stem 2 in none."""
    found = inverse_document_frequencies(TokenIds.from_lists([[0, 0, 1], [0], [0]]), 3)
    np.testing.assert_allclose(found, np.log([4 / 4, 4 / 2, 4 / 1]), atol=1e-6)


def test_texts_that_share_words_come_closer() -> None:
    """Orthogonal vectors of words: only the channel sees that storms and storm have one stem."""
    words = ["storm", "storms", "port", "gale", "bank"]
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, *words]), np.diag(np.array([0, 1, 1, 1, 1, 1], np.float32)))
    tokens = encoder.token_ids([*words, "storm port", "gale bank"])
    found = with_lexical_channel(encoder, tokens, 256, 1.0, "en")
    assert (found.dimension, found.token_dimension) == (6 + 256, 6)
    np.testing.assert_array_equal(found.table, encoder.table)
    storm, storms, port = found.encode(["storm", "storms", "port"])
    assert storm @ storms == pytest.approx(0.5) and abs(storm @ port) < 0.2
    assert not found.encode(["qzx"]).any()
    as_they_are = with_lexical_channel(encoder, tokens, 256, 1.0, "th")
    one, other = as_they_are.encode(["storm", "storms"])
    assert abs(one @ other) < 0.2


def test_what_no_channel_is_made_for() -> None:
    encoder = deep_encoder()
    tokens = encoder.token_ids(["storm"])
    with pytest.raises(InputError, match="has layers"):
        with_lexical_channel(encoder, tokens, 8, 1.0, "en")
    encoder = StaticEncoder(encoder.tokenizer, encoder.stored)
    with pytest.raises(InputError, match="a multiple of 8 dimensions, up to 65,536, but 12 are asked for"):
        with_lexical_channel(encoder, tokens, 12, 1.0, "en")
    with pytest.raises(InputError, match="No text has a known word"):
        with_lexical_channel(encoder, encoder.token_ids(["?!"]), 8, 1.0, "en")
