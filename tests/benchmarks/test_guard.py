"""What is scored on is found among what is to be trained on: taken out and counted, or refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stages.artifacts import InputError, write_table
from stages.benchmarks.data import HELD_OUT
from stages.benchmarks.guard import load_held_out, refuse_shared, shared_rows
from stages.benchmarks.overlaps import fingerprints

HELD = fingerprints(["The storm closed the port.", "A dog plays.", "..."])
LEFT = ["It rained.", "THE STORM CLOSED THE PORT", "Snow.", "...", ""]
RIGHT = ["a dog plays!", "It rained.", "Ice.", "Snow.", "---"]


def test_rows_that_share_a_text() -> None:
    """fault 18: on either side, whatever the capitals and the punctuation; a text without letters is nobody's."""
    assert shared_rows([LEFT, RIGHT], HELD).tolist() == [True, True, False, False, False]
    assert shared_rows([RIGHT, LEFT], HELD).tolist() == [True, True, False, False, False]
    assert shared_rows([LEFT], HELD).tolist() == [False, True, False, False, False]
    assert shared_rows([[]], HELD).tolist() == []


def test_scoring_on_what_was_trained_on_is_refused() -> None:
    """fault 18: with the count and an example; not where the shared rows are gone."""
    with pytest.raises(InputError, match=r"corpus shares 2 of its 5 rows .* first of them 'It rained\.'.* Clean it\."):
        refuse_shared([LEFT, RIGHT], HELD, "corpus", "Clean it.")
    kept = np.flatnonzero(~shared_rows([LEFT, RIGHT], HELD))
    refuse_shared([[side[row] for row in kept] for side in (LEFT, RIGHT)], HELD, "corpus", "Clean it.")


def test_held_out_texts_are_read(tmp_path: Path) -> None:
    write_table(tmp_path / "held_out.parquet", pa.table([pa.array(HELD)], schema=HELD_OUT))
    assert load_held_out(tmp_path).tolist() == HELD.tolist()
    with pytest.raises(InputError, match=r"held_out\.parquet cannot be read"):
        load_held_out(tmp_path / "elsewhere")
