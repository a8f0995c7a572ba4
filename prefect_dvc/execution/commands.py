"""The commands of stages, as child processes that can all be ended at once."""

import codecs
import io
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from prefect_dvc.execution.outcome import StageError
from prefect_dvc.system.process import end_group, end_groups, kill_group, locks, supervised, without_git

REMEMBERED = 20  # last lines of a command, for the error
PIPE = 2**16  # bytes that a pipe holds: what a command may have printed last
POLL_SECONDS = 0.05  # in which the end of a command is noticed whose output another process still holds open
Log = Callable[[str], None]
Process = subprocess.Popen[bytes]


class Commands:
    """The commands that this process runs now."""

    def __init__(self) -> None:
        self._processes = set[Process]()
        self._lock = threading.Lock()
        self.closed = False  # whether the run is being stopped

    def end(self) -> None:
        """End every command with all its child processes, and start no other."""
        with self._lock:
            self.closed = True
            processes = list(self._processes)
        end_groups(processes)

    def run(
        self,
        command: Sequence[str],
        place: Path | str,
        environment: Mapping[str, str],
        log: Log,
        *,
        until: float | None = None,
    ) -> tuple[int, list[str]]:
        """Run a command with these variables alone; return its status, negative for a signal, and its last lines.

        At the moment `until`, of time.monotonic, it is ended: TimeoutError. Raises StageError if the run is stopped.
        """
        last: deque[str] = deque(maxlen=REMEMBERED)
        with self._started(command, place, environment) as process:
            for line in _lines(process, until):
                if line.strip():
                    last.append(line.rstrip())
                    log(line.rstrip())
        return process.returncode, list(last)

    @contextmanager
    def _started(self, command: Sequence[str], place: Path | str, environment: Mapping[str, str]) -> Iterator[Process]:
        """Start a command that ends with the block."""
        with self._lock:
            if self.closed:
                raise StageError(f"The run is being stopped; {command[-1]} was not started.")
            with locks() as descriptors:
                process = subprocess.Popen(
                    supervised(command),
                    cwd=place,
                    env=without_git(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    start_new_session=True,
                    pass_fds=descriptors,
                )
            self._processes.add(process)
        try:
            yield process
        finally:
            if process.poll() is None:
                end_group(process)
            elif process.returncode == -signal.SIGKILL:  # perhaps the supervisor alone
                kill_group(process)
            assert process.stdout is not None
            process.stdout.close()
            self._processes.discard(process)


def _lines(process: Process, until: float | None) -> Iterator[str]:
    """Yield each line that a process prints until it ends; a process that it leaves in the background may print on.

    Raises TimeoutError if it has not ended at the moment `until`.
    """
    assert process.stdout is not None
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
    begun, after = "", 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while after < PIPE:
            left = POLL_SECONDS if until is None else min(POLL_SECONDS, until - time.monotonic())
            ended = process.poll() is not None
            if not ended and left <= 0:
                raise TimeoutError
            if selector.select(0 if ended else left):
                found = os.read(process.stdout.fileno(), PIPE)
                after += len(found) if ended else 0
                *lines, begun = (begun + decoder.decode(found)).split("\n")
                yield from lines
                if not found:
                    break
            elif ended:
                break
    yield begun + decoder.decode(b"", final=True)
    try:
        process.wait(None if until is None else max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error


def own_tools(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that finds this `python` if it has none of its own."""
    tools = f"{environment.get('PATH', os.defpath)}{os.pathsep}{Path(sys.executable).parent}"
    return {**environment, "PATH": tools}
