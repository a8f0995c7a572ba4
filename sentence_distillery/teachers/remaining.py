"""Say how long the rest of the soft labels will take, from the time of the first texts.

about 2 minutes left
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

BYTES_A_PIECE = 4.5  # of English text in UTF-8
SPECIAL = 2  # word pieces at the ends of a text
SHORT = 10.0  # seconds; less is not worth a line

Item = TypeVar("Item")

log = logging.getLogger(__name__)


def pieces(texts: Iterable[str]) -> float:
    """Estimate the word pieces of texts, which are the work of a transformer."""
    return sum(len(text.encode()) / BYTES_A_PIECE + SPECIAL for text in texts)


def duration(seconds: float) -> str:
    """Round a time to the precision of an estimate.

    >>> duration(3), duration(42), duration(100), duration(2000), duration(9000)
    ('10 seconds', '40 seconds', '2 minutes', '33 minutes', '2.5 hours')
    """
    if seconds < 55:
        return f"{max(10, round(seconds, -1)):.0f} seconds"
    minutes = seconds / 60
    if minutes < 90:
        return f"{(whole := max(1, round(minutes)))} minute{'s' * (whole > 1)}"
    return f"{minutes / 60:.1f} hours"


def announced(chunks: Iterable[Item], work: Sequence[float]) -> Iterator[Item]:
    """Yield chunks of vectors, and say after the first one how long the rest will take.

    Args:
        chunks: One after the other, each as soon as it is made.
        work: Of each chunk, in word pieces; a word is less than a sentence.
    """
    started = time.monotonic()
    for place, chunk in enumerate(chunks):
        if place == 0 and (left := (time.monotonic() - started) * sum(work[1:]) / max(work[0], 1.0)) >= SHORT:
            log.info("about %s left", duration(left))
        yield chunk
