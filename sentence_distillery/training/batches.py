"""Batches of training examples, in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Source(Protocol[Item_co]):
    """The source of a training's batches, of any kind."""

    @property
    def steps(self) -> int:
        """Batches in an epoch, at most."""

    def __call__(self, epoch: int) -> Iterator[Item_co]:
        """Yield the batches of the epoch of this number, from 0."""


@dataclass(frozen=True)
class InOrder(Generic[Item]):
    """Repeat the same batches, `items`, in each epoch."""

    items: Sequence[Item]

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        return len(self.items)

    def __call__(self, epoch: int) -> Iterator[Item]:
        """Yield the batches."""
        return iter(self.items)


@dataclass(frozen=True)
class Batches:
    """Shuffled batches of `rows`."""

    rows: Rows  # the numbers of the examples, (examples,) int64
    size: int  # examples in a batch, at least 1
    seed: int  # of the order, at least 0
    # batches in an epoch, at least 1, taken from endless passes over the rows; None means one pass
    iterations: int | None = None
    smallest: int = 2  # a batch with fewer examples is left out: 2, if a loss compares the examples of a batch

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        whole, rest = divmod(len(self.rows), self.size)
        return self.iterations or whole + (rest >= self.smallest)

    def __call__(self, epoch: int) -> Iterator[Rows]:
        """Yield the batches of an epoch, each (size,) int64; the last one of a pass may be smaller."""
        stream = self._stream(epoch)
        for start in range(0, len(stream), self.size):
            if len(batch := stream[start : start + self.size]) >= self.smallest:
                yield batch

    def _stream(self, epoch: int) -> Rows:
        """Return the examples of an epoch in order."""
        count = len(self.rows)
        if self.iterations is None:
            return self.rows[np.random.default_rng((self.seed, epoch)).permutation(count)]

        # Passes are endless: an epoch takes its share of them, wherever a pass ends.
        first, last = (place * self.iterations * self.size for place in (epoch, epoch + 1))
        passes = range(first // count, (last - 1) // count + 1)
        orders = [np.random.default_rng((self.seed, number)).permutation(count) for number in passes]
        return self.rows[np.concatenate(orders)[first - passes.start * count :][: last - first]]
