"""WordVectors on disk: round trips, and refusal of damaged files."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from reproductions.paper1.word_vectors.model import SCHEMA, WordVectors
from sentence_distillery.io.artifacts import InputError, write_table, write_tensors


def three_words() -> WordVectors:
    vectors = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)
    return WordVectors(["rain", "naïve", "sun"], np.array([9, 4, 2]), vectors)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    three_words().save(directory, {"window": 5})
    return directory


def refused(directory: Path, file: str, reason: str) -> None:
    """Loading `directory` names the file at fault and the reason."""
    with pytest.raises(InputError, match=reason) as raised:
        WordVectors.load(directory)
    assert str(directory / file) in str(raised.value)


def test_what_is_saved_comes_back(saved: Path) -> None:
    model = WordVectors.load(saved)
    assert model.words == ["rain", "naïve", "sun"]
    assert model.counts.tolist() == [9, 4, 2]
    assert model.counts.dtype == np.int64
    assert model.vectors.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert model.index["sun"] == 2
    assert json.loads((saved / "config.json").read_text()) == {"vocabulary": 3, "dimension": 2, "window": 5}


def test_vectors_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    model = three_words()
    model.vectors[1, 0] = np.nan
    with pytest.raises(InputError, match="vector of 'naïve' is not finite"):
        model.save(tmp_path / "model", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shape", [(3, 3), (2, 2)])
@pytest.mark.fault(22)
def test_wrong_dimension(saved: Path, shape: tuple[int, ...]) -> None:
    """Vectors of a shape other than vocabulary and config.json say are refused."""
    write_tensors(saved / "vectors.safetensors", {"vectors": np.zeros(shape, dtype=np.float32)})
    refused(saved, "vectors.safetensors", r"expected \(3, 2\)")


@pytest.mark.fault(22)
def test_not_finite(saved: Path) -> None:
    """A vector that is not finite is refused, by its word."""
    vectors = three_words().vectors
    vectors[2, 1] = np.inf
    write_tensors(saved / "vectors.safetensors", {"vectors": vectors})
    refused(saved, "vectors.safetensors", "vector of 'sun' is not finite")


@pytest.mark.parametrize(
    ("words", "counts", "reason"),
    [
        (["rain", "sun", "rain"], [9, 4, 2], "the word 'rain' twice"),
        (["rain", None, "sun"], [9, 4, 2], "empty cells"),
        (["rain", "snow", "sun"], [9, 0, 2], "'snow' has the count 0"),
    ],
)
def test_vocabulary_that_makes_no_sense(saved: Path, words: list[str | None], counts: list[int], reason: str) -> None:
    write_table(saved / "vocabulary.parquet", pa.table([words, counts], schema=SCHEMA))
    refused(saved, "vocabulary.parquet", reason)
