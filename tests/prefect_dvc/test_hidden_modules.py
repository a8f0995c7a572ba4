"""A project with modules by the names of DVC's, Prefect's or the standard library's: none of them is imported.

A console script does not look for modules in the current directory, and `python -m` does.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from prefect_dvc.workers.capacity import measured

from .conftest import git, init_dvc, init_git
from .models import add_remote

HIDDEN = ("dvc", "prefect", "queue", "types", "torch", "json")
GRAPH = """\
stages:
  a: {cmd: cp in.txt out.txt, deps: [in.txt], outs: [out.txt]}
artifacts:
  m: {path: out.txt, type: model}
"""


def project(base: Path) -> Path:
    """Make a repository with a remote, whose modules fail if they are imported."""
    root = base / "project"
    for name in HIDDEN:
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(f"raise SystemExit('the project\\'s own {name}')\n", encoding="utf-8")
    (root / "dvc.yaml").write_text(GRAPH, encoding="utf-8")
    (root / "in.txt").write_text("x\n", encoding="utf-8")
    init_git(root)
    init_dvc(root)
    add_remote(root, base / "remote")
    return root


def run(root: Path, *words: str) -> str:
    command = [str(Path(sys.executable).parent / "prefect-dvc"), *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_and_its_promotion(tmp_path: Path) -> None:
    root = project(tmp_path)
    assert "Ran: a" in run(root, "run")
    (name,) = (tag.rpartition("/")[2] for tag in git(root, "tag", "--list", "prefect-dvc/runs/*").split())
    run(root, "promote", name, "--artifact", "m")
    assert any(path.is_file() for path in (tmp_path / "remote").rglob("*"))
    assert "m" in run(root, "show", "--artifact", "m")


def test_the_cards_of_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path))
    monkeypatch.delenv("DISTILLERY_DEVICE", raising=False)
    assert measured().cpus > 0
