"""The benchmark of soft labels: both sides must have equal embeddings, or their speeds mean nothing."""

from pathlib import Path

import numpy as np
import pytest

from measurements.soft_labels import compare, encode, own
from sentence_distillery.teachers.options import Teacher
from stages.params import Params
from tests.tiny_bert import write_tiny_bert
from tests.workspace import demo_params

TEXTS = ["the storm hears water", "a dog sees people", "people", "the police sees a guitar"] * 5


def test_both_sides_embed_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours are in float16, as stored; if both sides are the same, the ratio is near 1."""
    monkeypatch.setenv("DISTILLERY_DEVICE", "cpu")
    write_tiny_bert(tmp_path)
    teacher = {"reference": str(tmp_path), "sha256": None, "maximum_length": 16}
    params = Params(**demo_params(teacher=teacher))
    assert isinstance(params.teacher, Teacher)
    found = compare(own(params), encode(params.teacher), TEXTS, runs=2)
    assert found["least_cosine"] >= 0.9999
    assert found["own"] > 0 and found["encode"] > 0 and found["own_is_times_as_fast"] > 0


def test_a_difference_shows() -> None:
    """The largest difference of a pair counts, not the mean."""
    same = np.eye(3, dtype=np.float32)
    turned = same.copy()
    turned[2] = [0.0, 1.0, 0.0]
    found = compare(lambda _: same, lambda _: turned, ["a", "b", "c"], runs=1)
    assert found["least_cosine"] == 0.0
