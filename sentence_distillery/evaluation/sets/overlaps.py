"""Find the sentences and pairs that two sets share, compared by their fingerprints (corpus/fingerprints.py).

A pair is compared by its two fingerprints in ascending order, so that (a, b) and (b, a) are one pair.

    train: (a, b), (c, d)   test: (b, a), (d, e)   shared: 3 sentences (a, b, d) and 1 pair (a, b)

A document counts as one sentence: only the whole text is compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.corpus.fingerprints import fingerprints

PAIR = np.dtype([("low", np.uint64), ("high", np.uint64)])


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
    first = fingerprints(sentences)
    if others is None:
        return Group(np.unique(first[first != 0]), np.empty(0, dtype=PAIR))
    both = np.stack([first, fingerprints(others)], axis=1)

    # A fingerprint of 0 is a text without letters, which is like no other.
    whole = np.sort(both[(both != 0).all(axis=1)], axis=1)
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
