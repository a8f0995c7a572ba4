"""Progress of long work: a bar in a terminal, a line every ten seconds in a log."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

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
    last = time.monotonic()
    for count, item in enumerate(items, start=done + 1):
        yield item
        if time.monotonic() - last >= LOG_SECONDS:
            last = time.monotonic()
            log.info("%s: %d of %d (%.0f%%)", description, count, total, 100 * count / total)
