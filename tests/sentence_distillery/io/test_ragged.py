"""Ragged token ids: by hand, and compared with lists and NumPy."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentence_distillery.io.ragged import FEW_SENTENCES, TokenIds, unit_rows

SENTENCES = st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8)


def lists(tokens: TokenIds) -> list[list[int]]:
    return [tokens.ids[a:b].tolist() for a, b in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)]


def test_layout_by_hand() -> None:
    tokens = TokenIds.from_lists([(2, 0), (), (1,)])
    assert tokens.ids.tolist() == [2, 0, 1]
    assert tokens.offsets.tolist() == [0, 2, 2, 3]
    assert tokens.ids.dtype == np.int32
    assert tokens.offsets.dtype == np.int64
    assert len(tokens) == 3
    assert tokens.lengths.tolist() == [2, 0, 1]
    assert tokens.owners.tolist() == [0, 0, 2]
    assert len(TokenIds.concatenate([])) == 0


def test_unknown_words_are_left_out_and_their_sentence_stays() -> None:
    tokens = TokenIds.from_words([["a", "x"], ["x"], ["b", "a"]], {"a": 0, "b": 1})
    assert lists(tokens) == [[0], [], [1, 0]]


@given(SENTENCES, st.data())
def test_take_concatenate_and_without_equal_lists(sentences: list[list[int]], data: st.DataObject) -> None:
    tokens = TokenIds.from_lists(sentences)
    assert lists(tokens) == sentences
    rows = data.draw(st.lists(st.sampled_from(range(len(sentences))), max_size=6)) if sentences else []
    assert lists(tokens.take(rows)) == [sentences[row] for row in rows]
    assert lists(TokenIds.concatenate([tokens, tokens.take(rows)])) == sentences + [sentences[row] for row in rows]
    assert lists(tokens.without(3)) == [[token for token in sentence if token != 3] for sentence in sentences]


@given(SENTENCES)
def test_means_equal_numpy(sentences: list[list[int]]) -> None:
    rng = np.random.default_rng(0)
    table, weights = rng.normal(size=(10, 4)).astype(np.float32), rng.random(10).astype(np.float32)
    tokens = TokenIds.from_lists(sentences)
    plain, weighted = np.zeros((2, len(sentences), 4))
    for row, sentence in enumerate(sentences):
        if sentence:
            plain[row] = table[sentence].mean(axis=0)
            weighted[row] = (table[sentence] * weights[sentence][:, None]).sum(axis=0) / len(sentence)
    assert tokens.means(table).dtype == np.float32
    np.testing.assert_allclose(tokens.means(table), plain, atol=1e-6)
    np.testing.assert_allclose(tokens.means(table, weights), weighted, atol=1e-6)


@given(SENTENCES, st.sampled_from([1, 3, 64]), st.booleans())
def test_few_sentences_sum_to_the_bits_of_many(sentences: list[list[int]], dimension: int, weighted: bool) -> None:
    """NumPy sums a few sentences and SciPy more, with the same bits."""
    random = np.random.default_rng(1)
    table = random.standard_normal((10, dimension)).astype(np.float32)
    table[3] = -0.0
    weights = random.random(10).astype(np.float32) if weighted else None
    tokens = TokenIds.from_lists([*sentences[1:], 20 * list(chain.from_iterable(sentences))])
    many = TokenIds.concatenate([tokens, TokenIds.from_lists([[0]] * (FEW_SENTENCES + 1))])
    assert tokens.sums(table, weights).tobytes() == many.sums(table, weights)[: len(tokens)].tobytes()


@pytest.mark.parametrize("scale", [1e-30, 1e-19, 1e-9, 1.0, 1e9, 1e19, 1e30, 3e37])
def test_rows_of_any_length_are_scaled_to_one(scale: float) -> None:
    """regression: the squares of a row at 1e-30 or 1e30 are no float32, and the row became zero, as only zeros do."""
    rows = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    expected = rows / np.linalg.norm(rows.astype(np.float64), axis=1)[:, None]
    given = rows * np.float32(scale)
    np.testing.assert_allclose(unit_rows(given), expected, rtol=1e-5)
    given[3] = expected[3] = 0
    np.testing.assert_allclose(unit_rows(given), expected, rtol=1e-5)


def test_rows_that_are_not_finite() -> None:
    rows = np.array([[1, np.inf], [np.nan, 1], [3, 4], [np.inf, -np.inf]], np.float32)
    np.testing.assert_array_equal(
        unit_rows(rows), np.array([[np.nan] * 2, [np.nan] * 2, [0.6, 0.8], [np.nan] * 2], np.float32)
    )
