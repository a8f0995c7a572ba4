"""Child processes that analyse pages and can be killed: a limit of time, a limit of memory, and no harm from a crash.

Parent and child exchange JSON and bytes over a pipe, and never pickles, which a compromised child could abuse. The
child also ends itself: by SIGALRM when a page takes too long, which works inside C code, and when the parent is gone.
"""

import json
import multiprocessing
import queue
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

# The child's own alarm comes later than the parent's limit, so that the parent gets the reason.
GRACE_SECONDS = 2.0
START_SECONDS = 300.0  # a busy machine takes half a minute for the imports
MEGABYTE = 1_000_000

TIMED_OUT = "extraction: time limit"
OUT_OF_MEMORY = "extraction: memory limit"
CRASHED = "extraction: crashed"
FAILED = "extraction: failed"

Task = Callable[[dict[str, Any], bytes], dict[str, Any]]


def analyse() -> Task:
    """Analyse a page in the child; only the child imports trafilatura."""
    from news_crawler.extraction import analyse

    return analyse


@dataclass(frozen=True)
class Limits:
    """For one page: seconds of wall time, megabytes of address space."""

    seconds: float
    megabytes: int


class Worker:
    """One child process, started on demand and again after it has died."""

    def __init__(self, limits: Limits, load: Callable[[], Task] = analyse) -> None:
        self._limits = limits
        self._load = load
        self._child: tuple[multiprocessing.process.BaseProcess, Connection] | None = None

    def run(self, request: dict[str, Any], payload: bytes) -> dict[str, Any]:
        """Run the task; return `{"reason": ..., "links": [], "article": false}` if it was killed or failed."""
        pipe = self._started()
        try:
            pipe.send_bytes(json.dumps(request).encode())
            pipe.send_bytes(payload)

            # The limit is kept from outside: a parser that hangs cannot watch itself.
            if not pipe.poll(self._limits.seconds):
                return self._ended(TIMED_OUT)
            result: dict[str, Any] = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return self._ended(CRASHED)
        if result.get("reason") == OUT_OF_MEMORY:
            self.stop()  # a process that ran out of memory is not reused for the next page
        return result

    def stop(self) -> None:
        """Kill the child, even if it is busy."""
        if self._child is not None:
            process, pipe = self._child
            self._child = None
            process.kill()
            process.join()
            pipe.close()

    def _ended(self, reason: str) -> dict[str, Any]:
        self.stop()
        return _nothing(reason)

    def _started(self) -> Connection:
        if self._child is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self._limits, self._load), daemon=True)
            process.start()
            theirs.close()
            self._child = process, ours
            if not ours.poll(START_SECONDS):
                self.stop()
                raise TimeoutError(f"a child process for extraction did not start within {START_SECONDS:.0f} s")

            # The child says when it has loaded its libraries, which takes longer than a page.
            try:
                ours.recv_bytes()
            except EOFError as error:
                self.stop()
                raise RuntimeError(
                    "a child process for extraction ended at its start; its own message is above"
                ) from error
        return self._child[1]


class Pool:
    """Several workers for several threads; each page goes to the worker that is free."""

    def __init__(self, size: int, limits: Limits, load: Callable[[], Task] = analyse) -> None:
        self._workers = [Worker(limits, load) for _ in range(size)]
        # Last in, first out: a worker that has started is asked before one that has not.
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)

    def run(self, request: dict[str, Any], payload: bytes) -> dict[str, Any]:
        worker = self._free.get()
        try:
            return worker.run(request, payload)
        finally:
            self._free.put(worker)

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()


def _nothing(reason: str) -> dict[str, Any]:
    return {"links": [], "article": False, "reason": reason}


def _serve(pipe: Connection, limits: Limits, load: Callable[[], Task]) -> None:
    """Analyse one page after the other in the child until the parent closes the pipe."""
    run = load()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # kills, as no Python handler could while C code runs

    # A page that needs more memory or time ends this process, not the crawl.
    resource.setrlimit(resource.RLIMIT_AS, (limits.megabytes * MEGABYTE, limits.megabytes * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe.send_bytes(b"ready")
    while True:
        try:
            request, payload = json.loads(pipe.recv_bytes()), pipe.recv_bytes()
        except EOFError:
            return

        # The parent kills after the limit; this alarm is for the case that the parent is gone.
        signal.setitimer(signal.ITIMER_REAL, limits.seconds + GRACE_SECONDS)
        answer = json.dumps(_outcome(run, request, payload)).encode()
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send_bytes(answer)


def _outcome(run: Task, request: dict[str, Any], payload: bytes) -> dict[str, Any]:
    try:
        return run(request, payload)
    except MemoryError:
        return _nothing(OUT_OF_MEMORY)
    except Exception as error:  # any fault of a parser is this page's fault; its kind is kept as the detail
        return _nothing(FAILED) | {"detail": f"{type(error).__name__}: {error}"[:500]}
