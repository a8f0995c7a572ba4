"""An odd dvc.yaml: what DVC allows in one runs on a worker with the same result, and can be promoted."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dvc.api
import pytest
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from prefect_dvc.registry.promotion import PromotionError, outputs

from .conftest import cli, commit_all, dvc_, git, init_dvc, init_git, pipeline, write_yaml
from .handoff_server import Server, clone_of, running, worker
from .test_cache import damage
from .test_pipeline import last_line

TITLE = "Two words: a & b"  # a stage puts it in quotes
PARAMS = {"raw": "raw/in.csv", "title": TITLE, "langs": ["en", "de"], "rate": 0.5}
VARS = {"place": "out/models", "items": {"one": {"v": 1}, "two words": {"v": 2}}}
GRAPH: dict[str, Any] = {
    "vars": ["conf/vars.yaml", {"own": {"x": 7}}],
    "stages": {
        "prep": {
            "cmd": ["mkdir -p out/models", "cat ${raw} added.txt > out/prep.txt", 'echo "${title}" >> out/prep.txt'],
            "deps": ["${raw}", "added.txt"],
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
        "train": {
            "cmd": [
                "cat conf/b.toml conf/c.py > ${place}/net.txt",
                "echo ${rate} ${own.x} >> ${place}/net.txt",
                'echo \'{"test": {"accuracy": ${rate}}}\' > out/metrics.json',
                "printf 'epoch,loss\\n0,1\\n1,0.5\\n' > out/loss.csv",
            ],
            "params": ["rate", {"conf/b.toml": ["tool.beta"]}, {"conf/c.py": ["GAMMA"]}, {"conf/vars.yaml": None}],
            "deps": ["out/prep.txt"],
            "outs": ["${place}/net.txt"],
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
        "tell": {"cmd": "cat sub/out/inside.txt", "deps": ["sub/out/inside.txt"]},
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
FILES = {
    "conf/b.toml": '[tool]\nbeta = "q"\n',
    "conf/c.py": "GAMMA = 3\n",
    "raw/in.csv": "a,b\n1,2\n3,5\n",
    "sub/.keep": "",
    "added.txt": "added\n",
    ".gitignore": "/out/*\n!/out/metrics.json\n/sub/out\n/added.txt\n/other/below.txt\n__pycache__/\n",
}


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Templates, a foreach, a matrix, parameters of four files, a wdir, data of DVC's, a second dvc.yaml."""
    root = tmp_path / "odd"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "other").mkdir()
    write_yaml(root / "params.yaml", PARAMS)
    write_yaml(root / "conf/vars.yaml", VARS)
    write_yaml(root / "dvc.yaml", GRAPH)
    write_yaml(root / "other/dvc.yaml", {"stages": {"below": BELOW}})
    registry = {"artifact": "inside", "metrics": "out/metrics.json", "tolerances": {"*": 0.01}}
    write_yaml(root / "flows.yaml", {"registry": registry})
    init_git(root)
    init_dvc(root)
    dvc_("add", "added.txt", cwd=root)
    commit_all(root, "Odd")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "prefect").mkdir()
    with running(Server(tmp_path / "prefect")) as server:
        yield server


def made(root: Path) -> dict[str, str]:
    """The results, by path."""
    files = [*root.glob("out/**/*"), *root.glob("sub/out/*"), root / "other/below.txt"]
    return {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files if file.is_file()}


@pytest.mark.fault(7)
def test_an_odd_graph(odd: Path, server: Server, tmp_path: Path) -> None:
    """The bytes of `dvc repro`, which then has nothing to do; afterwards, what can go wrong with each kind of stage."""
    plain = shutil.copytree(odd, tmp_path / "plain")
    dvc_("repro", "--all-pipelines", cwd=plain)
    clone = clone_of(odd)
    git(clone, "remote", "add", "home", str(odd))
    dvc_("remote", "add", "--local", "home", str(odd / ".dvc/cache"), cwd=clone)
    with worker(server, clone):
        done = pipeline(odd, "--gpu", "require", "--apply", "--parallel", "4", **server.environment)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "It won't be created" not in told  # DVC's warning of outputs to come
    for name in ("each@one", "each@two words", "inside", "other/dvc.yaml:below"):
        assert name in told.partition("Ran on GPU worker: ")[2].partition(";")[0]
    assert made(odd) == made(plain)
    assert TITLE in (odd / "out/prep.txt").read_text(encoding="utf-8")
    assert "Running stage" not in dvc_("repro", "--all-pipelines", cwd=odd)
    with server.client() as client:
        keys = [f"plot-{name}" for name in ("raw-in-csv", "m-glich", "out-loss-csv", "json")]
        shown = client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=keys)))
    assert {artifact.key for artifact in shown} == {"plot-m-glich"}  # raw/in.csv is of no stage
    commit_all(odd, "Done")
    targets_of_many(odd)
    artifacts(odd)
    damaged_data(odd)


def targets_of_many(odd: Path) -> None:
    """A matrix by its own name, with other cells than before; a stage of another dvc.yaml."""
    assert last_line(pipeline(odd, "--set", "langs=[fr]", "--target", "grid")).endswith("Ran: grid@fr-1, grid@fr-0.5")
    assert "other/dvc.yaml:below" in last_line(pipeline(odd, "--target", "other/dvc.yaml:below"))


def artifacts(odd: Path) -> None:
    """One below a wdir is promoted and fetched; regression: "its stage has not run", after all of the training."""
    done = cli(odd, "retrain", "--gpu", "local")
    told = re.search(r"there is no new model. To promote the existing model: prefect-dvc promote (\S+)", done.stdout)
    assert told is not None, done.stdout + done.stderr
    cli(odd, "promote", told[1]).check_returncode()
    found = dvc.api.artifacts_show("inside", stage="production", repo=str(odd))
    assert TITLE in dvc.api.read(found["path"], repo=str(odd), rev=found["rev"])
    text = (odd / "dvc.yaml").read_text(encoding="utf-8")
    write_yaml(odd / "dvc.yaml", {"stages": 7})
    with pytest.raises(PromotionError, match=r"DVC cannot read the graph of"):
        outputs(odd)
    (odd / "dvc.yaml").write_text(text, encoding="utf-8")


def damaged_data(odd: Path) -> None:
    """An object of a .dvc file is checked as well; regression: a stage got the damaged bytes."""
    name = hashlib.md5((odd / "added.txt").read_bytes()).hexdigest()
    (odd / "added.txt").unlink()  # it may be a link to the object
    damage(odd / ".dvc/cache", name)
    done = pipeline(odd, "--target", "prep")
    assert f"Object {name} of DVC's cache was damaged" in done.stdout
    assert done.returncode == 1
    assert "added.txt" in done.stderr
