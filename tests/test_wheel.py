"""What `pip install .` gives: the released student in five lines, without the repository."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the packages and installed without its dependencies, which are here."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("flows", "sentence_distillery", "stages", "models/released"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, place / "source" / name, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, place / "source" / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(place / "source")]
    subprocess.run([*pip, *build], check=True, cwd=place)
    (wheel,) = place.glob("*.whl")
    assert wheel.stat().st_size < 16_000_000
    subprocess.run([*pip, "install", "--no-deps", "--target", str(place / "site"), str(wheel)], check=True, cwd=place)
    shutil.rmtree(place / "source")
    return place / "site"


def run(code: str, site: Path, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=directory, env={"PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_lines_of_the_readme(installed: Path, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", readme, re.S)
    assert block is not None
    assert len([line for line in block[1].splitlines() if line]) == 5
    related, unrelated = map(float, run(block[1], installed, tmp_path).split())
    assert related > unrelated + 0.3


def test_it_is_the_installed_one_and_needs_no_neural_network_library(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sys; import sentence_distillery as s; print(s.__file__); s.load().encode(['a storm']); "
        "print(sorted({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)))"
    )
    file, heavy = run(code, installed, tmp_path).splitlines()
    assert Path(file).is_relative_to(installed)
    assert not (installed / "sentence_distillery/released").is_symlink()
    assert heavy == "[]"
