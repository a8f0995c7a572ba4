"""Pair files and decontamination: errors name file and row, and no evaluation pair is trained on."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from reproductions.paper2.pairs.data import load_pair_data, read_pairs, read_unlabelled
from reproductions.paper2.pairs.preparation import validation_rows
from sentence_distillery.evaluation.sets.data import PAIRS as BENCHMARK_SCHEMA
from sentence_distillery.evaluation.sets.data import PROVENANCE
from sentence_distillery.io.artifacts import InputError, write_json, write_table
from stages.paper2 import pair_data as pair_data_stage
from stages.paths import BENCHMARKS, PAIRS
from tests.workspace import write_params

HEAD = "sentence1,sentence2,label\n"
GOOD = HEAD + 'A storm came.,"A gale, strong, came.",1\nA dog runs.,Water boils.,0\n'


def test_a_file(tmp_path: Path) -> None:
    """Other columns are ignored, quotes enclose a field, and a byte order mark is not a character."""
    path = tmp_path / "pairs.csv"
    path.write_text("\N{BYTE ORDER MARK}id," + GOOD.replace("\nA", "\n7,A"), encoding="utf-8")
    found = read_pairs(path)
    assert found.sentences2 == ["A gale, strong, came.", "Water boils."] and found.labels.tolist() == [1, 0]


@pytest.mark.fault(17)
def test_quotes_in_tab_separated_files_are_characters(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text('sentence1\tsentence2\tlabel\n"So\t"So" she said\t1\nA\tB\t0\n')
    assert read_pairs(path).sentences1 == ['"So', "A"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"sentence1,label\na,1\n",
            r"line 1: no column 'sentence2' \(it has sentence1, label\)\. Make it a UTF-8 \.csv",
        ),
        ((GOOD + "x,y,2\n").encode(), r"line 4: label '2' is neither 0 nor 1; write 1 for a paraphrase"),
        ((GOOD + "x,y,\n").encode(), r"line 4: label '' is neither 0 nor 1"),
        ((GOOD + "x,  ,1\n").encode(), r"line 4: sentence2 is empty; give both sentences, or remove the row"),
        ((GOOD + "x,y\n").encode(), r"line 4: 2 fields, expected 3"),
        ((GOOD + "caf\xe9,y,1\n").encode("latin-1"), r"line 4: .*can't decode.*iconv"),
        ((GOOD + "x,y,1\n" * 3000 + "caf\xe9,y,1\n").encode("latin-1"), r"line 3004: .*can't decode.*iconv"),
        ((HEAD + "a,b,1\nc,d,1\n").encode(), r"every label is 1; add pairs, so that both labels"),
        (HEAD.encode(), r"there are no pairs; add pairs"),
        (b"", r"line 1: no column 'label'"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"pairs.csv.*{message}"):
        read_pairs(path)


def test_no_pair_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv cannot be read: No such file or directory\. Make it a UTF-8"):
        read_pairs(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"pairs\.txt ends with neither \.csv nor \.tsv"):
        read_unlabelled(tmp_path / "pairs.txt")


def test_a_file_to_decide_needs_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("sentence1,sentence2\na,b\n")
    assert read_unlabelled(path) == (["a"], ["b"])
    path.write_text("sentence1,sentence2\n")
    with pytest.raises(InputError, match=r"has no pairs; write one pair per line"):
        read_unlabelled(path)


def test_both_labels_are_validation() -> None:
    labels = np.array([1] * 30 + [0] * 10, np.int8)
    validation = validation_rows(labels, 0.2, seed=1)
    assert labels[validation].tolist() == [1] * 6 + [0] * 2
    assert np.array_equal(validation, validation_rows(labels, 0.2, seed=1))
    assert not np.array_equal(validation, validation_rows(labels, 0.2, seed=2))


@pytest.mark.parametrize(
    ("labels", "message"),
    [([1] * 9 + [0] * 2, "has 2 training pairs of label 0"), ([], "has 0 training pairs of label 0")],
)
def test_too_few_to_hold_out_and_to_train(labels: list[int], message: str) -> None:
    with pytest.raises(InputError, match=rf"{message} .*, and validation needs 2"):
        validation_rows(np.array(labels, np.int8), 0.2, seed=1)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate directory with 20 training pairs, one of which is also in the scored set, swapped."""
    monkeypatch.chdir(tmp_path)
    rows = [f"sentence {row},another {row},{row % 2}" for row in range(20)]
    Path("own").mkdir()
    Path("own/train.csv").write_text(HEAD + "\n".join(rows) + "\n")
    Path("own/test.csv").write_text(HEAD + "new,newer,1\nold,older,0\n")
    scored = [("test", "Another 3!", "sentence 3", 4.0, None), ("test", "x", "y", 1.0, None)]
    table = pa.table([list(column) for column in zip(*scored, strict=True)], schema=BENCHMARK_SCHEMA)
    write_table(BENCHMARKS / "scored.parquet", table)
    entry = {"kind": "pairs", "rows": {"test": 2}, "scale": [0, 5]}
    about = {"sets": {"scored": entry}, "absent": {}, "pair_sets": ["scored", "stsb"]}
    write_json(BENCHMARKS / PROVENANCE, about)
    return tmp_path


def configure(**changes: object) -> None:
    write_params(pairs={"dataset": "own", "also": ["scored", "stsb"], "validation_share": 0.2} | changes)


def test_the_stage(workspace: Path) -> None:
    """Train, validation and test pairs, the scored set, and the pairs removed from train."""
    configure()
    pair_data_stage.main()
    material = load_pair_data(PAIRS)
    assert {name: len(split) for name, split in material.splits.items()} == {"train": 15, "validation": 4, "test": 2}
    learnt = {material.sentences[row] for row in material.splits["train"].rows.ravel()}
    assert not learnt & {"sentence 3", "another 3", "new", "old"}
    assert material.related["scored"].scores.tolist() == [4.0, 1.0]
    summary = json.loads(Path("reports/counters/pair_data.json").read_text())
    assert summary["dropped"]["pair of scored test"] == 1 and summary["details"]["absent"] == "stsb"


def test_sets_that_do_not_fit(workspace: Path) -> None:
    configure(dataset="scored")
    with pytest.raises(SystemExit, match=r"'scored' has no split 'train'"):
        pair_data_stage.main()
    configure(dataset="mrpc")
    with pytest.raises(SystemExit, match=r"has no set 'mrpc'"):
        pair_data_stage.main()
    configure(dataset="my/pairs")
    with pytest.raises(SystemExit, match=r"pairs.dataset = my/pairs is not a directory; name one with train.csv"):
        pair_data_stage.main()
    configure(also=["scored", "stsbb"])
    with pytest.raises(SystemExit, match=r"pairs.also contains 'stsbb'; the known sets of pairs are scored, stsb\."):
        pair_data_stage.main()
