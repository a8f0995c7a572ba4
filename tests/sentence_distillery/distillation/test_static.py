"""The start of the static student: principal directions, projected targets and scaled word vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentence_distillery.distillation import static_student as static
from sentence_distillery.distillation.start import initial_table, load_start, started_from
from sentence_distillery.distillation.static_student import principal_directions, project
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

pytestmark = pytest.mark.usefixtures("both_ways")  # native and simple

TARGETS = (np.random.default_rng(0).normal(size=(40, 6)) * [9, 5, 3, 2, 1, 0.5] + 1).astype(np.float16)


@pytest.mark.parametrize("rows", [7, 1_000])
def test_principal_directions_equal_the_svd(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Singular vectors are unique up to their sign; not centred."""
    monkeypatch.setattr(static, "ROWS", rows)
    directions = principal_directions(TARGETS, 3)
    expected = np.linalg.svd(TARGETS.astype(np.float64))[2][:3].T
    np.testing.assert_allclose(np.abs((directions * expected).sum(axis=0)), 1.0, atol=1e-5)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-5)


def test_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "ROWS", 7)
    directions = principal_directions(TARGETS, 6)
    projected = project(TARGETS, directions)
    assert projected.dtype == np.float16
    np.testing.assert_allclose(projected, TARGETS.astype(np.float64) @ directions, atol=0.02)
    plain = TARGETS.astype(np.float64)
    np.testing.assert_allclose(projected.astype(np.float64) @ projected.T, plain @ plain.T, rtol=0.01, atol=0.5)


def test_initial_table_by_hand() -> None:
    """The mean vector is (3, 4); p = 0.75, 0.25, 0 and a = 0.001: weights 0.001 / 0.751, 0.001 / 0.251 and 1."""
    vectors = np.array([[1, 2], [2, 4], [6, 6]], dtype=np.float32)
    start = initial_table(vectors, np.array([3, 1, 0]))
    expected = [[0, 0], [-0.002 / 0.751, -0.002 / 0.751], [-0.001 / 0.251, 0], [3, 2]]
    assert start.dtype == np.float32
    np.testing.assert_allclose(start, np.array(expected), rtol=1e-6)
    unseen = initial_table(np.array([[1, 3], [3, 5]], np.float32), np.array([0, 0]))
    np.testing.assert_array_equal(unseen, [[0, 0], [-1, -1], [1, 1]])


RANDOM = np.random.default_rng(1)
WORDS = [f"word{number}" for number in range(50)]
PERFECT: Floats = RANDOM.normal(size=(51, 4)).astype(np.float32) * (np.arange(51) > 0)[:, None]
TURNED: Floats = PERFECT @ np.linalg.qr(RANDOM.normal(size=(6, 6)))[0][:4].astype(np.float32)  # in six dimensions
SENTENCES = TokenIds.from_lists(RANDOM.integers(1, 41, size=5).tolist() for _ in range(3_000))  # 10 words are unseen


def other(**changes: Any) -> StaticEncoder:
    """An encoder that has all words but the first, in another order."""
    return StaticEncoder(static_tokenizer([UNKNOWN, *WORDS[:0:-1]]), TURNED[[0, *range(50, 1, -1)]], **changes)


def test_a_start_from_another_student() -> None:
    """It has another dimension and other ids; its sums are the targets, turned. So its vectors are found again."""
    before = RANDOM.normal(size=(51, 4)).astype(np.float32)
    start = started_from(other(), WORDS, before, SENTENCES, SENTENCES.sums(PERFECT).astype(np.float16))
    cosines = (unit_rows(start) * unit_rows(PERFECT)).sum(axis=1)
    assert cosines[2:].min() > 0.99  # the unseen ones, too
    np.testing.assert_array_equal(start[:2], before[:2])  # the unknown token, and the word that it lacks
    lengths = [np.median(np.linalg.norm(table[2:41], axis=1)) for table in (start, before)]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-5)


def test_no_start_from_another_language() -> None:
    with pytest.raises(InputError, match=r"The text has no token of the encoder of start_from; give another one"):
        started_from(other(), ["Hafen"], np.ones((2, 4), np.float32), TokenIds.from_lists([[1]]), TARGETS[:1, :4])


@pytest.mark.parametrize("layer", ["linear", "hidden"])
def test_no_start_from_a_student_with_a_layer(layer: str, tmp_path: Path) -> None:
    weights = np.ones((6, 6), np.float32)
    deep = other(**{layer: (weights, weights[0] if layer == "linear" else weights)})
    deep.save_pretrained(tmp_path / "deep")
    with pytest.raises(InputError, match=r"start_from = \S+/deep has a layer after its sum of token vectors; give an"):
        load_start(str(tmp_path / "deep"))
