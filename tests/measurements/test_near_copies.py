"""measurements/near_copies.py: Jaccard indices by hand, pairs in two parts, and each part's own figure."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from measurements import near_copies
from measurements.near_copies import THRESHOLDS, TrainingText, measured, nearest_of
from sentence_distillery import load
from sentence_distillery.evaluation.sets.data import PairSet

TEXT = ["A dog runs in the park.", "The storm closed the port.", "..."]
SENTENCES = st.lists(st.sampled_from("abcdefgh"), max_size=6).map(" ".join)


def test_nearest_by_hand() -> None:
    """Without punctuation; a sentence without a word is like no other."""
    sentences = ["A dog runs in the park!", "The storm closed a port.", "A dog sleeps.", "..."]
    assert [TrainingText(TEXT).nearest(each) for each in sentences] == pytest.approx([1.0, 4 / 5, 2 / 7, 0.0])


@given(st.lists(SENTENCES, max_size=8), SENTENCES)
def test_no_candidate_is_overlooked(training: list[str], sentence: str) -> None:
    own = set(sentence.split())
    indices = [len(own & set(each.split())) / len(own | set(each.split())) for each in training if each and own]
    greatest = max(indices, default=0.0)
    assert TrainingText(training).nearest(sentence) == greatest


def test_each_part_has_its_own_figure() -> None:
    first = [
        "A dog runs in the park.",
        "A cat sleeps.",
        "Stocks fell today.",
        "He plays a guitar.",
        "Rain is expected.",
    ]
    second = ["A dog sleeps.", "A dog runs in the park!", "Shares fell.", "She plays the piano.", "It will rain soon."]
    pairs = PairSet("mine", "test", first, second, np.array([3, 1, 5, 2, 4], np.float32), None, (0.0, 5.0))
    nearest = nearest_of(pairs, TrainingText(TEXT))
    assert nearest[:2].tolist() == [1, 1] and nearest[2:].max() < THRESHOLDS[0]
    rows = {row.protocol: row for row in measured(pairs, nearest, ["released"])}
    assert [(name, row.n) for name, row in rows.items()] == [
        ("without, 0.5", 3),
        ("with, 0.5", 2),
        ("without, 0.8", 3),
        ("with, 0.8", 2),
    ]
    vectors = [load().encode(side[2:]) for side in (first, second)]
    expected = spearmanr((vectors[0] * vectors[1]).sum(axis=1), [5, 2, 4]).statistic
    assert rows["without, 0.8"].value == pytest.approx(expected)


def test_a_run_without_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="near_copies: "):
        near_copies.main([str(tmp_path), "--text", str(tmp_path / "absent")])
