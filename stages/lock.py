"""A lock that says who holds it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class HeldError(Exception):
    """Another process holds the lock; the message is the text that it wrote about itself."""


@contextmanager
def held(path: Path, holder: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path` in the name of `holder`; if another process holds it, raise HeldError at once, or wait.

    The system releases it when the process ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            file.seek(0)
            raise HeldError(file.read() or "one that has just begun") from error

        # The name of the holder is for the message of a second process; the lock itself is the kernel's.
        file.truncate(0)  # a killed holder left its name
        file.write(holder)
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
