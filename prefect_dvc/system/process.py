"""Processes that know of each other: a lock that names its holder, and processes that end with their parent.

flows/ runs any graph, so it imports neither the stages nor the library: the lock is the one of their
sentence_distillery/runtime/process.py again.
"""

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

# The modules that are processes of a run; by these names others find them in the system's list
STAGE, HOST, STANDBY = "prefect_dvc.execution.dvc_stage", "prefect_dvc.execution.host", "prefect_dvc.workers.standby"
HANDOFF = "prefect_dvc.workers.handoff"
PARENT = "--parent"  # option of STAGE: who has started it
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15  # prctl(2)
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


class HeldError(Exception):
    """Another process holds the lock; the message is the text that it wrote about itself."""


@contextmanager
def held(path: Path, holder: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` in the name of `holder`; if another holds it, raise HeldError or wait.

    The system releases it when the process ends, however it ends.
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
        try:
            yield
        finally:
            file.truncate(0)


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


def end_with_parent(parent: int | None = None) -> None:
    """Have the system send this process SIGTERM when the thread that started it ends (only on Linux).

    `parent` is the process that started it, if that is known; it may have ended already.
    """
    if sys.platform == "linux":
        parent = parent or os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended just before
            os.kill(os.getpid(), signal.SIGTERM)


def end_group_on_term() -> None:
    """On SIGTERM, end the whole group if this process leads it: the shell of a stage's command would not tell it on."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, _end_group)


def _end_group(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.killpg(0, number)


def name_process(name: str) -> None:
    """Give this process a name of at most 15 bytes in the system's list, since a fork has that of its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())


def bound(command: list[str]) -> list[str]:
    """Return `command`, wrapped to get SIGTERM when the thread that starts it ends."""
    return [sys.executable, "-P", __file__, *command]


if __name__ == "__main__":  # `bound` runs this
    end_with_parent()
    os.execvp(sys.argv[1], sys.argv[1:])
