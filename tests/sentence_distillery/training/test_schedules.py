"""Learning rates by hand; the examples of `linear` and `halving` run with the documentation's."""

import pytest

from sentence_distillery.training.schedules import constant, warm_up


def test_warm_up() -> None:
    """A straight line up to 1, and another one down to 0; or what comes after."""
    schedule = warm_up(steps=10, share=0.2)
    assert [schedule(step) for step in (0, 1, 2, 6, 9)] == pytest.approx([1 / 3, 2 / 3, 1, 0.5, 0.125])
    assert [warm_up(10, 0.2, constant)(step) for step in (1, 2, 9)] == pytest.approx([2 / 3, 1, 1])
    assert warm_up(10, 0.0)(0) == 1.0
