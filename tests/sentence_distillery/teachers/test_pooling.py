"""Batching: by hand, and for any lengths."""

from hypothesis import given
from hypothesis import strategies as st

from sentence_distillery.teachers.pooling import length_batches


def test_batches_by_hand() -> None:
    assert list(length_batches([2, 9, 3, 8], budget=18)) == [[1, 3], [2, 0]]
    assert list(length_batches([], budget=18)) == []
    assert list(length_batches([50, 1], budget=18)) == [[0], [1]]


@given(st.lists(st.integers(1, 60)), st.integers(1, 200))
def test_batches_hold_every_sentence_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(length_batches(lengths, budget))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[row] for row in batch)
        assert padded <= budget or len(batch) == 1
