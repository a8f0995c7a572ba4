"""Every kind of file between stages: what its reader refuses, and how."""

import copy
import csv
import doctest
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.evaluation.results import Result, export_results, read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io import checksums, unavailable
from sentence_distillery.io.artifacts import (
    InputError,
    atomic_directory,
    read_json,
    read_rows,
    read_table,
    read_tensors,
    table_parts,
    write_json,
    write_table,
    write_tensors,
)
from sentence_distillery.io.contents import SEAL, Counted, StudentConfig, seal
from sentence_distillery.io.unavailable import Unavailable, from_text, read_unavailable, to_json, to_text
from sentence_distillery.reporting.contents import Benchmarks, CorpusOverview
from sentence_distillery.reporting.page import read_cleaning, read_curve, read_trials
from sentence_distillery.reporting.sizes import COLUMNS as PARETO
from sentence_distillery.reporting.sizes import read_pareto
from stages.stage import Files

Read = Callable[[Path], object]

TEACHER = {"reference": "package:mini", "pooling": "mean", "maximum_length": 128, "dimension": 384, "additional": []}
CONFIG = {"kind": "static", "dimension": 64, "token_dimension": 64, "vocabulary": 9, "sentences": 5, "epochs": 2}
CONFIG |= {"seed": 1, "teacher": TEACHER}
SUMS = {"name": "lee", "documents": 3, "kept": 2, "sentences": 9, "words": 90}
OVERVIEW = {"sources": [SUMS], "times": [SUMS], "growth": [[0, 0], [90, 50]], "lines": [{"text": "a", "count": 3}]}
OVERVIEW |= {"near_duplicates": [{"dropped": "a", "kept": "b"}], "sentences": [{"reason": "", "text": "a"}]}
COUNTED = {"unit": "rows", "total": 10, "kept": 7, "dropped": {"rare": 3}, "details": {"sets": "lee", "n": 2}}
SET = {"kind": "pairs", "rows": {"test": 3}, "scale": [1, 5], "source": "gensim", "licence": "none", "citation": "Lee"}
SET |= {"main_metric": "pearson"}
SET |= {"overlaps": {"test": {"sick/test": {"sentences": 5, "pairs": 3}}}}


def by(schema: Any) -> Read:
    return lambda path: read_json(path, schema)


KNOWN = {"kind": "pairs", "rows": {"test": 3}, "scale": [1, 5]}

JSON: dict[str, tuple[Any, Read]] = {  # a content that is right, and its reader
    "provenance.json": ({"sets": {"lee": SET}, "absent": {"stsb": "no file"}}, by(Benchmarks)),
    "sets/provenance.json": (
        {"sets": {"lee": KNOWN}, "absent": {"stsb": "no file"}, "pair_sets": ["lee"]},
        lambda path: BenchmarkData(path.parent).provenance(),
    ),
    "teacher.json": (TEACHER, lambda path: LabelledCorpus(path.parent, path.parent).teacher),
    "config.json": (CONFIG, by(StudentConfig)),
    "counters.json": (COUNTED, by(Counted)),
    "files.json": (COUNTED | {"files": {"reports/a.json": "ab12"}}, by(Files)),
    "corpus.json": (OVERVIEW, by(CorpusOverview)),
    "systems.json": ({"student": "the encoder of the run"}, by(dict[str, str])),
    "variant.json": ({"absent": None}, read_unavailable),
    "metrics.json": ({"student/lee/pearson": 0.65}, by(dict[str, float])),
}


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value, and of each value within it."""
    items = enumerate(content) if isinstance(content, list) else content.items() if isinstance(content, dict) else ()
    for name, value in items:
        yield (*path, name)
        yield from places(value, (*path, name))


def changed(content: Any, place: tuple[Any, ...], value: object) -> Any:
    """Return the content with another value at a place."""
    whole = copy.deepcopy(content)
    inner = whole
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return whole


def refused(read: Read, path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value), caught.value
    assert "Restore or rebuild it." in str(caught.value), caught.value
    assert caught.value.path == path, caught.value


@pytest.mark.parametrize("name", JSON)
@pytest.mark.fault(41)
def test_json_of_another_content(name: str, tmp_path: Path) -> None:
    check_other_contents(*JSON[name], tmp_path / name)


def check_other_contents(right: Any, read: Read, path: Path) -> None:
    """Check that `{}`, `[1]`, a missing key and every value of another type are refused, by the file and place.

    An object of objects in place of a value stands for what no schema allows.
    """
    write_json(path, right)
    read(path)
    table = path.name in ("systems.json", "scores.json", "metrics.json")  # one without rows is a table, too
    others: list[object] = [[1], [], "text", 3, None, *([] if table else [{}])]
    for content in others:
        write_json(path, content)
        refused(read, path)
    free = ("place", "notes", "details")  # of any content
    for place in places(right):
        if not any(part in free for part in place[:-1]):
            write_json(path, changed(right, place, {"nobody": {"has": ["this"]}}))
            refused(read, path)
    for key in set() if table else set(right) - {"pooling", "additional", "also", "examples"}:
        write_json(path, {other: value for other, value in right.items() if other != key})
        refused(read, path)


@pytest.mark.fault(40)
def test_json_that_is_cut_short_or_is_not_a_file(tmp_path: Path) -> None:
    """A FIFO or a directory in the place of a file is refused before it is opened; so is what is not JSON."""
    path, read = tmp_path / "counters.json", by(Counted)
    whole = json.dumps(COUNTED).encode()
    for content in (b"", whole[: len(whole) // 2], b"[" * 100_000, b"\xff" + whole, b"NaN"):
        path.write_bytes(content)
        refused(read, path)
    for make in (os.mkfifo, os.mkdir):
        path.unlink()
        make(path)
        refused(read, path)


@pytest.mark.fault(41)
def test_counters_with_a_flipped_bit(tmp_path: Path) -> None:
    """Counters have no others that know their checksum, so they carry a seal over their own content."""
    path = tmp_path / "counters.json"
    sealed = COUNTED | {SEAL: seal(COUNTED)}
    write_json(path, sealed)
    assert read_json(path, Counted) == sealed
    write_json(path, changed(sealed, ("details", "n"), 3))
    refused(by(Counted), path)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("counters.json", ("kept",), 8, "total 10 is not kept 8"),
        ("counters.json", ("dropped", "rare"), -3, "greater than or equal to 0"),
        ("config.json", ("dimension",), 0, "greater than or equal to 1"),
        ("config.json", ("dimension",), "64", "valid integer"),
    ],
)
@pytest.mark.fault(41)
def test_figures_that_cannot_be(name: str, place: tuple[Any, ...], value: object, message: str, tmp_path: Path) -> None:
    check_refused(*JSON[name], tmp_path / name, place, value, message)


def check_refused(right: Any, read: Read, path: Path, place: tuple[Any, ...], value: object, message: str) -> None:
    """Check that a content with another value is refused: one that contradicts others, or is out of its range."""
    write_json(path, changed(right, place, value))
    refused(read, path)
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize("reason", [None, "undefined: a reason, with commas: and colons", ""])
def test_why_there_is_nothing(reason: str | None, tmp_path: Path) -> None:
    """Null says that everything is there; an empty reason is still one."""
    absent = None if reason is None else Unavailable(reason)
    write_json(tmp_path / "variant.json", to_json(absent) | {"seeds": []})
    assert read_unavailable(tmp_path / "variant.json") == absent
    assert absent is None or from_text(to_text(absent)) == absent
    assert doctest.testmod(unavailable) == doctest.TestResults(failed=0, attempted=5)


FIGURE = Result("student", "lee", "test", "mean", "pearson", 0.65, 50)
TRIAL = "tokens,dimension,precision,megabytes,recall_at_10\n9,64,int8,1.5,0.9\n"
CLEANED = "task,set,system,precision,recall,f1,n,note\nends,sample,clean,0.9,0.9,0.9,98,\n"
TABLES: dict[str, tuple[Callable[[Path], object], Read]] = {
    "results.csv": (lambda path: export_results(path, [FIGURE]), read_results),
    "domain.csv": (lambda path: write_results(path, [FIGURE]), read_results),
    "curve.csv": (lambda path: path.write_text("epoch,loss\n1,0.5\n"), read_curve),
    "trials.csv": (lambda path: path.write_text(TRIAL), read_trials),
    "cleaning.csv": (lambda path: path.write_text(CLEANED), read_cleaning),
    "pareto.csv": (lambda path: path.write_text(f"{','.join(PARETO)}\n{','.join('1' for _ in PARETO)}\n"), read_pareto),
}
TEXTS = {"task", "set", "system", "note", "dimension", "precision", "kind", "source", "dataset", "split", "protocol"}
TEXTS |= {"metric", "paper", "table", "encoder", "pooling", "strategy", "start", "weight", "seed", "reason"}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.fault(41)
def test_tables_of_another_content(name: str, tmp_path: Path) -> None:
    """A table without a column, with a field too many or a text in place of a number is refused."""
    write, read = TABLES[name]
    path = tmp_path / name
    write(path)
    assert read(path)
    whole = path.read_bytes()
    header, first = path.read_text().splitlines()
    for content in (b"", b"{}", b"[1]", whole[: len(whole) - 6], whole + b"1\n", whole + b"\xff\xfe\n"):
        path.write_bytes(content)
        refused(read, path)
    names, values = header.split(","), next(csv.reader([first]))
    for number, column in enumerate(names):
        if column in TEXTS and name != "trials.csv":
            continue
        for wrong in ("x", "nan", "inf"):
            if column not in ("dimension", "precision"):
                path.write_text(f"{header}\n{','.join([*values[:number], wrong, *values[number + 1 :]])}\n")
                with pytest.raises(InputError, match=name):
                    read(path)
    path.unlink()
    os.mkfifo(path)
    refused(read, path)


def flipped(path: Path, at: int) -> None:
    """Flip the lowest bit of a byte: a digit becomes another one."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


NUMBERS = pa.table({"n": pa.array(range(100), pa.int64())})


@pytest.mark.fault(41)
def test_a_figure_with_a_flipped_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """0.6512 that has become 0.6513 is refused by its checksum, in each kind of file; so is a lost part."""
    monkeypatch.chdir(tmp_path)
    figures, table, tensors = Path("figures.json"), Path("figures.csv"), Path("model/model.safetensors")
    parts = Path("parts")
    with checksums.ledger({}) as written:
        write_json(figures, {"pearson": 0.6512})
        export_results(table, [FIGURE])
        with atomic_directory(tensors.parent) as partial:
            write_tensors(partial / tensors.name, {"n": NUMBERS["n"].to_numpy()})
        with atomic_directory(parts) as partial:
            write_table(partial / "part-00000.parquet", NUMBERS)
            write_table(partial / "part-00001.parquet", NUMBERS)
        known = written.checksums()
    files = ["figures.csv", "figures.json", "model/model.safetensors"]
    assert sorted(known) == [*files, "parts/part-00000.parquet", "parts/part-00001.parquet"]
    reads: dict[Path, Read] = {
        figures: by(dict[str, float]),
        table: read_results,
        tensors: lambda path: read_tensors(path, {"n": (100,)}),
        parts / "part-00000.parquet": lambda path: read_table(path, NUMBERS.schema),
    }
    places = {figures: figures.read_bytes().index(b"6512"), table: table.read_bytes().index(b"0.65")}
    with checksums.ledger(known):
        for path, read in reads.items():
            read(path)
            flipped(path, places.get(path, path.stat().st_size - 5))
            with pytest.raises(InputError, match=r"(has changed since it was written|cannot be read).* Restore or"):
                read(path)
        with pytest.raises(InputError, match=r"model/model\.safetensors has changed"):
            checksums.check_directory(tensors.parent)
        (parts / "part-00001.parquet").unlink()
        with pytest.raises(InputError, match=r"part-00001\.parquet is missing"):
            table_parts(parts)
        write_json(figures, {"pearson": 0.7})  # the run itself may write it anew
        assert read_json(figures, dict[str, float]) == {"pearson": 0.7}
    assert read_rows(table, {})[0]["value"] == "1.6500"  # outside of a ledger nothing is known
