"""A lock that says who holds it, and that the system lets go when its process ends, however it ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class HeldError(Exception):
    """Another process holds the lock; the message is what it wrote of itself."""


@contextmanager
def held(path: Path, holder: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` in the name of `holder`; raises HeldError at once where another does, or waits for it."""
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
