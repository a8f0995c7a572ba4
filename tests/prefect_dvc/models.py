"""A repository that makes a model in no time: real git, DVC and GTO, with a quality that a test sets."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from prefect_dvc.execution.run import new_name
from prefect_dvc.workspace.apply import keep
from prefect_dvc.workspace.directory import worktree

from .conftest import CONFIG, commit_all, make_repository, write_yaml
from .test_cache import put

MODEL = '''\
"""Writes a model and its figures as params.yaml wishes them."""
import json, os, sys, time
from pathlib import Path
import yaml

params = yaml.safe_load(Path("params.yaml").read_text())
print("student: at work", flush=True)
end, parent = time.monotonic() + params["student"]["seconds"], os.getppid()
while time.monotonic() < end:
    time.sleep(0.01)
    if os.getppid() != parent:
        sys.exit("student: whoever waited for it was killed")
for directory in ("models/student", "reports"):
    Path(directory).mkdir(parents=True, exist_ok=True)
Path("models/student/model.txt").write_text(f"{params['web']['snapshot']}: {params['student']['spearman']}\\n")
Path("reports/metrics.json").write_text(json.dumps({
    "student/lee/spearman": params["student"]["spearman"],
    "student/lee/mae": 1.0,
    "student/sentences_per_second": time.time(),
}))
'''
BENCHMARKS = '''\
"""Writes the provenance of a benchmark that params.yaml describes."""
import json
from pathlib import Path
import yaml

Path("data/benchmarks").mkdir(parents=True)
sets = yaml.safe_load(Path("params.yaml").read_text())["benchmarks"]
Path("data/benchmarks/provenance.json").write_text(json.dumps({"sets": sets, "absent": {}, "pair_sets": []}))
'''
STAGES: dict[str, dict[str, Any]] = {
    "benchmarks": {"cmd": "python benchmarks.py", "params": ["benchmarks"], "outs": ["data/benchmarks"]},
    "student": {
        "cmd": "python model.py",
        "params": ["web.snapshot", "student.spearman"],
        "deps": ["data/benchmarks"],
        "outs": ["models/student"],
        "metrics": [{"reports/metrics.json": {"cache": False}}],
    },
}
ARTIFACTS = {"student": {"path": "models/student", "type": "model"}}
MODEL_CONFIG: dict[str, Any] = {
    "registry": {
        "artifact": "student",
        "metrics": "reports/metrics.json",
        "benchmarks": "data/benchmarks/provenance.json",
        "tolerances": {"student/*/spearman": 0.005, "student/*/mae": 0.05},
    },
    "edition": {"snapshot": "web.snapshot"},
}
EDITION_CONFIG: dict[str, Any] = {  # of a repository with a cleaner
    "snapshot": "web.snapshot",
    "counters": "reports/counters/clean.json",
    "overview": "reports/corpus.json",
    "limits": {"rows": "30%", "dropped": 0.1, "language": 0.05, "vocabulary": "20%"},
}
LEE = {"sha256": {"lee.cor": "a878"}, "rows": {"test": 1225}, "licence": "none stated"}
PARAMS = {
    "web": {"snapshot": "1"},
    "benchmarks": {"lee": LEE},
    "student": {"spearman": 0.5, "seconds": 0},
    "shards": {"dask": None},
}


def make_models(root: Path) -> Path:
    """The repository at `root`, its only commit on main, nothing run yet."""
    make_repository(root, STAGES)
    (root / "stages/params.py").write_text("", encoding="utf-8")
    write_yaml(root / "flows.yaml", CONFIG | MODEL_CONFIG)
    (root / "model.py").write_text(MODEL, encoding="utf-8")
    (root / "benchmarks.py").write_text(BENCHMARKS, encoding="utf-8")
    ignored = "/models/student\n/data/benchmarks\n/data/checkpoints\n__pycache__/\n"
    (root / ".gitignore").write_text(ignored, encoding="utf-8")
    write_yaml(root / "dvc.yaml", {"stages": STAGES, "artifacts": ARTIFACTS})
    write_yaml(root / "params.yaml", PARAMS)
    commit_all(root, "A model")
    return root


def add_remote(root: Path, store: Path) -> None:
    """A default remote of DVC's, committed, so that clones know it."""
    store.mkdir()
    text = f"[core]\n    analytics = false\n    remote = store\n['remote \"store\"']\n    url = {store}\n"
    (root / ".dvc/config").write_text(text, encoding="utf-8")
    commit_all(root, "A remote")


def kept_run(root: Path, model: str, stages: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A run that ended with the text `model` as its model, without having run; returns its name.

    Args:
        root: The workspace.
        model: The text.
        stages: What dvc.lock has of other stages.
    """
    name = new_name()
    hashed = put(root / ".dvc/cache", model.encode())
    with worktree(root, name) as directory:
        outs = [{"path": "models/student", "hash": "md5", "md5": hashed}]
        locked = {"student": {"cmd": "x", "outs": outs}, **stages}
        write_yaml(directory / "dvc.lock", {"schema": "2.0", "stages": locked})
        (directory / "reports").mkdir()
        (directory / "reports/metrics.json").write_text(json.dumps({"student/lee/spearman": 0.5}), encoding="utf-8")
        keep(root, directory, name, {})
    return name


def change(root: Path, section: str, **values: object) -> None:
    """Change parameters and commit them."""
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    params[section] |= values
    write_yaml(root / "params.yaml", params)
    commit_all(root, f"Change {section}")
