"""What is scored on is never trained on: rows that share a text with it are taken out and counted, or a run is refused.

    rows   (a, b), (c, d), (e, f)     scored on: b, x     shared: True, False, False

Texts are compared by their fingerprint (stages/benchmarks/overlaps.py), so a swapped pair, other capitals and other
punctuation make no difference. Whoever trains on labelled rows takes those out that `shared_rows` marks. The corpus has
been through the same comparison in `clean`; `refuse_shared` makes sure of it before anything is scored.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stages.artifacts import InputError, read_table
from stages.benchmarks.data import BENCHMARKS_DIRECTORY, HELD_OUT, PairSet
from stages.benchmarks.overlaps import fingerprints
from stages.stage import Counters


def load_held_out(directory: Path = BENCHMARKS_DIRECTORY) -> NDArray[np.uint64]:
    """The fingerprint of every text of a dev or test split, (texts,)."""
    found: NDArray[np.uint64] = read_table(directory / "held_out.parquet", HELD_OUT)["fingerprint"].to_numpy()
    return found


def shared_rows(columns: Sequence[Sequence[str]], held_out: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(rows,) whether one of a row's texts, one from each column, is held out; a text without letters never is."""
    marks = np.stack([fingerprints(column) for column in columns])
    found: NDArray[np.bool_] = (np.isin(marks, held_out) & (marks != 0)).any(axis=0)
    return found


def unseen(pairs: PairSet, counters: Counters) -> PairSet:
    """The pairs that share no text with what is scored on; the others are dropped and counted."""
    shared = shared_rows((pairs.sentences1, pairs.sentences2), load_held_out())
    counters.drop("sentence held out", int(shared.sum()))
    counters.keep(int((~shared).sum()))
    return pairs.take(np.flatnonzero(~shared))


def refuse_shared(columns: Sequence[Sequence[str]], held_out: NDArray[np.uint64], where: str, remedy: str) -> None:
    """Raises InputError with the count and an example where models were trained on a text that is to be scored on."""
    shared = shared_rows(columns, held_out)
    if shared.any():
        row = int(shared.argmax())
        raise InputError(
            f"{where} shares {shared.sum():,} of its {len(shared):,} rows with what evaluation scores on, the first "
            f"of them {columns[0][row][:80]!r}: nothing is scored. {remedy}"
        )
