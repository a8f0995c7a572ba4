"""Figures that git has kept under former names are read under today's."""

import json
from pathlib import Path
from typing import Any

import pytest

from reproductions.paper2 import section as paper_2
from reproductions.paper3 import section as paper_3
from sentence_distillery.evaluation.aliases import NAMES, current, current_content
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.reporting.sizes import read_pareto
from tests.workspace import ROOT

KEPT = ROOT / "reports"


def values(content: Any) -> set[str]:
    """Every key and text of a JSON value."""
    if isinstance(content, dict):
        return {text for key, value in content.items() for text in (key, *values(value))}
    return {text for value in content for text in values(value)} if isinstance(content, list) else {str(content)}


def systems(path: Path) -> set[str]:
    return {row.system for row in read_results(path)}


def test_a_kept_run_has_todays_systems() -> None:
    found = systems(KEPT / "runs/best.csv")
    assert {"paper student", "student, MLP head", "student, fine-tuned", "student", "teacher"} <= found
    assert not found & NAMES.keys()


def test_what_older_tags_have_committed(tmp_path: Path) -> None:
    """results.csv, metrics.json, bench.json, probes.json and pareto.csv as the tags before the renaming have them."""
    write_results(tmp_path / "results.csv", [Result("MyModel", "stsb", "test", "mean", "mae", 1.5, 9)])
    (row,) = read_results(tmp_path / "results.csv")
    assert (row.system, row.dataset) == ("paper student", "stsb")
    metrics = current_content({"MyModel/lee/mae": 1.0, "student, deep/sentences_per_second": 2.0})
    assert metrics == {"paper student/lee/mae": 1.0, "student, MLP head/sentences_per_second": 2.0}
    assert list(current_content({"own": 1, "own int8": 2, "own deep": 3})) == ["own", "own int8", "own MLP head"]
    probes = {"summary": {"student, deep": {"n": 1}}, "probes": [{"kind": "negation", "student, deep": [0.5, 0.4]}]}
    assert "student, deep" not in values(current_content(probes))


@pytest.mark.parametrize("name", ["metrics.json", "probes.json", "bench.json"])
def test_committed_json(name: str) -> None:
    """Whether the file has former or present names, it is read with present ones."""
    content = json.loads((KEPT / name).read_text(encoding="utf-8"))
    assert not {part for key in values(current_content(content)) for part in key.split("/")} & NAMES.keys()


def test_the_committed_table_of_sizes() -> None:
    assert {"own", "released", "MLP head", "teacher"} <= {row["system"] for row in read_pareto(KEPT / "pareto.csv")}


def test_kept_matrices_of_papers_2_and_3() -> None:
    (matrix,) = paper_2.kept(KEPT / "runs/paraphrase")
    assert "intermediate cross-encoder, model soup" in {cell["name"] for cell in matrix["cells"]}
    assert all(0 <= cell["validation"] <= 1 for cell in matrix["cells"] if cell["validation"] is not None)
    assert matrix["file"].endswith("paraphrase/mrpc.csv")
    grid = paper_3.kept(KEPT / "runs/component_focus")
    shown = {name for table in grid["tables"] for _, lines in table.blocks for name, _ in lines}
    assert "minilm-l6, model soup, W_cf = 0, after pooling" in shown
    assert not [name for name in shown if "mean weights" in name]


def test_the_config_of_a_promoted_student() -> None:
    """models/released lists its teachers under the former name of the field."""
    config = json.loads((ROOT / "models/released/config.json").read_text(encoding="utf-8"))
    assert [teacher["dimension"] for teacher in current_content(config)["teacher"]["additional"]] == [384]


def test_parts_of_names_stay() -> None:
    """Only complete names were renamed: a set named `deeper`, or a system with `gold` in its name, is not."""
    for name in ("deeper", "gold standard", "student", "stsb", "mean", "W_cf = 0, mean of weights"):
        assert current(name) == name
