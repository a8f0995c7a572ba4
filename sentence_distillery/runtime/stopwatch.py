"""Measure how long work takes. Works that are compared take turns, so that a drift of the machine affects them alike.

own, peer = in_turns({"own": encode, "peer": peer_encode}, range(7)).values()
own.rate(len(texts)), peer.rate(len(texts))
"""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """The seconds of each run of a work, one or more.

    Example:
        >>> Timing((1.0, 2.0, 4.0)).median, Timing((1.0, 2.0, 4.0)).rate(100)
        (2.0, 50.0)
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def rate(self, count: int) -> float:
        """Return how many of `count` things a run handles in a second."""
        return count / self.median


def timed(work: Work, runs: int = 1) -> Timing:
    """Run a work several times, at least once; a first run that only warms up is the caller's.

    It must have finished when it returns; on a GPU it ends with a copy to the CPU.
    """
    return in_turns({"": work}, range(runs))[""]


def in_turns(works: Mapping[str, Work], turns: Iterable[object]) -> dict[str, Timing]:
    """Run several works in turns, all once, then all again, and return the timing of each by its name.

    `turns` has one item for each turn: range(7), or track(range(7), 7, "turns") to show the progress.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in turns:
        for name, work in works.items():
            began = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - began)
    return {name: Timing(tuple(seconds)) for name, seconds in taken.items()}
