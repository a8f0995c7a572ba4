from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sentence_distillery.evaluation.sets.benchmark import Table, build_parts, gensim_directory
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.evaluation.sets.records import BadDataError, records
from sentence_distillery.evaluation.sets.registry import BENCHMARKS, benchmark
from stages.paths import SAMPLES
from tests.sentence_distillery.evaluation.sets.conftest import ROOT, STSB, real, rows_of, write
from tests.sentence_distillery.evaluation.sets.small import FILES

MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


def built(spec: Table, directory: Path) -> pa.Table:
    [table] = build_parts(spec, directory).values()
    return table


@pytest.mark.fault(17)
def test_quotes_in_tab_separated_text_are_literal(tmp_path: Path) -> None:
    """A lone or leading quote neither joins lines nor vanishes; the byte order mark is dropped."""
    row = '1\t7\t8\t" Stop , he said .\tHe said " stop " "\n0\t9\t10\tx "\ty\n'
    write(tmp_path, {"msr_paraphrase_train.txt": MRPC_HEADER + row, "msr_paraphrase_test.txt": MRPC_HEADER})
    found = [(pair.sentence1, pair.sentence2, pair.label, pair.score) for pair in rows_of("mrpc", tmp_path)]
    assert found == [('" Stop , he said .', 'He said " stop " "', "1", None), ('x "', "y", "0", None)]


@pytest.mark.fault(17)
def test_quotes_in_comma_separated_text_enclose(tmp_path: Path) -> None:
    """A comma, a doubled quote and a line end inside a quoted field are text."""
    write(tmp_path, STSB | {"stsb-en-dev.csv": '"He said ""a, b""","two\nlines",3\nx,y,1\n'})
    pairs = [pair for pair in rows_of("stsb", tmp_path) if pair.split == "dev"]
    assert [pair.sentence1 for pair in pairs] == ['He said "a, b"', "x"]
    assert pairs[1].place.endswith("stsb-en-dev.csv, line 3")


@pytest.mark.fault(17)
def test_sick_splits_and_line_ends(tmp_path: Path) -> None:
    """The test file's lines end with CR LF, which is not part of the label; trial is dev."""
    row = "1\ta b\tc d\t3.5\tNEUTRAL"
    files = {"SICK_train.txt": f"{row}\n", "SICK_trial.txt": f"{row}\n", "SICK_test_annotated.txt": f"{row}\r\n"}
    for name, text in files.items():
        (tmp_path / name).write_bytes((SICK_HEADER + text).encode())
    found = [(pair.split, pair.score, pair.label) for pair in rows_of("sick", tmp_path)]
    assert found == [(split, 3.5, "NEUTRAL") for split in ("train", "dev", "test")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n", r"t.csv, line 1: no column 'c' \(it has a, b\)"),
        ("", r"t.csv, line 1: no column 'a' \(it has none\)"),
        ("a,c\n1,2\n3\n", r"t.csv, line 3: 1 fields, expected 2 \(a, c\)"),
        ('a,c\n1,"2\n3,4\n', r"t.csv, near line \d: unexpected end of data"),
        ("a,c\n£3,1\n", r"t.csv, line 2: 'utf-8' codec can't decode byte 0xa3"),
    ],
)
@pytest.mark.fault(16)
def test_a_file_of_another_shape(tmp_path: Path, text: str, problem: str) -> None:
    """A missing column, a missing field, an unclosed quote, another encoding."""
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadDataError, match=problem):
        list(records(tmp_path / "t.csv", ("a", "c")))


@pytest.mark.parametrize(
    ("dev", "problem"),
    [
        ("a,b,5.5\n", r"stsb-en-dev.csv, line 1: score 5.5 is outside 0-5"),
        ("a,b,-0.1\n", r"stsb-en-dev.csv, line 1: score -0.1 is outside 0-5"),
        ("a,b,nan\n", r"stsb-en-dev.csv, line 1: score nan is outside 0-5"),
        ("a,b,high\n", r"stsb-en-dev.csv, line 1: score 'high' is not a number"),
        ("a, ,1\n", r"stsb-en-dev.csv, line 1: a blank text"),
        ("a,b,1\nc,d,2\n", r"split 'dev' of stsb has 2 rows, expected 1"),
        ("", r"split 'dev' of stsb has 0 rows, expected 1"),
    ],
)
@pytest.mark.fault(16)
def test_values_and_counts(tmp_path: Path, dev: str, problem: str) -> None:
    """A score out of range or not a number, a blank sentence, a wrong count."""
    write(tmp_path, STSB | {"stsb-en-dev.csv": dev})
    spec = replace(BENCHMARKS["stsb"].tables[0], rows={"train": 2, "dev": 1, "test": 1})
    with pytest.raises(BadDataError, match=problem):
        built(spec, tmp_path)


def test_lee_takes_the_upper_half(tmp_path: Path) -> None:
    (tmp_path / "lee.cor").write_bytes("one £\ntwo\nthree".encode("latin-1"))
    write(tmp_path, {"similarities0-1.txt": "1\t0.2\t0.5\n0\t1\t1\n0\t0\t1\n"})
    found = [(pair.sentence1, pair.sentence2, pair.score) for pair in rows_of("lee", tmp_path)]
    assert found == [("one £", "two", 1.0), ("one £", "three", 2.5), ("two", "three", 5.0)]


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        ("1 0.5\n0 1\n", r"shape \(2, 2\), expected \(3, 3\)"),
        ("1 0.2 0.5\n0.2 1 1\n0 0 1\n", "the lower half is not zero"),
        ("1 0.2 0.5\n0 0.9 1\n0 0 1\n", "the diagonal is not one"),
        ("1 x 0.5\n0 1 1\n0 0 1\n", "could not convert string 'x'"),
    ],
)
@pytest.mark.fault(16)
def test_lee_with_another_matrix(tmp_path: Path, matrix: str, problem: str) -> None:
    """A matrix of another size or form than the published one."""
    write(tmp_path, {"lee.cor": "one\ntwo\nthree", "similarities0-1.txt": matrix})
    with pytest.raises(BadDataError, match=problem):
        rows_of("lee", tmp_path)


def test_what_gensim_carries() -> None:
    """Counts, ranges and known rows of the sets that come with pip."""
    lee, wordsim, simlex = (
        built(BENCHMARKS[name].tables[0], gensim_directory()) for name in ("lee", "wordsim353", "simlex999")
    )
    assert len(lee) == 50 * 49 // 2 and len(set(lee["sentence1"].to_pylist()) | set(lee["sentence2"].to_pylist())) == 50
    assert lee["score"][0].as_py() == pytest.approx(1.5) and lee["label"].null_count == len(lee)
    assert wordsim.slice(1, 1).to_pylist()[0]["sentence1"] == "tiger" and wordsim["score"][2].as_py() == 10
    assert simlex.to_pylist()[0]["score"] == pytest.approx(1.58)


def test_the_sample_data_of_the_repository() -> None:
    """The counts in the registry agree with data/samples."""
    for spec in BENCHMARKS["samples"].tables:
        assert len(built(spec, ROOT / SAMPLES)) == sum(spec.rows.values())


@pytest.mark.parametrize("name", ["stsb", "sick", "mrpc", "subj", "mr", *FILES])
@pytest.mark.fault(16, 17)
def test_the_real_sets(name: str) -> None:
    """Every row of the published files is read, with as many rows, labels and documents as published."""
    [spec] = BENCHMARKS[name].tables
    parts = build_parts(spec, real(name))
    for table, expected in zip(parts.values(), (spec.rows, spec.passages, spec.judgements), strict=False):
        assert Counter(table["split"].to_pylist()) == expected
        if spec.labels:
            assert set(table["label"].to_pylist()) == set(spec.labels)


def test_some_pairs_of_a_set_keep_what_belongs_to_them() -> None:
    """Decontamination takes pairs out of a set; ratings and labels go with their sentences."""
    scores = np.array([1, 2, 3], np.float32)
    pairs = PairSet("mine", "train", ["a", "b", "c"], ["d", "e", "f"], scores, ["0", "1", "2"], (1, 3))
    taken = pairs.take(np.array([2, 0]))
    assert (taken.sentences1, taken.sentences2, taken.labels) == (["c", "a"], ["f", "d"], ["2", "0"])
    assert taken.scores is not None and taken.scores.tolist() == [3, 1]
    assert (taken.name, taken.split, taken.scale) == ("mine", "train", (1, 3))
    bare = replace(pairs, scores=None, labels=None).take(np.array([1]))
    assert (bare.scores, bare.labels) == (None, None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"titel": "Mine"}, "set mine: .*unexpected keyword argument 'titel'"),
        ({"tables": [{"kind": "pairs", "reader": "colums", "read": {}, "rows": {}}]}, "set mine: 'colums'"),
        ({"tables": [{"kind": "pairs", "reader": "beir", "rows": {}}]}, "set mine: 'read'"),
    ],
)
def test_an_entry_that_does_not_fit(change: dict[str, Any], problem: str) -> None:
    """The error names the set, and the field that is unknown or absent."""
    entry = {"title": "Mine", "source": "a test", "licence": "none", "citation": ""}
    assert benchmark("mine", entry).external
    with pytest.raises(ValueError, match=problem):
        benchmark("mine", entry | change)
