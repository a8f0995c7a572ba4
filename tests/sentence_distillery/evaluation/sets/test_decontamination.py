"""Evaluation sentences in training text are found: removed and counted, or refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, FINGERPRINTS, BenchmarkData, PairSet
from sentence_distillery.evaluation.sets.decontamination import guarded, refuse_shared, shared_rows
from sentence_distillery.io.artifacts import InputError, write_table
from sentence_distillery.io.counters import Counters

HELD = fingerprints(["The storm closed the port.", "A dog plays.", "..."])
LEFT = ["It rained.", "THE STORM CLOSED THE PORT", "Snow.", "...", ""]
RIGHT = ["a dog plays!", "It rained.", "Ice.", "Snow.", "---"]


@pytest.mark.fault(18)
def test_rows_that_share_a_text() -> None:
    """On either side, whatever the capitals and the punctuation; a text without letters matches nothing."""
    assert shared_rows([LEFT, RIGHT], HELD).tolist() == [True, True, False, False, False]
    assert shared_rows([RIGHT, LEFT], HELD).tolist() == [True, True, False, False, False]
    assert shared_rows([LEFT], HELD).tolist() == [False, True, False, False, False]
    assert shared_rows([[]], HELD).tolist() == []


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


@pytest.mark.fault(18)
def test_scoring_on_what_was_trained_on_is_refused() -> None:
    """With the count and an example; not if the shared rows are gone."""
    with pytest.raises(InputError, match=r"corpus shares 2 of its 5 rows .* first one 'It rained\.'.* Clean it\."):
        refuse_shared([LEFT, RIGHT], HELD, "corpus", "Clean it.")
    kept = np.flatnonzero(~shared_rows([LEFT, RIGHT], HELD))
    refuse_shared([[side[row] for row in kept] for side in (LEFT, RIGHT)], HELD, "corpus", "Clean it.")


def test_held_out_texts_are_read(tmp_path: Path) -> None:
    write_table(tmp_path / FINGERPRINTS, pa.table([pa.array(HELD)], schema=EVALUATION_FINGERPRINTS))
    assert BenchmarkData(tmp_path).fingerprints().tolist() == HELD.tolist()
    with pytest.raises(InputError, match=r"elsewhere/evaluation_fingerprints\.parquet cannot be read"):
        BenchmarkData(tmp_path / "elsewhere").fingerprints()
