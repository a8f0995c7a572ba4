"""What is scored on is never trained on: rows that share a text with it are taken out and counted, or a run is refused.

    rows   (a, b), (c, d), (e, f)     scored on: b, x     shared: True, False, False

Texts are compared by their fingerprint (sentence_distillery/benchmarks/overlaps.py), so a swapped pair, other capitals and other
punctuation make no difference. Whoever trains on labelled rows takes those out that `shared_rows` marks. The corpus has
been through the same comparison in `clean`; `refuse_shared` makes sure of it before anything is scored.

Sets of pairs that share most of their sentences by design (SICK, MRPC) are trained on without the pairs that are scored
on: `guarded`, where a single text in common is none.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.benchmarks.data import BENCHMARKS_DIRECTORY, EVALUATION_FINGERPRINTS, PairSet
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.io.artifacts import InputError, read_table
from sentence_distillery.io.counters import Counters

Key = tuple[int, int]  # the fingerprints of a pair's texts


class Pairs(Protocol):
    """Texts in pairs."""

    @property
    def sentences1(self) -> list[str]: ...

    @property
    def sentences2(self) -> list[str]: ...

    def take(self: "P", rows: NDArray[np.int64]) -> "P":
        """The pairs at `rows`, in that order."""
        ...


P = TypeVar("P", bound=Pairs)


def load_evaluation_fingerprints(directory: Path = BENCHMARKS_DIRECTORY) -> NDArray[np.uint64]:
    """The fingerprint of every text of a dev or test split, (texts,)."""
    found: NDArray[np.uint64] = read_table(directory / "evaluation_fingerprints.parquet", EVALUATION_FINGERPRINTS)[
        "fingerprint"
    ].to_numpy()
    return found


def shared_rows(columns: Sequence[Sequence[str]], evaluated: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(rows,) whether one of a row's texts, one from each column, is held out; a text without letters never is."""
    marks = np.stack([fingerprints(column) for column in columns])
    found: NDArray[np.bool_] = (np.isin(marks, evaluated) & (marks != 0)).any(axis=0)
    return found


def unseen(pairs: PairSet, counters: Counters) -> PairSet:
    """The pairs that share no text with what is scored on; the others are dropped and counted."""
    shared = shared_rows((pairs.sentences1, pairs.sentences2), load_evaluation_fingerprints())
    counters.drop("sentence in an evaluation set", int(shared.sum()))
    counters.keep(int((~shared).sum()))
    return pairs.take(np.flatnonzero(~shared))


def pair_keys(pairs: Pairs) -> list[Key]:
    """Each pair's two fingerprints in ascending order, so that (a, b) and (b, a) are alike."""
    both = np.sort(np.stack([fingerprints(pairs.sentences1), fingerprints(pairs.sentences2)], axis=1), axis=1)
    return [(low, high) for low, high in both.tolist()]


def guarded(train: P, scored: Mapping[str, Pairs], counters: Counters) -> P:
    """`train` without the pairs that stand in `scored`, in either order; each is dropped under the name it is in."""
    own = pair_keys(train)
    kept = np.ones(len(own), dtype=bool)
    for name, pairs in scored.items():
        others = set(pair_keys(pairs))
        found = np.array([key in others for key in own], dtype=bool)
        counters.drop(f"pair of {name}", int((found & kept).sum()))
        kept &= ~found
    return train.take(np.flatnonzero(kept))


def refuse_shared(columns: Sequence[Sequence[str]], evaluated: NDArray[np.uint64], where: str, remedy: str) -> None:
    """Raises InputError with the count and an example where models were trained on a text that is to be scored on."""
    shared = shared_rows(columns, evaluated)
    if shared.any():
        row = int(shared.argmax())
        raise InputError(
            f"{where} shares {shared.sum():,} of its {len(shared):,} rows with what evaluation scores on, the first "
            f"of them {columns[0][row][:80]!r}: nothing is scored. {remedy}"
        )
