"""Any dvc.yaml: what DVC allows in one runs here with the same result, also on a worker, and can be promoted."""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dvc.api
import pytest
from dvc.repo import Repo
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from prefect_dvc.registry.promotion import PromotionError, outputs

from .conftest import git, pipeline, write_yaml
from .handoff_server import Server, clone_of, worker
from .models import commit_all
from .site import dvc_
from .test_cache import damage

TITLE = "Two words: a & b"  # a stage puts it in quotes
PARAMS = {"raw": "raw/in.csv", "title": TITLE, "langs": ["en", "de"], "train": {"rate": 0.5, "size": {"layers": 3}}}
VARS = {"place": "out/models", "items": {"one": {"v": 1}, "two words": {"v": 2}}}
LOSS = "printf 'epoch,loss\\n0,1\\n1,0.5\\n' > out/loss.csv"
GRAPH: dict[str, Any] = {
    "vars": ["conf/vars.yaml", {"own": {"x": 7}}],
    "stages": {
        "prep": {
            "cmd": [
                "mkdir -p out",
                "cat ${raw} added.txt imported.txt > out/prep.txt",
                'echo "${title}" >> out/prep.txt',
            ],
            "deps": ["${raw}", "added.txt", "imported.txt"],
            "params": ["raw", "title"],
            "outs": ["out/prep.txt"],
        },
        "each": {
            "foreach": "${items}",
            "do": {
                "cmd": "mkdir -p out && echo ${item.v} > 'out/each ${key}.txt'",
                "deps": ["out/prep.txt"],
                "outs": ["out/each ${key}.txt"],
                "meta": {"resources": "gpu"},
            },
        },
        "grid": {
            "matrix": {"lang": "${langs}", "n": [1, 0.5]},
            "cmd": "mkdir -p out/grid && echo ${item.lang} > out/grid/${item.lang}-${item.n}.txt",
            "deps": ["out/prep.txt"],
            "outs": ["out/grid/${item.lang}-${item.n}.txt"],
        },
        "other": {
            "cmd": ["mkdir -p out", "cat conf/a.json conf/b.toml conf/c.py > out/other.txt"],
            "params": [
                {"conf/a.json": ["depth", "deep.x"]},
                {"conf/b.toml": ["tool.beta"]},
                {"conf/c.py": ["GAMMA"]},
                {"conf/vars.yaml": None},
                "train.rate",
            ],
            "outs": ["out/other.txt"],
        },
        "train": {
            "cmd": [
                "mkdir -p out/models",
                "echo ${train.rate} ${own.x} > ${place}/net.txt",
                'echo \'{"test": {"accuracy": ${train.rate}}}\' > out/metrics.json',
                LOSS,
                "echo again >> out/history.txt",
            ],
            "params": ["train"],
            "deps": ["out/prep.txt", "out/other.txt"],
            "outs": ["${place}/net.txt", {"out/history.txt": {"persist": True}}],
            "metrics": [{"out/metrics.json": {"cache": False}}],
            "plots": [{"out/loss.csv": {"x": "epoch", "y": "loss"}}],
        },
        "inside": {
            "wdir": "sub",
            "cmd": "mkdir -p out && cat ../out/prep.txt > out/inside.txt",
            "deps": ["../out/prep.txt"],
            "outs": ["out/inside.txt"],
            "meta": {"resources": {"gpu": 1}},
        },
        "always": {
            "cmd": "mkdir -p out && echo 1 > out/always.txt",
            "always_changed": True,
            "outs": ["out/always.txt"],
        },
        "after": {
            "cmd": "cat out/always.txt sub/out/inside.txt > out/after.txt",
            "deps": ["out/always.txt", "sub/out/inside.txt"],
            "outs": ["out/after.txt"],
        },
        "tell": {"cmd": "cat out/after.txt", "deps": ["out/after.txt"]},
    },
    "plots": [
        {"out/loss.csv": None},
        "picture.png",
        {"gone.csv": {"x": "a", "y": "b"}},
        {"raw/in.csv": {"x": "a", "y": "b"}},
        {"Möglich": {"x": {"out/loss.csv": "epoch"}, "y": {"out/loss.csv": ["loss", "none"]}}},
        {"json": {"x": "epoch", "y": {"out/metrics.json": "loss"}}},
    ],
    "artifacts": {"net": {"path": "${place}/net.txt"}, "inside": {"path": "sub/out/inside.txt"}},
}
BELOW: dict[str, Any] = {
    "cmd": "cat ../out/prep.txt > below.txt",
    "deps": ["../out/prep.txt"],
    "outs": ["below.txt"],
    "meta": {"resources": "gpu"},
}
IGNORED = "/out/*\n!/out/metrics.json\n/sub/out\n/added.txt\n/imported.txt\n/other/below.txt\n__pycache__/\n"
MADE = ("out", "sub/out", "other/below.txt")


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Templates, a foreach, a matrix, parameters of four files, wdir, persist, imports, a second dvc.yaml."""
    root = tmp_path / "odd"
    for folder in ("conf", "raw", "other", "sub"):
        (root / folder).mkdir(parents=True)
    texts = {
        "conf/a.json": '{"depth": 4, "deep": {"x": 1}}',
        "conf/b.toml": '[tool]\nbeta = "q"\n',
        "conf/c.py": "GAMMA = 3\n",
        "raw/in.csv": "a,b\n1,2\n3,5\n",
        "sub/.keep": "",
        "added.txt": "added\n",
        ".gitignore": IGNORED,
    }
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
    write_yaml(root / "params.yaml", PARAMS)
    write_yaml(root / "conf/vars.yaml", VARS)
    write_yaml(root / "dvc.yaml", GRAPH)
    write_yaml(root / "other/dvc.yaml", {"stages": {"below": BELOW}})
    registry = {"artifact": "inside", "metrics": "out/metrics.json", "tolerances": {"*": 0.01}}
    write_yaml(root / "flows.yaml", {"registry": registry})
    (tmp_path / "far.txt").write_text("from far away\n", encoding="utf-8")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", "odd")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@localhost")
    Repo.init(str(root)).close()
    dvc_("config", "core.analytics", "false", cwd=root)
    dvc_("add", "added.txt", cwd=root)
    dvc_("import-url", str(tmp_path / "far.txt"), "imported.txt", cwd=root)
    commit_all(root, "Odd")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.chdir(root)
    return root


def made(root: Path) -> dict[str, str]:
    """The results, by path."""
    files = [file for name in MADE for file in ((root / name).rglob("*") if (root / name).is_dir() else [root / name])]
    return {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files if file.is_file()}


def by_state(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """The stages of a run by how they ended."""
    assert done.returncode == 0, done.stdout + done.stderr
    line = done.stdout.strip().splitlines()[-1]
    return {state: names.split(", ") for state, names in (part.split(": ", 1) for part in line.split("; "))}


@pytest.mark.fault(7)
def test_the_life_of_an_odd_graph(odd: Path, tmp_path: Path) -> None:
    """The bytes of `dvc repro`, which then has nothing to do; afterwards each kind of stage in turn."""
    plain = shutil.copytree(odd, tmp_path / "plain")
    dvc_("repro", "--all-pipelines", cwd=plain)
    done = pipeline(odd, "--apply", "--parallel", "4")
    assert "It won't be created" not in done.stdout + done.stderr  # DVC's warning of outputs to come
    first = by_state(done)
    assert first["Cached"] == ["added.txt.dvc", "imported.txt.dvc"]
    assert len(first["Ran"]) == 14
    assert made(odd) == made(plain)
    assert TITLE in (odd / "out/prep.txt").read_text(encoding="utf-8")
    told = dvc_("repro", "--all-pipelines", cwd=odd)
    assert told.count("Running stage") == 1 and "Running stage 'always'" in told
    commit_all(odd, "Done")
    targets_of_many(odd)
    artifacts(odd)
    frozen(odd)
    damaged_import(odd)


def targets_of_many(odd: Path) -> None:
    """A matrix by its own name, with other cells than before; a stage of another dvc.yaml."""
    ran = by_state(pipeline(odd, "--set", "langs=[fr]", "--target", "grid"))["Ran"]
    assert sorted(ran) == ["grid@fr-0.5", "grid@fr-1"]
    assert by_state(pipeline(odd, "--target", "other/dvc.yaml:below"))["Cached"][-1] == "other/dvc.yaml:below"


def artifacts(odd: Path) -> None:
    """One below a wdir is promoted and fetched; regression: "its stage has not run", after all of the training."""
    command = [sys.executable, "-m", "prefect_dvc.cli", "retrain", "--gpu", "local"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = re.search(r"there is no new model. To promote the existing model: prefect-dvc promote (\S+)", done.stdout)
    assert told is not None, done.stdout + done.stderr
    promote = [sys.executable, "-m", "prefect_dvc.cli", "promote", told[1]]
    subprocess.run(promote, capture_output=True, text=True, check=True)
    found = dvc.api.artifacts_show("inside", stage="production", repo=str(odd))
    assert TITLE in dvc.api.read(found["path"], repo=str(odd), rev=found["rev"])
    text = (odd / "dvc.yaml").read_text(encoding="utf-8")
    write_yaml(odd / "dvc.yaml", {"stages": 7})
    with pytest.raises(PromotionError, match=r"DVC cannot read the graph of"):
        outputs(odd)
    (odd / "dvc.yaml").write_text(text, encoding="utf-8")


def frozen(odd: Path) -> None:
    """Nothing that it depends on runs for its sake, as with `dvc repro`; regression: all of that ran."""
    dvc_("freeze", "after", cwd=odd)
    write_yaml(odd / "params.yaml", PARAMS | {"title": "Another"})
    assert "Running" not in dvc_("repro", "--dry", "after", cwd=odd)
    assert by_state(pipeline(odd, "--target", "after")) == {"Cached": ["after"]}


def damaged_import(odd: Path) -> None:
    """An object of a .dvc file is checked as well; regression: a stage got the damaged bytes."""
    name = hashlib.md5((odd / "added.txt").read_bytes()).hexdigest()
    (odd / "added.txt").unlink()  # it may be a link to the object
    damage(odd / ".dvc/cache", name)
    done = pipeline(odd, "--target", "prep")
    assert f"Object {name} of DVC's cache was damaged" in done.stdout
    assert done.returncode == 1
    assert "added.txt" in done.stderr


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "prefect").mkdir()
    server = Server(tmp_path / "prefect")
    server.start()
    try:
        server.deploy()
        yield server
    finally:
        server.stop()


def test_on_a_worker(odd: Path, server: Server) -> None:
    """A wdir, a second dvc.yaml, a blank in a name; the flow shows what it can of the plots, and does not fail."""
    clone = clone_of(odd)
    git(clone, "remote", "add", "home", str(odd))
    dvc_("remote", "add", "--local", "home", str(odd / ".dvc/cache"), cwd=clone)
    with worker(server, clone):
        done = pipeline(odd, "--gpu", "require", "--apply", **server.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout + done.stderr
    for name in ("each@one", "each@two words", "inside", "other/dvc.yaml:below"):
        assert name in told.partition("Ran on GPU worker: ")[2].partition(";")[0]
    with server.client() as client:
        keys = [f"plot-{name}" for name in ("raw-in-csv", "m-glich", "out-loss-csv", "json")]
        shown = client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=keys)))
    assert {artifact.key for artifact in shown} == {"plot-m-glich"}  # raw/in.csv is of no stage
