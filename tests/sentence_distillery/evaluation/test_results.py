"""reports/results.csv and reports/metrics.json: columns, round trip, comments, and rows without a value."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from sentence_distillery.evaluation.results import (
    COLUMNS,
    EXPORTED,
    MODEL_SOUP,
    Result,
    export_results,
    over_seeds,
    read_results,
    write_results,
)
from sentence_distillery.evaluation.scoring import headline
from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.io.unavailable import Figure, Unavailable

CONSTANT = Unavailable("all predictions are alike")


def result(value: Figure = 0.5, **changes: str) -> Result:
    return replace(Result("student", "stsb", "test", "mean", "pearson", value, 1379), **changes)  # type: ignore[arg-type]


def test_a_cell_comes_back_as_it_was(tmp_path: Path) -> None:
    """With its place in the grid, its interval and its reason; a weight that is learnt has a name."""
    place: dict[str, Any] = {"encoder": "a", "pooling": "mean", "strategy": "cosine", "start": "combined"}
    place |= {"low": 0.25, "high": 0.75}
    cell = Result("a, b", "stsb", "test", "mean", "pearson", 0.5, 9, "3", "5", 0.6, 3, 0.0125, **place)
    cells = [cell, replace(cell, weight=0.2, seed=2), replace(cell, weight="roles", seed=MODEL_SOUP)]
    cells += [replace(cell, value=CONSTANT, published=None, spread=None, low=None, high=None, seeds=1)]
    path = tmp_path / "figures.csv"
    write_results(path, cells, "one; two")
    assert path.read_text().startswith("# one; two\n")
    path.write_text(path.read_text() + "# end\n")
    assert read_results(path) == cells
    export_results(tmp_path / "results.csv", cells)
    names = [field.name for field in fields(Result) if field.name not in EXPORTED]
    bare: dict[str, Any] = {field.name: field.default for field in fields(Result) if field.name in names}
    assert read_results(tmp_path / "results.csv") == [replace(each, **bare) for each in cells]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,4,a,stsb,test,mean,mae,1.5,,9,one,", "row 1: invalid literal for int"),
        ("1,4,a,stsb,test,mean,mae,nan,,9,1,", "row 1: nan is not a finite number"),
        ("1,4,a,stsb,test,mean,mae,,,9,1,", "row 1: it has neither a value nor a reason why there is none"),
        ("1,4,a,stsb,test,mean,mae,1.5,,9,1,,7", "row 1: it has more or fewer fields"),
    ],
)
def test_a_row_that_does_not_fit(row: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(f"{','.join(EXPORTED)}\n{row}\n")
    with pytest.raises(InputError, match=re.escape(reason)):
        read_results(tmp_path / "results.csv")


def test_what_is_exported_is_rounded(tmp_path: Path) -> None:
    path = tmp_path / "reports/results.csv"
    full = Result("a,b", "stsb", "test", "dpcs", "mae", 1.31996, 1379, "1", "6", 1.32, 5, 0.012345)
    speed = result(56440.105, metric="sentences_per_second", protocol="encode")
    export_results(path, [full, result(-0.03), speed])
    assert path.read_text(encoding="utf-8").splitlines() == [
        ",".join(EXPORTED),
        '1,6,"a,b",stsb,test,dpcs,mae,1.3200,1.3200,1379,5,0.0123',
        ",,student,stsb,test,mean,pearson,-0.0300,,1379,1,",
        ",,student,stsb,test,encode,sentences_per_second,56440,,1379,1,",
    ]


@pytest.mark.fault(20)
def test_undefined_figures(tmp_path: Path) -> None:
    """results.csv holds the reason in words, metrics.json leaves the figure out; NaN is in neither."""
    results = [result(CONSTANT), result(CONSTANT, metric="spearman"), result(2.5, metric="mae")]
    export_results(tmp_path / "results.csv", results)
    write_json(tmp_path / "metrics.json", headline(results))
    assert [row.value for row in read_results(tmp_path / "results.csv")] == [CONSTANT, CONSTANT, 2.5]
    assert (tmp_path / "results.csv").read_text().count(",undefined: all predictions are alike,") == 2
    assert json.loads((tmp_path / "metrics.json").read_text()) == {"student/stsb/mae": 2.5}
    assert "nan" not in (tmp_path / "results.csv").read_text().lower()


def test_headline() -> None:
    """The system's own mean on test splits, and its speed; no other weighting, no dev split, no word pairs."""
    results = [
        result(0.8),
        result(0.7, protocol="sif"),
        result(0.6, split="dev"),
        result(0.5, dataset="simlex999", protocol="cosine"),
        result(1000.5, dataset="corpus", split="", protocol="encode", metric="sentences_per_second"),
    ]
    assert headline(results) == {"student/stsb/pearson": 0.8, "student/sentences_per_second": 1000.5}


def test_mean_and_deviation_over_seeds() -> None:
    """0.61, 0.62, 0.63 are 0.62 with 0.01; a figure that one seed lacks has no row."""
    first = [result(0.61), result(1.5, metric="mae")]
    (row,) = over_seeds(first, [[result(0.62), result(1.5, metric="mae")], [result(0.63)]])
    assert (row.system, row.dataset, row.metric, row.n, row.seeds) == ("student", "stsb", "pearson", 1379, 3)
    assert row.value == pytest.approx(0.62) and row.spread == pytest.approx(0.01)
    assert over_seeds(first, []) == []


@pytest.mark.parametrize("text", ["", "# nothing\n", "system,value\nstudent,1\n"])
def test_other_columns(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(
        InputError, match=r"results\.csv cannot be read: it has the columns .*, not paper, .* spread\. "
    ):
        read_results(tmp_path / "results.csv")


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(",".join(COLUMNS))
    with pytest.raises(InputError, match=r"results\.csv has no rows, .*; make it again"):
        read_results(path)
    assert read_results(path, may_be_empty=True) == []
