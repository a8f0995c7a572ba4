"""Progress of long work: a bar in a terminal, a line every ten seconds in a log."""

import io
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from contextvars import ContextVar
from typing import TextIO, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
LOG_SECONDS = 10.0

log = logging.getLogger(__name__)

_shown: ContextVar[bool | None] = ContextVar("shown", default=None)


@contextmanager
def progress(shown: bool | None) -> Iterator[None]:
    """Set how `track` shows progress within the block.

    True draws bars, False shows nothing; None draws bars in a terminal and logs a line every ten seconds elsewhere.
    """
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def track(items: Iterable[Item], total: int, description: str, done: int = 0) -> Iterator[Item]:
    """Yield `items` while showing how many of `total` are done; `done` of them were finished by an earlier run."""
    shown = _shown.get()
    if shown is False:
        yield from items
        return
    if shown or sys.stderr.isatty():
        yield from tqdm(items, total=total, initial=done, desc=description, leave=False)
        return

    # In a log a bar would be a line for each redraw.
    last = time.monotonic()
    for count, item in enumerate(items, start=done + 1):
        yield item
        if time.monotonic() - last >= LOG_SECONDS:
            last = time.monotonic()
            log.info("%s: %d of %d (%.0f%%)", description, count, total, 100 * count / total)


@contextmanager
def others_logged() -> Iterator[None]:
    """Log the bar of another library within the block, a line every ten seconds, as `track` does outside a terminal.

    Such a bar redraws itself several times a second, and each time is a line of a log.
    """
    if sys.stderr.isatty():
        yield
        return
    with redirect_stderr(_Thinned(sys.stderr)):
        yield


class _Thinned(io.TextIOBase):
    """A stream that logs the lines of a progress bar, every ten seconds, and hands on all else."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.last = time.monotonic()

    def write(self, text: str) -> int:
        if not text.startswith("\r"):
            return self.stream.write(text)
        if text.strip() and time.monotonic() - self.last >= LOG_SECONDS:
            self.last = time.monotonic()
            log.info("%s", text.strip())
        return len(text)

    def flush(self) -> None:
        self.stream.flush()
