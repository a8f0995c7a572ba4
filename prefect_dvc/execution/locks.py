"""DVC's two locks: remove the locks of interrupted runs, and name another holder.

    .dvc/tmp/lock      held while DVC reads or writes; it has the number of the process that held it last
    .dvc/tmp/rwlock    which process reads or writes which files, also while the command of a stage runs

The process of a stage ends with its run, but after it, and its command may outlive both. To DVC such a process is as
good as any other, so it refuses the files to the next run. Here it is ended, with its group. DVC also warns for each
file of a process that is gone; such entries are removed before.
"""

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from dvc.lock import LockError, make_lock
from dvc.repo import Repo

from prefect_dvc.system.process import HANDOFF, HOST, PARENT, STAGE, STANDBY

SECONDS_TO_END = 20.0  # before an orphan is killed, and again for its end
POLL_SECONDS = 0.02
CLOCK_SECONDS = 2.0  # the system tells the start of a process so exactly
SHOWN = 3  # paths of a holder
RUNS = ("flows.", "prefect.")  # begin the modules of runs, which hold the lock for moments
Log = Callable[[str], None]
say: Log = partial(print, flush=True)


class BusyError(LockError):  # type: ignore[misc]
    """Another process holds a lock of DVC; the message names it."""


class _State(Enum):
    """The state of a process that rwlock names; ANOTHER has its number, and is younger."""

    LIVES = auto()
    ENDED = auto()
    ANOTHER = auto()


@dataclass
class _Holder:
    """A process that the file rwlock names."""

    pid: int
    command: str
    paths: list[str] = field(default_factory=list)


@contextmanager
def locked(repo: Repo, log: Log = say) -> Iterator[None]:
    """Hold DVC's lock, and let no process of an interrupted run hold files.

    Args:
        repo: The repository; whether it waits for the lock was said when it was opened.
        log: Called with a line for each process that is ended, and for another one that is waited for.

    Yields:
        Nothing; DVC's functions that want the lock work within the block.

    Raises:
        BusyError: Somebody else's process, or one of a run that is in progress, holds the lock or the files.
    """
    temporary = Path(repo.tmp_dir)
    clear_lock(temporary, log)
    try:
        with repo.lock:
            _clear_files(temporary, log)
            repo._lock_depth += 1  # or DVC would wait for the lock that this process holds
            try:
                yield
            finally:
                repo._lock_depth -= 1
    except LockError as error:
        raise BusyError(_busy(temporary) or str(error)) from error


def renew(repo: Repo) -> None:
    """Give a fork its own lock: with core.hardlink_lock it has that of the process that loaded the graph."""
    hardlink = repo.config["core"].get("hardlink_lock", False)
    path = str(Path(repo.tmp_dir) / "lock")
    repo.lock = make_lock(path, repo.tmp_dir, friendly=True, hardlink_lock=hardlink, wait=True)


def clear_lock(temporary: Path, log: Log = say) -> None:
    """End the process that holds .dvc/tmp/lock if an interrupted run has left it; name one that is not of the flows."""
    pid = _lock_holder(temporary)
    if pid is None:
        return
    if _orphaned(pid):
        _end(pid)
        log(f"Ended process {pid}, which an interrupted run had left with DVC's lock.")
    elif (line := _line(_process(pid))) and not any(word.startswith(RUNS) for word in line):
        log(f"Waiting for process {pid} ({' '.join(line)}), which holds DVC's lock.")


def _lock_holder(temporary: Path) -> int | None:
    """Return the process that holds the lock now; None also if DVC uses locks of another kind (core.hardlink_lock)."""
    with suppress(FileNotFoundError), (temporary / "lock").open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            with suppress(ValueError):
                return int(file.read())
    return None


def _clear_files(temporary: Path, log: Log) -> None:
    """Remove from the file rwlock all that no living process holds; only while DVC's lock is held."""
    holders, written = _holders(temporary)
    gone = set[int]()
    for holder in holders:
        state = _state(holder.pid, written)
        if state is not _State.LIVES:
            gone.add(holder.pid)
        if _group_is_ours(holder) and _is_left(holder.pid, state):
            _end(holder.pid)
            log(f"Ended process {holder.pid} ({holder.command}), which an interrupted run had left.")
            gone.add(holder.pid)
    if gone:
        _forget(temporary, gone)


def _is_left(pid: int, state: _State) -> bool:
    """Return whether a process has outlived its run, or its command has outlived it."""
    return _orphaned(pid) if state is _State.LIVES else state is _State.ENDED and bool(_members(pid))


def _read(temporary: Path) -> dict[str, dict[str, Any]]:
    """Return the content of rwlock; nothing if DVC was killed while it wrote there, since it does so in place."""
    try:
        content: dict[str, dict[str, Any]] = json.loads((temporary / "rwlock").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        (temporary / "rwlock").unlink()
        return {}
    return content


def _holders(temporary: Path) -> tuple[list[_Holder], float]:
    """Return the other processes that rwlock names, and when it was written."""
    found = dict[int, _Holder]()
    for entries in _read(temporary).values():
        for path, infos in entries.items():
            for info in infos if isinstance(infos, list) else [infos]:
                holder = found.setdefault(info["pid"], _Holder(info["pid"], info["cmd"]))
                holder.paths.append(path)
    found.pop(os.getpid(), None)
    return list(found.values()), (temporary / "rwlock").stat().st_mtime if found else 0.0


def _forget(temporary: Path, pids: set[int]) -> None:
    """Remove the entries of these processes."""
    content = _read(temporary)
    for path, info in list(content.get("write", {}).items()):
        if info["pid"] in pids:
            del content["write"][path]
    for path, infos in list(content.get("read", {}).items()):
        content["read"][path] = [info for info in infos if info["pid"] not in pids]
    written = temporary / f"rwlock.{os.getpid()}.partial"
    written.write_text(json.dumps(content), encoding="utf-8")
    written.replace(temporary / "rwlock")


def _busy(temporary: Path) -> str:
    """Return a line that names the process that holds a lock now."""
    found = list[str]()
    if (pid := _lock_holder(temporary)) is not None:
        found.append(_named(pid, " ".join(_line(_process(pid))), "DVC's lock"))
    holders, written = _holders(temporary)
    top = temporary.parents[1]
    for holder in holders:
        if _state(holder.pid, written) is _State.LIVES:
            paths = sorted({Path(path) for path in holder.paths})
            shown = [str(path.relative_to(top) if path.is_relative_to(top) else path) for path in paths[:SHOWN]]
            found.append(_named(holder.pid, holder.command, ", ".join([*shown, *["..."] * (len(paths) > SHOWN)])))
    return " ".join(found)


def _named(pid: int, command: str, what: str) -> str:
    return f"Process {pid} ({command}) holds {what}: wait for its end, or end it with `kill {pid}`."


# Processes


def _process(pid: int) -> psutil.Process | None:
    """Return a process that lives; one that has ended, and that nobody has waited for, does not."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return process
    return None


def _state(pid: int, written: float) -> _State:
    """Return the state of the process that rwlock, written then, names."""
    try:
        process = psutil.Process(pid)
        if process.create_time() > written + CLOCK_SECONDS:
            return _State.ANOTHER
    except psutil.NoSuchProcess:
        return _State.ENDED
    return _State.LIVES if _process(pid) else _State.ENDED


def _line(process: psutil.Process | None) -> list[str]:
    with suppress(psutil.Error):
        return list(process.cmdline()) if process else []
    return []


def _orphaned(pid: int) -> bool:
    """Return whether a process is one of a stage whose run, or the process that started it, has ended.

    A fork has the command line of its host, and the command line of a host names home.
    """
    process = _process(pid)
    line, parent = _line(process), None
    with suppress(psutil.Error):
        parent = process.parent() if process else None
    if STAGE in line:
        return parent is None or parent.pid != int(line[line.index(PARENT) + 1])
    if HOST not in line and STANDBY not in line:
        return False
    if _line(parent) != line:
        return True
    return HOST in line and parent is not None and parent.ppid() != int(line[line.index(HOST) + 1])


def _group_is_ours(holder: _Holder) -> bool:
    """Return whether the process leads a group: a fork of a host and STAGE do; both name themselves so to DVC."""
    return holder.command.startswith((STAGE, HANDOFF))


def _members(group: int) -> list[psutil.Process]:
    """Return the living processes of a group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0)
        return [each for each in psutil.process_iter() if _group(each.pid) == group and _process(each.pid)]
    return []


def _group(pid: int) -> int:
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return 0


def _end(group: int) -> None:
    """End the processes of a group, and kill those that do not end, also those that are stopped."""
    for numbers in ((signal.SIGTERM, signal.SIGCONT), (signal.SIGKILL,)):
        with suppress(ProcessLookupError, PermissionError):
            for number in numbers:
                os.killpg(group, number)
        if _ended(lambda: _members(group)):
            return


def _ended(left: Callable[[], Iterable[object]]) -> bool:
    end = time.monotonic() + SECONDS_TO_END
    while left():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True
