"""Evaluation sentences in training text are found: removed and counted, or refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, FINGERPRINTS, BenchmarkData
from sentence_distillery.evaluation.sets.decontamination import refuse_shared, shared_rows
from sentence_distillery.io.artifacts import InputError, write_table

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
