"""The artifacts of a run: differences from the last commit, and the plots of dvc.yaml."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import yaml
from PIL import Image

from prefect_dvc.artifacts import changes, plots
from prefect_dvc.charts import draw
from prefect_dvc.execution.run import Run
from prefect_dvc.settings.parameters import flat

from .conftest import set_param


def test_changes(chain: Path) -> None:
    """Each leaf with the committed value and the run's; a new file has no earlier values."""
    run = cast(Run, SimpleNamespace(root=chain, directory=chain))
    set_param(chain, "a", value=5)
    rows = {row["name"]: (row["before"], row["now"]) for row in changes(run, "params.yaml")}
    assert rows["stages.a.value"] == (1, 5)
    assert rows["stages.b.value"] == (1, 1)
    (chain / "metrics.json").write_text('{"student/lee": 0.5}', encoding="utf-8")
    assert changes(run, "metrics.json") == [{"name": "student/lee", "before": None, "now": 0.5}]
    assert changes(run, "nowhere.json") == []


def test_plots(tmp_path: Path) -> None:
    """One picture for each plot whose file is there, one panel for each of its columns."""
    (tmp_path / "curve.csv").write_text("epoch,loss,kl\n1,0.5,2\n2,0.25,1\n", encoding="utf-8")
    entries: list[dict[str, Any]] = [
        {"Both": {"x": "epoch", "y": {"curve.csv": ["loss", "kl"]}}},
        {"One": {"x": "epoch", "y": {"curve.csv": "loss"}}},
        {"None": {"x": "epoch", "y": {"gone.csv": "loss"}}},
    ]
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"plots": entries}), encoding="utf-8")
    widths = {title: Image.open(io.BytesIO(draw(panels))).width for title, panels in plots(tmp_path).items()}
    assert sorted(widths) == ["Both", "One"]
    assert widths["Both"] == 2 * widths["One"]


def test_plots_of_other_stages(tmp_path: Path) -> None:
    """Those of tables that no stage of the run makes are left out."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("epoch,loss\n1,0.5\n2,0.25\n", encoding="utf-8")
    entries: list[dict[str, Any]] = [{name: {"x": "epoch", "y": {f"{name}.csv": "loss"}}} for name in ("one", "two")]
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"plots": entries}), encoding="utf-8")
    assert list(plots(tmp_path, lambda path: path == "two.csv")) == ["two"]


def test_flat() -> None:
    assert flat({"student": {"epochs": 3, "name": "x"}, "refine.seed": 1, "empty": {}}) == {
        "student.epochs": 3,
        "student.name": "x",
        "refine.seed": 1,
        "empty": {},
    }
