"""The SHA-256 of each file that a run has written, so that a later reader notices when one has changed.

A schema cannot tell 0.8127 from 0.8147: only the bytes can. Within `ledger`, the writers of `io.artifacts` note each
file and directory that they put in its place, and the readers compare the files that they read with what is known of
them. Without a ledger nothing is noted or compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sentence_distillery.io.errors import RESTORE, InputError, unreadable

State = tuple[int, int, int]


@dataclass
class Ledger:
    """The SHA-256 of files by their paths, the targets that were written since, and the files already compared."""

    known: dict[str, str]
    written: list[Path] = field(default_factory=list)
    compared: dict[str, State] = field(default_factory=dict)

    def checksums(self, left_out: tuple[Path, ...] = ()) -> dict[str, str]:
        """Return the SHA-256 of each file that was written and is still there, but not of those below `left_out`."""
        targets = [path for path in self.written if path.exists() and not any(map(path.is_relative_to, left_out))]
        found = {file for target in targets for file in ([target] if target.is_file() else target.rglob("*"))}
        return {file.as_posix(): sha256(file) for file in sorted(found) if file.is_file()}


_ledgers: list[Ledger] = []  # the last one is in use; a stage within a stage has its own


@contextmanager
def ledger(known: Mapping[str, str]) -> Iterator[Ledger]:
    """Note the files written in the block, and compare the files read with their `known` checksums, SHA-256 by path."""
    _ledgers.append(Ledger(dict(known)))
    try:
        yield _ledgers[-1]
    finally:
        _ledgers.pop()


def note(target: Path) -> None:
    """Note a file or a directory that is in its place now; forget the SHA-256 of a former one."""
    if not _ledgers:
        return
    last = _ledgers[-1]
    last.written.append(target)
    for path in (target, *known_files(target)):
        last.known.pop(path.as_posix(), None)


def check_file(path: Path) -> None:
    """Compare a file with its SHA-256, if that is known; raises InputError if it is another one."""
    known = _ledgers[-1].known.get(path.as_posix()) if _ledgers else None
    if known is None:
        return
    state = _state(path)
    if _ledgers[-1].compared.get(path.as_posix()) == state:
        return  # a large file is read in many pieces, but hashed once

    # Valid content is not enough: a table of another run has a valid form, too.
    if (found := sha256(path)) != known:
        raise InputError(
            f"{path} has changed since it was written: its SHA-256 is {found[:12]}…, not {known[:12]}…. {RESTORE}", path
        )
    _ledgers[-1].compared[path.as_posix()] = state


def is_there(path: Path) -> bool:
    """Tell whether a file that a run may lack is there; raises InputError if it was written and is gone."""
    if not path.exists() and _ledgers and path.as_posix() in _ledgers[-1].known:
        raise InputError(f"{path} is missing. {RESTORE}", path)
    return path.exists()


def check_directory(directory: Path) -> None:
    """Compare each file of a directory that was written as a whole; raises InputError for a changed or missing one."""
    for path in known_files(directory):
        if not path.is_file():
            raise InputError(f"{path} is missing, or is not a file. {RESTORE}", path)
        check_file(path)


def known_files(directory: Path) -> list[Path]:
    """Return the files below a directory whose SHA-256 is known, in order."""
    start = f"{directory.as_posix()}/"
    return [Path(name) for name in sorted(_ledgers[-1].known if _ledgers else ()) if name.startswith(start)]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file; raises InputError if it cannot be read."""
    import hashlib  # an encoder is loaded without it

    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error.strerror) from error


def _state(path: Path) -> State:
    """Return the properties that change when a file is written again: inode, size and time."""
    try:
        found = path.stat()
    except OSError as error:
        raise unreadable(path, error.strerror) from error
    return found.st_ino, found.st_size, found.st_mtime_ns
