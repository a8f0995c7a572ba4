"""The teacher's embeddings as a student learns them: at unit length, and centred if they are all alike.

    t -> t / |t|                                where m, the mean of t / |t| over the sentences, is short
    t -> (t / |t| - m) / |t / |t| - m|          where |m|^2 is above ALIKE

A cosine does not change with the length of a vector, but Adam's steps have a length of their own: without the first
step a teacher of long vectors gives another student than the same teacher with short ones. |m|^2 is the mean cosine of
two sentences. Teachers that are trained at a low temperature have cosines between 0.7 and 1, and a student would spend
its dimensions on what all texts share.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats, unit_rows

ALIKE = 0.5  # mean cosine of two sentences from which on embeddings are centred
EQUAL = 1 - 1e-4  # mean cosine from which on they say nothing, in float16
ROWS = 20_000  # embeddings turned to float32 at a time


@dataclass(frozen=True, eq=False)
class Normalizer:
    """Brings embeddings to unit length.

    Attributes:
        mean_cosine: Of two sentences, in [0, 1].
        centre: (dimension,) float32, subtracted from each embedding of unit length; None if nothing is.

    Example:
        >>> embeddings = np.array([[30, 1], [30, -1], [30, 2]], np.float16)
        >>> normalizer = Normalizer.of(embeddings)
        >>> round(normalizer.mean_cosine, 3), normalizer(embeddings)[:, 1].round().tolist()
        (0.998, [1.0, -1.0, 1.0])
    """

    mean_cosine: float
    centre: Floats | None

    @classmethod
    def of(cls, embeddings: NDArray[np.float16]) -> "Normalizer":
        """Measure the embeddings of sentences, (sentences, dimension), of any length above 0.

        Raises InputError if they all point in one direction.
        """
        mean = np.zeros(embeddings.shape[1])
        for rows in _slices(len(embeddings)):
            mean += unit_rows(embeddings[rows].astype(np.float32)).sum(axis=0, dtype=np.float64)
        mean /= max(len(embeddings), 1)
        mean_cosine = float(mean @ mean)
        if mean_cosine > EQUAL:
            raise InputError(
                f"The teacher's vectors of all {len(embeddings):,} sentences are the same, so there is nothing to "
                "learn from them; check the teacher."
            )
        return cls(mean_cosine, mean.astype(np.float32) if mean_cosine > ALIKE else None)

    def __call__(self, embeddings: NDArray[np.float16]) -> NDArray[np.float16]:
        """Return (any, dimension) embeddings at unit length; zero rows stay zero."""
        result = np.empty_like(embeddings)
        for rows in _slices(len(embeddings)):
            unit = unit_rows(embeddings[rows].astype(np.float32))
            if self.centre is not None:
                unit = unit_rows((unit - self.centre) * unit.any(axis=1, keepdims=True))
            result[rows] = unit
        return result


def _slices(count: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, count, ROWS))
