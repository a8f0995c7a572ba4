"""Run one stage through DVC in a separate process, and read its outcome.

DVC decides alone whether the stage has to run (execution/dvc_stage.py). Its lock is free while the command itself
runs, so several of these overlap. The process is a fork of the run's host if there is one, else a new one.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, Protocol, Self, TypeVar

from prefect_dvc.execution.host import CODE, Host
from prefect_dvc.system.process import PARENT, STAGE, bound, without_git

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
    Outcome.PULLED: "its outputs came from the DVC remote",
    Outcome.RAN: "its command ran",
    Outcome.RAN_ON_GPU: "its command ran on a GPU worker, and its outputs came back through the remote",
}


class StageError(Exception):
    """A stage ended with an error; the message has its last lines."""


class NotStartedError(StageError):
    """DVC gave a stage up before its command: its inputs are not there, or a remote does not answer."""


class HostError(Exception):
    """The host of a run has ended."""


class Process(Protocol):
    """The part of Popen that Children needs."""

    @property
    def pid(self) -> int:
        """Return its id, which is also that of its group."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its status; raises subprocess.TimeoutExpired."""


Kept = TypeVar("Kept", bound=Process)


@dataclass(frozen=True)
class Done:
    """The outcome of bringing a stage up to date."""

    outcome: Outcome
    objects: tuple[str, ...] = ()  # names of its outputs in DVC's cache


class Children:
    """The stages that this process runs now, so that it can end them all at once."""

    def __init__(self) -> None:
        self._processes: set[Process] = set()
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
        self, command: list[str], directory: Path, environment: dict[str, str], pass_fds: Sequence[int] = ()
    ) -> Iterator[subprocess.Popen[str]]:
        """Start a process that leads its own group, and that ends with the block or if this process is killed."""
        with self.keep(partial(_popen, command, directory, environment, pass_fds), command[-1]) as process:
            try:
                yield process
            finally:
                if process.stdout is not None:
                    process.stdout.close()

    @contextmanager
    def keep(self, start: Callable[[], Kept], what: str) -> Iterator[Kept]:
        """Start a process that ends with the block; raises StageError if the run is being stopped."""
        with self._lock:
            if self._closed:
                raise StageError(f"The run is being stopped; {what} was not started.")
            process = start()
            self._processes.add(process)
        try:
            yield process
            process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            self._processes.discard(process)


def _popen(
    command: list[str], directory: Path, environment: dict[str, str], pass_fds: Sequence[int]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        bound(command),
        cwd=directory,
        env=without_git(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        pass_fds=pass_fds,
    )


class _Told:
    """The lines of dvc_stage, read from a pipe in a thread of its own until its writers have ended.

    A fork that was killed leaves its command at work, and its output open, so its group is ended then.
    """

    def __init__(self, descriptor: int, begun: Callable[[], None], *, forked: bool = False) -> None:
        self.done: dict[str, Done] = {}
        self.ran = False
        self.pid: int | None = None
        self.status: int | None = None  # of a fork, whose host reports it
        self._begun, self._forked = begun, forked
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(descriptor,), daemon=True)
        self._thread.start()

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, encoding="ascii") as lines:
            for line in lines:
                word, _, rest = line.strip().partition(" ")
                if word == "pid":
                    self.pid = int(rest)
                    self._started.set()
                elif word == "ran":
                    self.ran = True
                    self._begun()
                elif word == "done":
                    name, outcome, *objects = json.loads(rest)
                    self.done[name] = Done(Outcome(outcome), tuple(objects))
                else:
                    self.status = int(rest)
        if self._forked and self.pid is not None and (self.status is None or self.status < 0):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGTERM)
        self._started.set()

    def started(self) -> int | None:
        """Wait until the process leads its own group; return its id, or None if it has ended before."""
        self._started.wait()
        return self.pid

    def ended(self, timeout: float | None = None) -> bool:
        """Wait until every writer has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()


class _Forked:
    """A process that the host has forked."""

    def __init__(self, pid: int, told: _Told) -> None:
        self.pid = pid
        self._told = told

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; a host that was killed leaves no status."""
        if not self._told.ended(timeout):
            raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout or 0)
        return -signal.SIGKILL if self._told.status is None else self._told.status


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
    host: Host | None = None,
) -> Done:
    """Bring stage `name` of the repository in `directory` up to date; each line that it prints goes to `log`.

    `force` runs it even if nothing has changed, `pull` fetches missing inputs and outputs from the remote, and after
    `timeout` seconds its command is ended. Raises StageError, and NotStartedError if the command had not begun.
    """
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # the stage's `python` is this one
    shown = {"PATH": tools, **environment}
    last: deque[str] = deque(maxlen=REMEMBERED)
    with ExitStack() as stack, _Limit(timeout) as limit:
        flags = {"force": force, "pull": pull}
        started = _fork_for_stages(stack, children, host, [name], shown, flags, limit) if host is not None else None
        started = started or _execute(stack, children, directory, name, shown, flags, limit)
        limit.process = started.process
        for line in started.output:
            if line.strip():
                last.append(line.rstrip())
                log(line.rstrip())
        status, told = started.process.wait(), started.told
        told.ended()
    if limit.passed:
        raise StageError(f"Stage '{name}' was ended after its timeout of {timeout:g} s (`meta` in dvc.yaml).")
    if status or name not in told.done:
        lines = "\n".join(last)
        kind = StageError if told.ran or children.closed else NotStartedError
        raise kind(f"Stage '{name}' ended with status {status}:\n{lines}")
    return told.done[name]


def restore(
    children: Children, host: Host, names: Sequence[str], log: Callable[[str], None], *, pull: bool
) -> dict[str, Done]:
    """Bring those of the stages up to date that need no run, all in one process; return how, by name.

    Args:
        children: Of the run.
        host: Of the run; if it is gone, nothing is restored.
        names: The stages that are not up to date, each after its upstream.
        log: Called with each line that DVC prints.
        pull: Take results from the default remote, too. If it fails, some stages are missing in what is returned, and
            the first that needs it says why.
    """
    with ExitStack() as stack, _Limit(None) as limit:
        flags = {"force": False, "pull": pull, "restore": True}
        if (started := _fork_for_stages(stack, children, host, names, {}, flags, limit)) is None:
            return {}
        for line in started.output:
            if line.strip():
                log(line.rstrip())
        started.told.ended()
    return started.told.done


def call(children: Children, module: str, arguments: Sequence[str], host: Host | None) -> tuple[int, list[str]]:
    """Call `run(arguments)` of a module that is a program, too, in a process of its own.

    Args:
        children: Of the run.
        module: Its full name.
        arguments: Those of the command line.
        host: Forked if there is one and it is not gone; otherwise a new process loads the module.

    Returns:
        The status of the process, negative for a signal, and the last lines that it printed.
    """
    with ExitStack() as stack:
        if host is not None:
            started = _fork(stack, children, partial(host.call, module, arguments), module, lambda: None)
            if started is not None:
                return _ending(started.process, started.output)
        command = [sys.executable, "-m", module, *arguments]
        process = stack.enter_context(children.start(command, CODE, dict(os.environ)))
        assert process.stdout is not None
        return _ending(process, process.stdout)


def _ending(process: Process, output: IO[str]) -> tuple[int, list[str]]:
    lines = deque((line.rstrip() for line in output if line.strip()), maxlen=REMEMBERED)
    return process.wait(), list(lines)


@dataclass(frozen=True)
class _Started:
    process: Process
    output: IO[str]
    told: _Told


def _fork_for_stages(
    stack: ExitStack,
    children: Children,
    host: Host,
    names: Sequence[str],
    environment: Mapping[str, str],
    flags: Mapping[str, bool],
    limit: "_Limit",
) -> _Started | None:
    """Start the process of a stage as a fork of the host; return None if the host is gone."""

    def ask(output: int, told: int) -> bool:
        return host.fork(names, output, told, environment, **{"restore": False, **flags})

    return _fork(stack, children, ask, names[0], limit.begin)


def _fork(
    stack: ExitStack, children: Children, ask: Callable[[int, int], bool], what: str, begun: Callable[[], None]
) -> _Started | None:
    """Start a fork of the host, which `ask` asks for; return None if the host is gone."""
    (reading, telling), (output, printing) = os.pipe(), os.pipe()
    lines = stack.enter_context(os.fdopen(output, encoding="utf-8", errors="replace"))
    told = _Told(reading, begun, forked=True)

    def start() -> _Forked:
        try:
            taken = ask(printing, telling)
        finally:
            os.close(printing)
            os.close(telling)
        if not taken or (pid := told.started()) is None:
            raise HostError
        return _Forked(pid, told)

    try:
        return _Started(stack.enter_context(children.keep(start, what)), lines, told)
    except HostError:
        return None


def _execute(
    stack: ExitStack,
    children: Children,
    directory: Path,
    name: str,
    environment: Mapping[str, str],
    flags: Mapping[str, bool],
    limit: "_Limit",
) -> _Started:
    """Start the process of a stage as a new one, which loads DVC and the graph."""
    reading, telling = os.pipe()
    told = _Told(reading, limit.begin)
    options = [*(f"--{flag}" for flag, on in flags.items() if on), "--tell", str(telling)]
    command = [sys.executable, "-m", STAGE, *options, PARENT, str(os.getpid()), str(directory), name]
    try:
        process = stack.enter_context(children.start(command, CODE, {**os.environ, **environment}, [telling]))
    finally:
        os.close(telling)
    assert process.stdout is not None
    return _Started(process, process.stdout, told)


class _Limit:
    """End `process` some seconds after `begin`, unless the block is left before; without seconds, never."""

    def __init__(self, seconds: float | None) -> None:
        self.passed = False
        self.process: Process | None = None
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
        if self.process is not None:
            _end(self.process)


def _end(process: Process) -> None:
    """Ask the process and its children to end, and kill those that do not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(SECONDS_TO_END)
    process.wait()
