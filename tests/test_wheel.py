"""The result of `pip install sentence-distillery`: a wheel of the library and the crawler, and three packages."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from sentence_distillery.encoder.native import loading
from tests.workspace import ROOT

CORE = {"numpy", "safetensors", "tokenizers"}
LARGEST_WHEEL = 16_000_000  # bytes
LARGEST_ENVIRONMENT = 170_000_000  # bytes, the wheel and its dependencies


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of git's files."""
    place = tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns("__pycache__", "*.so")
    for name in (
        "sentence_distillery",
        "news_crawler",
        "models/released",
        "stages",
        "prefect_dvc",
        "measurements",
        "reproductions",
    ):
        shutil.copytree(ROOT / name, place / "source" / name, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, place / "source" / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(place / "source")]
    subprocess.run([*pip, *build], check=True, cwd=place)
    shutil.rmtree(place / "source")
    (found,) = place.glob("*.whl")
    return found


def installed(place: Path, what: str) -> Path:
    """Install something in a fresh environment, with its dependencies, by uv or pip; returns the interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    interpreter = place / "bin/python"
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(interpreter)]
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(interpreter), "install"]
    done = subprocess.run([*uv, what], capture_output=True, text=True)
    if done.returncode:  # for machines where only pip knows the package index
        subprocess.run([*pip, what], check=True)
    return interpreter


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the core alone."""
    return installed(tmp_path_factory.mktemp("fresh") / "environment", str(wheel))


@pytest.fixture(scope="module")
def scoring(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the extra `evaluate`, which brings `tables`."""
    return installed(
        tmp_path_factory.mktemp("fresh") / "environment", f"sentence-distillery[evaluate] @ {wheel.as_uri()}"
    )


def run(python: Path, code: str, directory: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, "-c", code], cwd=directory, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_library_and_the_crawler(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL
    names = ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"news_crawler", "sentence_distillery"}
    assert {"sentence_distillery/py.typed", "sentence_distillery/released/model.safetensors"} <= set(names)
    page = {name.rpartition("/")[2] for name in names if name.startswith("sentence_distillery/serving/page/")}
    assert page == {path.name for path in (ROOT / "sentence_distillery/serving/page").iterdir()}  # also what was built
    templates = {name for name in names if "/templates/" in name}
    assert {Path(name).suffix for name in templates} >= {".md", ".html", ".css"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    compiled = [name for name in names if "/_core." in name and not name.endswith(".pyi")]
    assert len(compiled) == (loading.core() is not None)
    assert not compiled or "-cp311-abi3-" in wheel.name


def test_what_is_installed(python: Path) -> None:
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "list", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {package["name"] for package in json.loads(listing.stdout)}
    assert names >= CORE
    assert not names & {"torch", "prefect", "dvc", "scrapy", "gensim", "stanza"}
    files = [file for file in (python.parents[1] / "lib").rglob("*") if file.is_file()]
    written = [file for file in files if file.suffix != ".pyc"]  # byte code is there after pip, and not after uv
    assert sum(file.stat().st_size for file in written) < LARGEST_ENVIRONMENT


def test_the_first_lines_of_the_readme(python: Path, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", readme, re.S)
    assert block is not None
    assert len([line for line in block[1].splitlines() if line]) == 5
    related, unrelated = map(float, run(python, block[1], tmp_path).split())
    assert related > unrelated + 0.3


def test_the_encoder_for_search_comes_with_the_core(python: Path, tmp_path: Path) -> None:
    code = "from sentence_distillery import load; print(load('released-search').encode(['a storm']).shape)"
    assert run(python, code, tmp_path) == "(1, 1024)\n"


def test_a_csv_file_becomes_vectors(scoring: Path, tmp_path: Path) -> None:
    (tmp_path / "my_texts.csv").write_text('text,rating\n"A storm, a gale.",1\nShares fell.,2\n', encoding="utf-8")
    code = """
import numpy as np
from sentence_distillery import load
from sentence_distillery.cli import main
main(["encode", "my_texts.csv", "vectors.npy"])
print(np.array_equal(np.load("vectors.npy"), load().encode(["A storm, a gale.", "Shares fell."])))
"""
    assert run(scoring, code, tmp_path) == "True\n"


def test_it_is_the_installed_one(python: Path, tmp_path: Path) -> None:
    file = Path(run(python, "import sentence_distillery as s; print(s.__file__)", tmp_path).strip())
    assert file.is_relative_to(python.parents[1])
    assert not (file.parent / "released").is_symlink()


def test_pairs_are_scored_without_torch_and_documents_name_their_extra(scoring: Path, tmp_path: Path) -> None:
    code = """
import numpy as np
import sentence_distillery as s
ratings = np.array([3.5, 4.0, 0.0], np.float32)
left, right = ["a storm", "a dog", "a bank"], ["a gale", "a dog", "a song"]
pairs = s.PairSet("mine", "test", left, right, ratings, None, (0.0, 5.0))
print(len(s.evaluate(s.load(), [pairs])))
documents = s.DocumentSet("mine", "test", ["good", "bad"], ["1", "0"])
try:
    s.evaluate(s.load(), [(documents, documents)])
except ImportError as error:
    print(error)
"""
    figures, message = run(scoring, code, tmp_path).splitlines()
    assert int(figures) == 3
    assert "pip install 'sentence-distillery[distill]'" in message


def command(python: Path, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a file of texts in its directory."""
    (directory / "texts.txt").write_text("A storm.\nA gale.\n", encoding="utf-8")
    program = [str(python.parent / "sentence-distillery"), *words]
    return subprocess.run(program, cwd=directory, capture_output=True, text=True)


def test_the_command_line(python: Path, tmp_path: Path) -> None:
    done = command(python, tmp_path, "similarity", "The storm closed the port.", "The harbour was shut by the gale.")
    assert float(done.stdout) > 0.5
    assert command(python, tmp_path, "compress", "smaller", "--dimension", "8").returncode == 0


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("encode texts.txt x.npy", "tables"),
        ("compress x --texts texts.txt", "distill"),
        ("compress x --texts texts.txt --megabytes 1", "distill"),
        ("compress x --format onnx", "onnx"),
        ("distill texts.txt --teacher x --output y", "distill"),
        ("crawl https://a.example/ --contact a@a.example --output y", "crawl"),
    ],
)
def test_a_command_names_its_extra(python: Path, tmp_path: Path, words: str, extra: str) -> None:
    done = command(python, tmp_path, *words.split())
    assert done.returncode == 1
    assert done.stderr.startswith(f"{words.split()[0]} needs ")
    assert done.stderr.endswith(f"; run `pip install 'sentence-distillery[{extra}]'`.\n")
    assert len(done.stderr.splitlines()) == 1
