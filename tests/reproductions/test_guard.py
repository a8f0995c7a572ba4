"""Pairs that are scored are kept out of the pairs that are trained on."""

import numpy as np
import pytest

from reproductions.grid.guard import guarded
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.counters import Counters


def pair_set(*pairs: tuple[str, str]) -> PairSet:
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    return PairSet("here", "train", left, right, np.arange(len(pairs), dtype=np.float32), None, (0, 5))


@pytest.mark.fault(18)
def test_guard() -> None:
    """A pair that is scored on, in either order, whatever its case, is removed and counted once; a sentence is not."""
    train = pair_set(("A dog runs.", "A cat."), ("Water boils", "It steams."), ("A", "C"), ("B", "D"))
    one, two = pair_set(("it steams", "WATER, boils!")), pair_set(("A cat", "a dog runs"), ("It steams", "Water boils"))
    counters = Counters("pairs")
    left = guarded(train, {"one": one, "two": two, "three": pair_set(), "four": pair_set(("A", "D"))}, counters)
    assert (left.sentences1, left.sentences2) == (["A", "B"], ["C", "D"])
    assert left.scores is not None and left.scores.tolist() == [2, 3]
    assert +counters.dropped == {"pair of one": 1, "pair of two": 1}
