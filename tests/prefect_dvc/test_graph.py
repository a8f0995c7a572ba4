"""The graph as the flows see it."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo

from prefect_dvc.errors import SettingsError
from prefect_dvc.execution.graph import GraphError, Stage, read_graph
from prefect_dvc.settings.graph_files import targets
from prefect_dvc.settings.resources import Needs

from .conftest import dvc_, make_repository, set_param, stage, write_yaml
from .forked import pipeline

GPU = Needs({"gpu": 1})

pytestmark = pytest.mark.usefixtures("imported")


def graph(root: Path, target: str | None = None) -> list[Stage]:
    with contextlib.chdir(root), Repo() as repo:
        return read_graph(repo, target)


def test_order_and_upstream(chain: Path) -> None:
    """The order is that of `dvc repro`, so that dvc.lock gets its entries in the same order."""
    found = graph(chain)
    assert sorted(found, key=lambda stage: stage.name) == [
        Stage("a", ()),
        Stage("b", ("a",)),
        Stage("c", ("a",)),
        Stage("d", ("b", "c")),
    ]
    assert [stage.name for stage in found] == re.findall(r"Running stage '(\w)'", dvc_("repro", cwd=chain))
    assert [stage.name for stage in graph(chain, "b")] == ["a", "b"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [("dvc.yaml:b", ["a", "b"]), ("./dvc.yaml:b", ["a", "b"]), ("dvc.yaml", ["a", "b"])]
    + [(target, ["a", "sub/dvc.yaml:q"]) for target in ("sub/dvc.yaml", "./sub/dvc.yaml:q", "sub/dvc.yaml:q")],
)
def test_the_targets_of_dvc(target: str, expected: list[str], pair: Path) -> None:
    (pair / "sub").mkdir()
    write_yaml(pair / "sub/dvc.yaml", {"stages": {"q": {"cmd": "true", "deps": ["../a.txt"]}}})
    assert [stage.name for stage in graph(pair, target)] == expected


def test_matrix_and_gpu(tmp_path: Path) -> None:
    """Each cell of a matrix is a stage; the matrix's own name means all of them."""
    cell = stage("cell", "a", gpu=True) | {"matrix": {"size": [1, 2]}, "outs": ["${item.size}.txt"]}
    root = make_repository(tmp_path / "workspace", {"a": stage("a"), "cell": cell, "other": stage("other")})
    expected = [Stage("a", ()), Stage("cell@1", ("a",), GPU), Stage("cell@2", ("a",), GPU)]
    assert graph(root, "cell") == expected
    assert graph(root, "cell@2") == [expected[0], expected[2]]


@pytest.mark.fault(13)
def test_other_needs(tmp_path: Path) -> None:
    """A value of another form is named with its stage."""
    meta: dict[str, Any] = {
        "resources": {"gpu": 2, "gpu_memory": "16GB", "licence": 1},
        "retries": 2,
        "timeout": "3h",
        "mutex": "corpus",
    }
    root = make_repository(tmp_path / "workspace", {"a": stage("a", **meta), "b": stage("b", priority=1)})
    a, b = graph(root)
    assert a.needs == Needs(
        {"gpu": 2, "gpu_memory": 16 * 10**9, "licence": 1}, retries=2, timeout=10800, mutex="corpus"
    )
    assert a.needs.labels == {"gpu": 2, "licence": 1}
    assert b.needs == Needs(priority=1)
    write_yaml(root / "dvc.yaml", {"stages": {"a": stage("a", timeout=3)}})
    with pytest.raises(GraphError, match=r"`meta` of stage 'a': timeout is 3; write a number with its unit, as in 90s"):
        graph(root)


@pytest.mark.fault(13)
def test_an_unknown_target(chain: Path) -> None:
    """The nearest stage is named."""
    write_yaml(chain / "dvc.yaml", {"stages": {"clean": stage("clean"), "crawl": stage("crawl")}})
    with pytest.raises(GraphError, match=r"dvc.yaml has no stage 'cleam'; did you mean 'clean'\?"):
        graph(chain, "cleam")


@pytest.mark.parametrize("name", ["dvc.yaml", "dvc.lock"])
@pytest.mark.fault(6)
def test_a_corrupted_file(chain: Path, name: str) -> None:
    """The error names the file."""
    (chain / name).write_text("stages: [", encoding="utf-8")
    with Repo(".") as repo, pytest.raises(GraphError, match=rf"{name}"):
        read_graph(repo)


@pytest.mark.fault(8)
def test_unchanged(chain: Path) -> None:
    """A stage with a lost or altered output is made again, never reported as cached."""
    assert pipeline(chain, "--apply").returncode == 0
    assert pipeline(chain, "--here").stdout == "4 of 4 stages were up to date.\n"
    for damage in (lambda: (chain / "c.txt").unlink(), lambda: (chain / "c.txt").write_text("x\n", encoding="utf-8")):
        damage()
        done = pipeline(chain, "--here")
        assert re.search(r"^\[ \d/4\] c: Restored", done.stdout, re.MULTILINE)
        assert "3 of 4 stages were up to date." in done.stdout
        assert (chain / "c.txt").read_text(encoding="utf-8") == "a 1\nc 1\n"
    set_param(chain, "b", value=2)
    assert "2 of 4 stages were up to date." in pipeline(chain, "--here").stdout


def test_which_stage_makes_a_file(tmp_path: Path) -> None:
    """So that a run without this stage shows no figures of the commit; also in a directory, a matrix, or a wdir."""
    cell = {"matrix": {"size": [1, 2]}, "cmd": "true", "outs": ["${item.size}.txt"]}
    inside = {"wdir": "sub", "cmd": "true", "metrics": [{"metrics.json": {"cache": False}}], "outs": ["reports"]}
    root = make_repository(tmp_path / "workspace", {"cell": cell, "inside": inside, "none": {"cmd": "true"}})
    (root / "sub").mkdir()

    def makers(path: str) -> list[str]:
        return [each.name for each in graph(root) if each.makes(path)]

    assert makers("sub/metrics.json") == makers("sub/reports/counters/clean.json") == ["inside"]
    assert makers("2.txt") == ["cell@2"]
    assert makers("metrics.json") == makers("sub/report") == []
    assert targets(root) == ["cell", "inside", "none"]
    assert targets(root / "nowhere") == []


@pytest.mark.parametrize("text", ["stages: [", "stages:\n", "stages: [a]\n", "7\n", ""])
def test_a_graph_without_stages(text: str, tmp_path: Path) -> None:
    """The form of a deployment reads the targets, also of a file that is none."""
    (tmp_path / "dvc.yaml").write_text(text, encoding="utf-8")
    try:
        assert targets(tmp_path) == []
    except SettingsError as error:
        assert "is not YAML" in str(error)


def test_few_stages_of_many_have_the_order_of_the_graph(tmp_path: Path) -> None:
    """Whatever the hashes of this process: the same dvc.lock each time."""
    others = {f"other{number}": {"cmd": "echo"} for number in range(20)}
    graph = {"stages": {**others, "cells": {"matrix": {"x": ["c", "a", "b"]}, "cmd": "echo ${item.x}"}}}
    write_yaml(tmp_path / "dvc.yaml", graph)
    script = (
        "from dvc.repo import Repo\nfrom prefect_dvc.execution.graph import read_graph\n"
        "with Repo('.') as repo: print(*(stage.name for stage in read_graph(repo, 'cells')))"
    )
    Repo.init(str(tmp_path), no_scm=True).close()
    orders = {
        subprocess.check_output(
            [sys.executable, "-c", script], cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": seed}, text=True
        ).splitlines()[-1]
        for seed in "123"
    }
    assert orders == {"cells@c cells@a cells@b"}
