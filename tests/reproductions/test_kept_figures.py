"""Figures that git has kept are read, and have the names of today's systems."""

from reproductions.paper2 import section as paper_2
from reproductions.paper3 import section as paper_3
from sentence_distillery.reporting.sizes import read_pareto
from tests.workspace import ROOT

KEPT = ROOT / "reports"


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
