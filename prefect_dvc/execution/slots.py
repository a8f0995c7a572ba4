"""The stages that may run at the same time: a number of slots, and here the machine's processors and memory.

    parallel 2, 4 processors       a (cpus: 4) runs; b (cpus: 1) waits; c, handed to a worker, takes a slot alone

Whoever waits goes by priority, then by arrival, and nobody overtakes: otherwise small stages could keep a large one
waiting for ever.
"""

import itertools
import os
import threading
import time
from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from prefect_dvc.execution.outcome import StageError
from prefect_dvc.settings.resources import CPUS, MEMORY, Needs, gigabytes
from prefect_dvc.system.process import HeldError, held

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
    """Let at most `parallel` stages run at a time, and here no more than the machine bears.

    Args:
        parallel: The number of stages at a time, those on workers included.
        cpus: The processors that the stages of this machine share.
        memory: Its memory in bytes.
    """

    parallel: int
    cpus: int = field(default_factory=processors)
    memory: int = field(default_factory=main_memory)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _waiting: list[_Claim] = field(default_factory=list)
    _held: list[_Claim] = field(default_factory=list)
    _arrivals: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def hold(self, name: str, needs: Needs, *, away: bool = False) -> Iterator[None]:
        """Wait for a slot, and hold it; `away`: the stage runs on a worker, and needs nothing else here.

        More processors than there are only take longer, so such a stage gets all of them. Raises StageError if it
        needs more memory than the machine has, since the system would kill it.
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
def queued(directory: Path, most: int, holder: str, log: Callable[[str], None]) -> Iterator[None]:
    """Wait until fewer than `most` others hold a place in `directory`, and hold one; a killed process holds none.

    Example:
        with queued(root / ".dvc/tmp/queue", 3, "prefect-dvc run (process 71)", print):
            ...  # at most three at a time
    """
    told = False
    with ExitStack() as stack:
        while True:
            others = list[str]()
            for number in range(most):
                try:
                    stack.enter_context(held(directory / f"{number}.lock", holder))
                    break
                except HeldError as other:
                    others.append(str(other))
            if len(others) < most:
                break
            if not told:
                log(f"Waiting, since {most} runs are in progress: {'; '.join(others)}.")
                told = True
            time.sleep(POLL_SECONDS)
        yield


@contextmanager
def alone(path: Path, holder: str, stopped: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock of a mutex, also against other runs; raises StageError if this run is stopped meanwhile."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(held(path, holder))
                break
            except HeldError as other:
                if stopped():
                    raise StageError(f"The run is being stopped; {holder} waited for {other}.") from None
                time.sleep(POLL_SECONDS)
        yield
