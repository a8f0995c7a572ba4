"""Encode many texts in threads, a batch of them at a time, and count those that are finished."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TextIO

from sentence_distillery.runtime.machine import cores

BATCH = 32_768  # texts that a thread takes at a time, at most
SMALLEST_BATCH = 2_048


@dataclass
class Progress:
    """Count finished texts out of `total` in a line on the standard error.

    Example:
        >>> progress = Progress(2_000, stream=sys.stdout)
        >>> progress.advance(500)  # doctest: +ELLIPSIS
        encode: 500 of 2,000 texts (25 %)...
    """

    total: int
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    done: int = 0

    def advance(self, texts: int) -> None:
        """Add `texts` to the count and rewrite the line."""
        self.done += texts
        end = "\n" if self.done >= self.total else "\r"
        percent = 100 * self.done // self.total if self.total else 100  # no text at all is all of them
        self.stream.write(f"encode: {self.done:,} of {self.total:,} texts ({percent} %){end}")
        self.stream.flush()


def in_batches(
    encode: Callable[[slice], None],
    texts: int,
    batch_size: int | None,
    progress: Progress | None,
    with_layers: bool,
) -> None:
    """Encode spans of texts: few here, many in as many threads as there are cores.

    `batch_size` texts are in a span, by default about as many for each thread. `progress` is told of each span.
    `with_layers` says whether NumPy computes layers.
    """
    if texts <= (batch_size or SMALLEST_BATCH):  # without asking the system for its cores
        encode(slice(0, texts))
        if progress is not None:
            progress.advance(texts)
        return

    # Equal batches, so that all threads finish together.
    threads = cores()
    rounds = max(1, -(-texts // (threads * BATCH)))
    size = batch_size or max(SMALLEST_BATCH, -(-texts // (threads * rounds)))
    spans = [slice(start, min(start + size, texts)) for start in range(0, texts, size)]
    with _one_blas_thread() if with_layers else nullcontext():
        _in_pool(encode, spans, threads, progress)


def _in_pool(encode: Callable[[slice], None], spans: list[slice], threads: int, progress: Progress | None) -> None:
    from concurrent.futures import ThreadPoolExecutor  # a few texts do without this import

    pool = ThreadPoolExecutor(threads)
    try:
        jobs = [pool.submit(encode, span) for span in spans]
        for job, span in zip(jobs, spans, strict=True):
            job.result()
            if progress is not None:
                progress.advance(span.stop - span.start)
    finally:
        pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C, only spans that have begun are finished


def _one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS, which computes the layers, from starting threads of its own: they would wait for each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:  # it comes with what trains such models; without it, this is only slower
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(1, "blas")
    return limits
