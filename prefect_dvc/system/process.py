"""Processes that know of each other: a lock that names its holder, and commands that end with the run.

run ── supervised ──> supervisor.py ──> the command
 └ ends or is killed       └ ends its whole group, gently and then by force
 └ holds locks             └ holds them, too, until the command has ended
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from prefect_dvc.system.supervisor import SECONDS_TO_END

SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
GIT_PLACES = (  # set for a hook, and by tools around git; they would lead git to another repository, index or object
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
_locks = set[int]()  # descriptors of the locks that this process holds
_changing = threading.Lock()  # held while one is added or closed, or while a command is started with all of them


class HeldError(Exception):
    """Another process holds the lock; the message is the text that it wrote about itself."""


@contextmanager
def held(path: Path, holder: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` in the name of `holder`; if another holds it, raise HeldError or wait.

    The system releases it when this process and the supervisors of its commands have ended, however they end.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            file.seek(0)
            raise HeldError(file.read() or "one that has just begun") from error
        file.truncate(0)  # a killed holder left its name
        file.write(holder)
        file.flush()
        with _changing:
            _locks.add(file.fileno())
        try:
            yield
        finally:
            with _changing:
                _locks.discard(file.fileno())
            file.truncate(0)


def hold_one(stack: ExitStack, locks: Iterable[Path], holder: str) -> list[str]:
    """Hold the first of some locks that is free until `stack` closes; return nothing, or the holders if none is."""
    others = list[str]()
    for lock in locks:
        try:
            stack.enter_context(held(lock, holder))
        except HeldError as other:
            others.append(str(other))
        else:
            return []
    return others


def open_streams() -> None:
    """Open those of the three standard streams that are closed, or a pipe would get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number, which is this one
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # so it was closed
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8"))


def without_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without the variables by which git, or a stage's git, would work in another place."""
    return {name: value for name, value in environment.items() if name not in GIT_PLACES}


def supervised(command: Sequence[str]) -> list[str]:
    """Return a command that runs `command`, and that ends it with all its child processes when this process ends.

    SIGTERM ends it, too; SIGINT goes to the command alone.
    """
    return [sys.executable, "-I", "-S", SUPERVISOR, str(os.getpid()), *command]


@contextmanager
def locks() -> Iterator[list[int]]:
    """Yield the descriptors of the locks that this process holds, for a supervisor to hold them, too.

    Another thread closes none of them until the block ends: a process that is given a closed one does not start.
    """
    with _changing:
        yield sorted(_locks)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a supervised command, and wait until all its processes have ended."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(SECONDS_TO_END + 5)
    except subprocess.TimeoutExpired:  # the supervisor itself is stopped
        kill_group(process)
        process.wait()


def end_groups(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End some at once, since each may take its time."""
    for process in processes:
        process.terminate()
    for process in processes:
        end_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the processes that are left of a supervised command."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
