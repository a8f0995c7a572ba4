"""Run one stage through DVC in a separate process, and read its outcome.

`dvc --wait-for-lock repro -s NAME` decides alone whether the stage has to run. DVC's lock is free while the command
itself runs, so several of these overlap. The outcome is read from DVC's own output.
"""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Self

from flows.execution.process import bound, without_git

SECONDS_TO_END = 20.0  # for a stage to remove its partial files before it is killed
REMEMBERED = 20  # last lines of a stage, for the error


class Outcome(StrEnum):
    """The outcome of a stage.

    CACHED: neither it nor its outputs had changed. RESTORED: its outputs came from an earlier run with the same
    inputs. PULLED: they came from the remote. RAN: its command ran. RAN_ON_GPU: it ran on a GPU worker.
    """

    CACHED = "Cached"
    RESTORED = "Restored"
    PULLED = "Pulled"
    RAN = "Ran"
    RAN_ON_GPU = "Ran on GPU worker"


MEANING = {
    Outcome.CACHED: "nothing has changed, and its outputs are those of dvc.lock",
    Outcome.RESTORED: "an earlier run had the same inputs; its outputs came from DVC's cache",
    Outcome.PULLED: "its outputs came from the remote",
    Outcome.RAN: "its command ran",
    Outcome.RAN_ON_GPU: "its command ran on a GPU worker, and its outputs came back through the remote",
}


# The first sign that was found counts: a stage that ran may have pulled its inputs before.
SIGNS = (
    ("Running stage '", Outcome.RAN),
    ("is cached - skipping run", Outcome.RESTORED),
    ("Pulling data for", Outcome.PULLED),
    ("didn't change, skipping", Outcome.CACHED),
)


class StageError(Exception):
    """A stage ended with an error; the message has its last lines."""


class NotStartedError(StageError):
    """DVC gave a stage up before its command: its inputs are not there, or a remote does not answer."""


class Children:
    """The stages that this process runs now, so that it can end them all at once."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[str]] = set()
        self._lock = Lock()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Return whether the run is being stopped."""
        return self._closed

    def end(self) -> None:
        """End every stage with all its child processes, and start no other."""
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            _end(process)

    @contextmanager
    def start(
        self, command: list[str], directory: Path, environment: dict[str, str]
    ) -> Iterator[subprocess.Popen[str]]:
        """Start a process that leads its own group, and that ends with the block or if this process is killed."""
        with self._lock:
            if self._closed:
                raise StageError(f"The run is being stopped; {command[-1]} was not started.")
            process = subprocess.Popen(
                bound(command),
                cwd=directory,
                env=without_git(environment),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._processes.add(process)
        try:
            yield process
            process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            self._processes.discard(process)
            if process.stdout is not None:
                process.stdout.close()


def reproduce(
    children: Children,
    directory: Path,
    name: str,
    log: Callable[[str], None],
    *,
    force: bool = False,
    pull: bool = False,
    timeout: float | None = None,
    environment: Mapping[str, str] = {},
) -> Outcome:
    """Bring stage `name` of the repository in `directory` up to date; each line that it prints goes to `log`.

    `force` runs it even if nothing has changed, `pull` fetches missing inputs and outputs from the remote, and after
    `timeout` seconds its command is ended. Raises StageError, and NotStartedError if the command had not begun.
    """
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", *["--force"] * force, *["--pull"] * pull]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # the stage's `python` is this one
    found: set[Outcome] = set()
    last: deque[str] = deque(maxlen=REMEMBERED)
    with (
        children.start(
            [*command, "--single-item", name], directory, {**os.environ, "PATH": tools, **environment}
        ) as process,
        _Limit(process, timeout) as limit,
    ):
        for line in _lines(process):
            found.update(outcome for sign, outcome in SIGNS if sign in line)
            if Outcome.RAN in found:
                limit.begin()
            last.append(line)
            log(line)
    if limit.passed:
        raise StageError(f"Stage '{name}' was ended after its timeout of {timeout:g} s (`meta` in dvc.yaml).")
    if process.returncode or not found:
        told = "\n".join(last)
        kind = StageError if Outcome.RAN in found or children.closed else NotStartedError
        raise kind(f"Stage '{name}' ended with status {process.returncode}:\n{told}")
    return next(outcome for _, outcome in SIGNS if outcome in found)


class _Limit:
    """End a process some seconds after `begin`, unless the block is left before; without seconds, never."""

    def __init__(self, process: subprocess.Popen[str], seconds: float | None) -> None:
        self.passed = False
        self._process = process
        self._seconds = seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def begin(self) -> None:
        if self._seconds is not None and self._timer is None:
            self._timer = threading.Timer(self._seconds, self._pass)
            self._timer.daemon = True
            self._timer.start()

    def _pass(self) -> None:
        self.passed = True
        _end(self._process)


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield the output of the process, line by line, without the empty lines."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip():
            yield line.rstrip()


def _end(process: subprocess.Popen[str]) -> None:
    """Ask the process and its children to end, and kill those that do not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(SECONDS_TO_END)
    process.wait()
