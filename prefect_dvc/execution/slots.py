"""The stages that may run at the same time: a number of slots, and here the machine's processors and memory.

    parallel 2, 4 processors       a (cpus: 4) runs; b (cpus: 1) waits; c, handed to a worker, takes a slot alone

Whoever waits goes by priority, then by arrival; nobody overtakes, or small stages could keep a large one waiting.
"""

import itertools
import os
import threading
import time
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from prefect_dvc.execution.outcome import StageError
from prefect_dvc.settings.resources import CPUS, MEMORY, Needs, gigabytes
from prefect_dvc.system.process import hold_one

CGROUP = Path("/sys/fs/cgroup/memory.max")  # the limit of a container
POLL_SECONDS = 0.2


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main_memory() -> int:
    """Return the memory of this machine, or of the container, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit: "max"
        total = min(total, int(CGROUP.read_text(encoding="ascii")))
    return total


@dataclass(frozen=True, order=True)
class _Claim:
    rank: tuple[int, int]  # priority and arrival; the lowest goes first
    cpus: int
    memory: int


@dataclass
class Slots:
    """Let at most `parallel` stages run at a time, and here no more than the machine bears."""

    parallel: int  # those on workers included
    cpus: int = field(default_factory=processors)
    memory: int = field(default_factory=main_memory)  # bytes
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _waiting: list[_Claim] = field(default_factory=list)
    _held: list[_Claim] = field(default_factory=list)
    _arrivals: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def hold(self, name: str, needs: Needs, *, away: bool = False) -> Iterator[None]:
        """Wait for a slot, and hold it; `away`: the stage runs on a worker, and needs nothing else here.

        A stage that wants too many processors gets all. Raises StageError if it needs more memory than there is.
        """
        cpus, memory = (0, 0) if away else (needs.resources.get(CPUS, 0), needs.resources.get(MEMORY, 0))
        if memory > self.memory:
            raise StageError(
                f"Stage '{name}' needs memory: {gigabytes(memory)} (`meta` in dvc.yaml), and this machine has "
                f"{gigabytes(self.memory)}. Run it on a larger machine, or ask for less."
            )
        with self._changed:
            claim = _Claim((-needs.priority, next(self._arrivals)), min(cpus, self.cpus), memory)
            insort(self._waiting, claim)
            self._changed.wait_for(lambda: self._waiting[0] is claim and self._fits(claim))
            self._waiting.remove(claim)
            self._held.append(claim)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held.remove(claim)
                self._changed.notify_all()

    def _fits(self, claim: _Claim) -> bool:
        claims = [*self._held, claim]
        return (
            len(claims) <= self.parallel
            and sum(one.cpus for one in claims) <= self.cpus
            and sum(one.memory for one in claims) <= self.memory
        )


@contextmanager
def turn(
    locks: Sequence[Path],
    holder: str,
    *,
    told: Callable[[str], None] = lambda others: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Wait until one of some locks is free, and hold it. A killed process holds none.

    `told` is told once who holds them, who read `holder`. Raises StageError as soon as `stopped`.
    """
    waited = False
    with ExitStack() as stack:
        while others := "; ".join(hold_one(stack, locks, holder)):
            if stopped():
                raise StageError(f"The run is being stopped; {holder} waited for {others}.")
            if not waited:
                told(others)
            waited = True
            time.sleep(POLL_SECONDS)
        yield
