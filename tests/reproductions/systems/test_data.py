"""The evaluation data, and the check that training has not used them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from reproductions.systems import data as module
from reproductions.systems.data import EvaluationData
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.evaluation.sets.data import (
    DOCUMENTS,
    EVALUATION_FINGERPRINTS,
    FINGERPRINTS,
    PAIRS,
    PROVENANCE,
    BenchmarkData,
)
from sentence_distillery.io.artifacts import InputError, write_json, write_table
from sentence_distillery.io.counters import Counters

PAIR_ROWS = [
    ("train", "A dog plays.", "A cat sleeps.", 1.0, None),
    ("train", "It rains.", "It snows!", 2.0, None),  # the second is scored on
    ("train", "A man sings.", "Someone sings.", 4.0, None),
    ("dev", "IT SNOWS", "Snow falls.", 5.0, None),
    ("test", "The port is shut.", "The port is open.", 2.5, None),
]
DOCUMENT_ROWS = [("train", "Superb.", "1"), ("train", "Dull!", "0"), ("test", "dull", "0"), ("test", "Fine.", "1")]


def write_sentences(directory: Path, *texts: str) -> None:
    write_table(directory / "part-00000.parquet", pa.table({"text": list(texts)}))


@pytest.fixture
def benchmarks(tmp_path: Path) -> BenchmarkData:
    """Make a set in the place of STS-B and one of reviews, each with an overlap, and the corpus in `sentences`."""
    write_sentences(tmp_path / "sentences", "The storm closed the port", "Ships waited")
    tables: dict[str, tuple[Sequence[tuple[object, ...]], pa.Schema]] = {
        "stsb": (PAIR_ROWS, PAIRS),
        "reviews": (DOCUMENT_ROWS, DOCUMENTS),
    }
    for name, (rows, schema) in tables.items():
        columns = [list(column) for column in zip(*rows, strict=True)]
        write_table(tmp_path / f"{name}.parquet", pa.table(columns, schema=schema))
    scored = [text for split, one, other, *_ in PAIR_ROWS if split != "train" for text in (one, other)]
    scored += [text for split, text, _ in DOCUMENT_ROWS if split != "train"]
    marks = pa.array(fingerprints(scored), pa.uint64())
    write_table(tmp_path / FINGERPRINTS, pa.table([marks], schema=EVALUATION_FINGERPRINTS))
    sets = {
        "stsb": {"kind": "pairs", "scale": [0, 5], "rows": {"train": 3, "dev": 1, "test": 1}},
        "reviews": {"kind": "documents", "scale": None, "rows": {"train": 2, "test": 2}},
    }
    write_json(tmp_path / PROVENANCE, {"sets": sets, "absent": {}, "pair_sets": []})
    return BenchmarkData(tmp_path)


def read(benchmarks: BenchmarkData, seed: int = 1) -> tuple[EvaluationData, Counters]:
    counters = Counters("figures")
    return EvaluationData.read(benchmarks.directory / "sentences", benchmarks, seed, counters), counters


@pytest.mark.fault(18)
def test_training_rows_that_are_scored_on_are_left_out(benchmarks: BenchmarkData) -> None:
    """Of pairs and of documents, counted by set."""
    found, counters = read(benchmarks)
    rated = found.calibration
    assert rated is not None and rated.scores is not None
    assert dict(zip(rated.sentences1, rated.scores.tolist(), strict=True)) == {"A dog plays.": 1, "A man sings.": 4}
    ((train, test),) = found.documents
    assert (train.texts, train.labels, test.texts) == (["Superb."], ["1"], ["dull", "Fine."])
    assert counters.details == {"training rows left out: stsb": 1, "training rows left out: reviews": 1}


@pytest.mark.fault(18)
def test_a_corpus_with_what_is_scored_on_is_refused(benchmarks: BenchmarkData) -> None:
    """Whatever the cause, that run has no figures."""
    write_sentences(benchmarks.directory / "sentences", "The port is shut", "Ships waited")
    with pytest.raises(
        InputError, match=r"sentences shares 1 of its 2 rows .*'The port is shut'.*Clean the corpus again"
    ):
        read(benchmarks)


def test_calibration_pairs_are_drawn(benchmarks: BenchmarkData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CALIBRATION_PAIRS", 1)
    drawn = {tuple(read(benchmarks, seed)[0].calibration.sentences1) for seed in range(8)}  # type: ignore[union-attr]
    assert drawn == {("A dog plays.",), ("A man sings.",)}
