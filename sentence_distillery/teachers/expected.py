"""Estimate the time of soft labels, before the teacher is loaded and again after its first texts.

    10,003 texts, 24,510 words: about 2 minutes on 2 threads with a teacher of 23 million parameters, and 0.8 GB

Both are estimates: encoders/cost.py says how. Shards that an earlier run cached are not taken off: which ones these are
shows once the teacher is loaded.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import torch

from sentence_distillery.runtime.device import device
from sentence_distillery.teachers.cost import Cost, cost_of, pieces, seconds_for
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.teachers import GivenTeacher

NUMBER = 4  # bytes of a parameter
LIBRARIES = 300_000_000  # bytes that transformers and its batches take, measured with MiniLM-L6
PAGE = 4_096
SHORT = 10.0  # seconds; less is not worth a line

Item = TypeVar("Item")

log = logging.getLogger(__name__)


def expectation(teachers: Sequence[GivenTeacher], texts: Sequence[int], words: Sequence[int]) -> str:
    """Say how long the teachers will take, and how much memory.

    Args:
        teachers: As `label` gets them.
        texts: The bytes of each text in UTF-8.
        words: The bytes of each word.

    Returns:
        A line; without a time if a teacher is not a transformer, whose cost nothing says beforehand.
    """
    counted = f"{len(texts):,} texts, {len(words):,} words"
    costs = [cost_of(teacher) if isinstance(teacher, Teacher) else None for teacher in teachers]
    known = [cost for cost in costs if cost]
    if len(known) < len(costs):
        return counted
    tokens = pieces(len(texts) + len(words), sum(texts) + sum(words))
    seconds = sum(seconds_for(cost, tokens) for cost in known)
    where = "a GPU" if device().type != "cpu" else f"{(threads := torch.get_num_threads())} thread{'s' * (threads > 1)}"
    memory = f"{_memory(known) / 1e9:.1f} GB of memory"
    return f"{counted}: about {duration(seconds)} on {where} with {_named(known)}, and {memory}"


def _named(costs: Sequence[Cost]) -> str:
    millions = " and ".join(f"{cost.parameters / 1e6:,.0f}" for cost in costs)
    return f"{'a teacher' if len(costs) == 1 else 'teachers'} of {millions} million parameters"


def _memory(costs: Sequence[Cost]) -> int:
    """Add the bytes of the weights and the libraries to those that this process has now."""
    present = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return present + LIBRARIES + NUMBER * sum(cost.parameters for cost in costs)


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


def refined(chunks: Iterable[Item], work: Sequence[float]) -> Iterator[Item]:
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


def sizes(texts: Iterable[str]) -> list[int]:
    """Return the bytes of each text in UTF-8."""
    return [len(text.encode()) for text in texts]
