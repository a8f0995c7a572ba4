"""`evaluate` on any object with `encode`: the figures that the stage writes, and what it refuses."""

import doctest
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sentence_distillery import load
from sentence_distillery.evaluation.evaluate import evaluate
from sentence_distillery.evaluation.sets.data import DOCUMENTS, PAIRS, PROVENANCE, DocumentSet, PairSet
from sentence_distillery.io.artifacts import InputError, write_json, write_table
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

MINE = PairSet("mine", "test", ["a b", "c", "d"], ["a", "c", "e"], np.array([3, 5, 0], np.float32), None, (0.0, 5.0))
REVIEWS = DocumentSet("mine", "test", ["good film", "bad film"] * 20, ["1", "0"] * 20)


@dataclass
class Fixed:
    """An encoder that returns the same vectors whatever it is given."""

    vectors: Any

    def encode(self, sentences: list[str]) -> Any:
        return self.vectors


class Letters:
    """Counts letters, and keeps its calls."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, sentences: list[str]) -> Floats:
        self.asked.append(sentences)
        return np.array([[text.count(letter) for letter in "abcdefgo"] for text in sentences], dtype=np.float32)


def test_figures_by_hand() -> None:
    """Cosines 1 / sqrt 2, 1 and 0 for the ratings 3, 5 and 0; each text is encoded once."""
    encoder = Letters()
    found = {row.metric: row.value for row in evaluate(encoder, [MINE])}
    expected = np.array([1 / np.sqrt(2), 1.0, 0.0])
    assert found["pearson"] == pytest.approx(np.corrcoef(expected, [3, 5, 0])[0, 1], abs=1e-6)
    assert found["spearman"] == pytest.approx(1.0)
    assert found["mae"] == pytest.approx(np.abs(2.5 * (expected + 1) - [3, 5, 0]).mean(), abs=1e-6)
    assert encoder.asked == [["a b", "c", "d", "a", "e"]]


def test_documents_of_the_caller() -> None:
    """A classifier learns from the first set, and is tested on the second."""
    rows = evaluate(Letters(), [(replace(REVIEWS, split="train"), REVIEWS), MINE], name="letters")
    assert [(row.metric, row.value, row.n, row.protocol) for row in rows[:3]] == [
        (metric, 1.0, 40, "sgd") for metric in ("precision", "recall", "f1")
    ]
    assert {row.system for row in rows} == {"letters"} and len(rows) == 6
    alike = replace(REVIEWS, labels=["1"] * 40)
    assert {row.value for row in evaluate(Letters(), [(alike, REVIEWS)])} == {
        Unavailable("all training documents have one label")
    }


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two named sets, as the stage `benchmarks` writes them, and one without scores."""
    assert MINE.scores is not None
    rows = list(zip(MINE.sentences1, MINE.sentences2, MINE.scores.tolist(), strict=True))
    pairs = [(split, one, other, value, None) for split in ("dev", "test") for one, other, value in rows]
    labels = [("test", one, other, None, "1") for one, other, _ in rows]
    documents = [
        (split, *row) for split in ("train", "test") for row in zip(REVIEWS.texts, REVIEWS.labels, strict=True)
    ]
    sets = {}
    for name, kind, table, schema in (
        ("mine", "pairs", pairs, PAIRS),
        ("labelled", "pairs", labels, PAIRS),
        ("reviews", "documents", documents, DOCUMENTS),
    ):
        write_table(tmp_path / f"{name}.parquet", pa.table([list(c) for c in zip(*table, strict=True)], schema=schema))
        splits = dict.fromkeys([row[0] for row in table], 3)
        sets[name] = {"kind": kind, "rows": splits, "scale": [0, 5] if name == "mine" else None}
    write_json(tmp_path / PROVENANCE, {"sets": sets, "absent": {"stsb": "bring it"}, "pair_sets": list(sets)})
    return tmp_path


def test_sets_by_name(directory: Path) -> None:
    """Read from the directory, as a path or as text; a set of the same pairs has the same figures."""
    rows = evaluate(Letters(), ["mine", "reviews"], benchmarks=directory)
    assert rows[:3] == evaluate(Letters(), [MINE])
    assert [(row.dataset, row.metric) for row in rows[3:]] == [("reviews", m) for m in ("precision", "recall", "f1")]
    assert {row.split for row in evaluate(Letters(), ["mine"], benchmarks=str(directory), split="dev")} == {"dev"}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("labelled", "Set 'labelled' has no scores with a scale"),
        ("stsb", "Benchmark set 'stsb' is absent: bring it"),
    ],
)
def test_sets_that_cannot_be_scored(directory: Path, task: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(Letters(), [task], benchmarks=directory)
    with pytest.raises(InputError, match=f"Task '{task}' is a name: give benchmarks"):
        evaluate(Letters(), [task])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [4.0, 2.0]}, "has 3 first sentences, 3 second ones and 2 scores"),
        ({"sentences2": ["a", "b"]}, "has 3 first sentences, 2 second ones and 3 scores"),
        ({"scale": (5.0, 0.0)}, "has the scale 5 to 0; give the lowest and then the highest"),
        ({"scores": [4.0, 2.0, 5.5]}, r"pair 2 \(from 0\) has the score 5.5, outside 0 to 5"),
        ({"scores": [4.0, np.nan, 5.5]}, r"pair 1 \(from 0\) has the score nan, outside 0 to 5"),
        ({"sentences1": ["a", None, "c"]}, r"pair 1 \(from 0\) has None in place of a sentence"),
    ],
)
@pytest.mark.fault(16)
def test_pairs_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    """No figure of scores outside their scale, or of columns of different lengths."""
    with pytest.raises(InputError, match=message):
        evaluate(Letters(), [replace(MINE, **change)])


def test_scores_of_a_list(tmp_path: Path) -> None:
    """A list of scores does as well as an array, and the highest score may be the end of the scale."""
    scores: Any = [4.8, 2.0, 0.1]
    pairs = PairSet("mine", "test", ["storm", "b", "c"], ["gale", "c", "d"], scores, None, (0.1, 4.8))
    listed = evaluate(load(), [pairs])
    assert listed == evaluate(load(), [replace(pairs, scores=np.array(scores, np.float32))])


@pytest.mark.parametrize("shape", [(5,), (4, 3), (1, 5, 3), (5, 0)])
def test_vectors_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"encode returned an array of shape \(.*\) for 5 sentences"):
        evaluate(Fixed(np.ones(shape)), [MINE])


def test_examples_of_docstrings() -> None:
    failed, attempted = doctest.testmod(sys.modules[evaluate.__module__])
    assert attempted > 0 and failed == 0
