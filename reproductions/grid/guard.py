"""Keep pairs that are scored out of the pairs that are trained on.

The splits of SICK and of MRPC share most of their sentences by design, so only whole pairs are left out: one sentence
in common does not count.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.sets.decontamination import ascending
from sentence_distillery.io.counters import Counters

Key = tuple[int, int]  # the fingerprints of a pair's texts


class Pairs(Protocol):
    """Texts in pairs."""

    @property
    def sentences1(self) -> list[str]: ...

    @property
    def sentences2(self) -> list[str]: ...

    def take(self: "P", rows: NDArray[np.int64]) -> "P":
        """Return the pairs at `rows`, in that order."""
        ...


P = TypeVar("P", bound=Pairs)


def pair_keys(pairs: Pairs) -> list[Key]:
    """Return the fingerprints of each pair, alike for (a, b) and (b, a)."""
    return [(low, high) for low, high in ascending(pairs.sentences1, pairs.sentences2).tolist()]


def guarded(train: P, scored: Mapping[str, Pairs], counters: Counters) -> P:
    """Return `train` without the pairs of `scored`, in either order; each is counted under the name of its set."""
    own = pair_keys(train)
    kept = np.ones(len(own), dtype=bool)

    # A pair that several sets share is counted under the first of them.
    for name, pairs in scored.items():
        others = set(pair_keys(pairs))
        scored_on = np.array([key in others for key in own], dtype=bool)
        counters.drop(f"pair of {name}", int((scored_on & kept).sum()))
        kept &= ~scored_on
    return train.take(np.flatnonzero(kept))
