"""Progress of long work: a bar in a terminal, a line every ten seconds in a log."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
LOG_SECONDS = 10.0

log = logging.getLogger("stages")


def track(items: Iterable[Item], total: int, description: str, done: int = 0) -> Iterator[Item]:
    """Yield `items` while showing how many of `total` are done; `done` of them were finished by an earlier run."""
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, initial=done, desc=description, leave=False)
        return
    last = time.monotonic()
    for count, item in enumerate(items, start=done + 1):
        yield item
        if time.monotonic() - last >= LOG_SECONDS:
            last = time.monotonic()
            log.info("%s: %d of %d (%.0f%%)", description, count, total, 100 * count / total)
