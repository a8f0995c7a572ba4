"""Decontamination: count what sets share, and drop training rows that share a text with an evaluation split.

    rows   (a, b), (c, d), (e, f)   evaluated: b, x          shared: True, False, False
    train: (a, b), (c, d)           test: (b, a), (d, e)     shared: 3 sentences (a, b, d) and 1 pair (a, b)

Texts are compared by their fingerprint (corpus/fingerprints.py), a document as a whole. `corpus.cleaning` drops such
sentences from the corpus; `refuse_shared` checks this before anything is scored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.io.artifacts import InputError

PAIR = np.dtype([("low", np.uint64), ("high", np.uint64)])


def shared_rows(columns: Sequence[Sequence[str]], evaluated: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mark the rows, (rows,) bool, with an evaluated text in one of their columns; a text without letters never is."""
    marks = np.stack([fingerprints(column) for column in columns])
    found: NDArray[np.bool_] = (np.isin(marks, evaluated) & (marks != 0)).any(axis=0)
    return found


def ascending(left: Sequence[str], right: Sequence[str]) -> NDArray[np.uint64]:
    """Return each pair's two fingerprints in ascending order, (pairs, 2), so that (a, b) and (b, a) are alike."""
    return np.sort(np.stack([fingerprints(left), fingerprints(right)], axis=1), axis=1)


def refuse_shared(columns: Sequence[Sequence[str]], evaluated: NDArray[np.uint64], where: str, remedy: str) -> None:
    """Raise InputError, with the count and an example, if a row has a text of an evaluation split."""
    found = shared_rows(columns, evaluated)
    if found.any():
        row = int(found.argmax())
        raise InputError(
            f"{where} shares {found.sum():,} of its {len(found):,} rows with the evaluation sets, the first one "
            f"{columns[0][row][:80]!r}. Nothing is scored. {remedy}"
        )


@dataclass(frozen=True)
class Group:
    """One split of one set: its distinct sentences (n,) uint64 and distinct pairs (m,) PAIR, both sorted.

    Texts without a letter or a digit are left out. Documents have no pairs.
    """

    sentences: NDArray[np.uint64]
    pairs: NDArray[Any]

    @property
    def distinct(self) -> dict[str, int]:
        return {"sentences": len(self.sentences), "pairs": len(self.pairs)}


def group(sentences: Sequence[str], others: Sequence[str] | None = None) -> Group:
    """Make the group of documents, or of the pairs (sentences[i], others[i])."""
    if others is None:
        marks = fingerprints(sentences)
        return Group(np.unique(marks[marks != 0]), np.empty(0, dtype=PAIR))

    # A fingerprint of 0 is a text without letters, which is like no other.
    both = ascending(sentences, others)
    whole = both[(both != 0).all(axis=1)]
    return Group(np.unique(both[both != 0]), np.unique(whole.view(PAIR).ravel()))


def shared(one: Group, other: Group) -> dict[str, int]:
    """Count the distinct sentences and pairs that two groups share."""
    return {
        "sentences": np.intersect1d(one.sentences, other.sentences, assume_unique=True).size,
        "pairs": np.intersect1d(one.pairs, other.pairs, assume_unique=True).size,
    }


def overlaps(groups: Mapping[tuple[str, str], Group]) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Count the shared texts and pairs of each two groups: {set: {split: {"set/split": counts}}}, both ways.

    Two groups that share nothing are not listed.
    """
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for one, other in combinations(groups, 2):
        counts = shared(groups[one], groups[other])
        if any(counts.values()):
            for here, there in ((one, other), (other, one)):
                found.setdefault(here[0], {}).setdefault(here[1], {})["/".join(there)] = counts
    return found


def union(groups: Iterable[Group]) -> NDArray[np.uint64]:
    """Merge the distinct sentences of all groups, sorted, (n,) uint64."""
    return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *(group.sentences for group in groups)]))
