"""Decontamination: drop and count training rows that share a text with an evaluation split, or refuse them.

    rows   (a, b), (c, d), (e, f)     evaluated: b, x     shared: True, False, False

Texts are compared by their fingerprint (corpus/fingerprints.py). `corpus.cleaning` drops such sentences from the
corpus; `refuse_shared` checks this before anything is scored.

The splits of SICK and of MRPC share most of their sentences by design, so there `guarded` drops whole pairs only: one
sentence in common does not count.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.io.artifacts import InputError
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


def shared_rows(columns: Sequence[Sequence[str]], evaluated: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mark the rows, (rows,) bool, with an evaluated text in one of their columns; a text without letters never is."""
    marks = np.stack([fingerprints(column) for column in columns])
    shared: NDArray[np.bool_] = (np.isin(marks, evaluated) & (marks != 0)).any(axis=0)
    return shared


def pair_keys(pairs: Pairs) -> list[Key]:
    """Return each pair's two fingerprints in ascending order, so that (a, b) and (b, a) are alike."""
    both = np.sort(np.stack([fingerprints(pairs.sentences1), fingerprints(pairs.sentences2)], axis=1), axis=1)
    return [(low, high) for low, high in both.tolist()]


def guarded(train: P, scored: Mapping[str, Pairs], counters: Counters) -> P:
    """Return `train` without the pairs of `scored`, in either order; each is counted under the name of its set."""
    own = pair_keys(train)
    kept = np.ones(len(own), dtype=bool)

    # A pair that several sets share is counted under the first of them.
    for name, pairs in scored.items():
        others = set(pair_keys(pairs))
        shared = np.array([key in others for key in own], dtype=bool)
        counters.drop(f"pair of {name}", int((shared & kept).sum()))
        kept &= ~shared
    return train.take(np.flatnonzero(kept))


def refuse_shared(columns: Sequence[Sequence[str]], evaluated: NDArray[np.uint64], where: str, remedy: str) -> None:
    """Raise InputError, with the count and an example, if a row has a text of an evaluation split."""
    shared = shared_rows(columns, evaluated)
    if shared.any():
        row = int(shared.argmax())
        raise InputError(
            f"{where} shares {shared.sum():,} of its {len(shared):,} rows with the evaluation sets, the first one "
            f"{columns[0][row][:80]!r}. Nothing is scored. {remedy}"
        )
