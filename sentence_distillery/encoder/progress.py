"""A line on the standard error that counts texts, for `show_progress_bar`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TextIO


@dataclass
class Progress:
    """Count finished texts out of `total`; write nothing if `shown` is false.

    Example:
        >>> progress = Progress(2_000, shown=True, stream=sys.stdout)
        >>> progress.advance(500)  # doctest: +ELLIPSIS
        encode: 500 of 2,000 texts (25 %)...
    """

    total: int
    shown: bool
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    done: int = 0

    def advance(self, texts: int) -> None:
        """Add `texts` to the count and rewrite the line."""
        self.done += texts
        if self.shown:
            end = "\n" if self.done >= self.total else "\r"
            self.stream.write(f"encode: {self.done:,} of {self.total:,} texts ({100 * self.done // self.total} %){end}")
            self.stream.flush()
