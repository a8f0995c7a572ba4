"""Timings: their summaries by hand, and the order of the works."""

import doctest

from sentence_distillery.runtime import stopwatch
from sentence_distillery.runtime.stopwatch import Timing, in_turns, timed


def test_works_take_turns() -> None:
    done: list[str] = []
    timings = in_turns({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, range(3))
    assert done == ["a", "b"] * 3
    assert [(name, len(timing.seconds)) for name, timing in timings.items()] == [("a", 3), ("b", 3)]
    assert all(seconds > 0 for timing in timings.values() for seconds in timing.seconds)
    assert [len(timed(lambda: done.append("c"), *runs).seconds) for runs in ((), (4,))] == [1, 4] and done[6:] == [
        "c"
    ] * 5


def test_summaries_by_hand() -> None:
    timing = Timing((2.0, 1.0, 4.0, 3.0))
    assert (timing.median, timing.rate(10)) == (2.5, 4.0)
    assert doctest.testmod(stopwatch).failed == 0
