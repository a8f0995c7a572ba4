"""The order of batches."""

import numpy as np
import pytest

from sentence_distillery.training.batches import Batches


def test_one_pass_an_epoch() -> None:
    """The order depends on the seed and the epoch; the ninth example has no neighbour and is left out."""
    batches = Batches(np.arange(9), size=4, seed=1)
    epochs = [[rows.tolist() for rows in batches(epoch)] for epoch in (0, 0, 1)]
    assert [len(rows) for rows in epochs[0]] == [4, 4]
    assert epochs[0] == epochs[1] != epochs[2]
    assert len({row for rows in epochs[0] for row in rows}) == 8
    assert [len(rows) for rows in Batches(np.arange(9), size=4, seed=1, smallest=1)(0)] == [4, 4, 1]


@pytest.mark.parametrize("smallest", [1, 2])
@pytest.mark.parametrize("count", range(2, 12))
def test_steps_are_counted(count: int, smallest: int) -> None:
    batches = Batches(np.arange(count), size=4, seed=1, smallest=smallest)
    assert batches.steps == len(list(batches(0)))


def test_batches_of_endless_passes() -> None:
    """3 batches of 4 of 10 rows: of the endless passes epoch 0 has places 0-11, epoch 1 12-23."""
    rows = np.arange(100, 110)
    batches = Batches(rows, size=4, seed=1, iterations=3)
    drawn = [batch for epoch in range(5) for batch in batches(epoch)]
    assert [len(batch) for batch in drawn] == [4] * 15
    assert batches.steps == 3
    stream = np.concatenate(drawn)
    for start in range(0, 60, 10):
        assert sorted(stream[start : start + 10]) == rows.tolist()
    assert not np.array_equal(stream[:10], stream[10:20])
