"""The tutorial, from its own code blocks: first command to a search in the browser.

Two things differ from what a reader does, so that it takes seconds: the teacher is small and has random weights, and
only the functions of scipy.stats are read.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.docsite.test_commands import BLOCK, TEACHER
from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT

PAGE = ROOT / "docs/tutorial.md"
PACKAGES = "(numpy, scipy, sklearn)"


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The blocks with their languages, without the installation."""
    teacher = tmp_path_factory.mktemp("teachers") / "wide"
    write_tiny_bert(teacher, width=256)
    page = PAGE.read_text(encoding="utf-8")
    assert TEACHER in page and PACKAGES in page
    page = page.replace(TEACHER, str(teacher)).replace(PACKAGES, "(scipy.stats,)").replace("--port 8000", "--port 0")
    return [(language, text) for language, text in BLOCK.findall(page) if "pip install" not in text]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tutorial")


def environment() -> dict[str, str]:
    """The programs of this environment first, as after `activate`, and the library from here."""
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": binaries, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}


def run(command: list[str], place: Path) -> str:
    done = subprocess.run(command, cwd=place, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_the_first_command_to_the_search(code: list[tuple[str, str]], place: Path) -> None:
    printed = ""
    for language, text in code:
        match language:
            case "sh" if "explore" in text:
                explored(text, place)
            case "sh":
                printed = run(["bash", "-euc", text], place)
            case "python":
                name = "collect.py" if "docstring" in text else "search.py"
                (place / name).write_text(text, encoding="utf-8")
            case "console":
                assert len(printed.splitlines()) == len(text.splitlines()) == 3
            case "text":
                assert printed == text
    assert (place / "models/small/model.safetensors").stat().st_size < 2_000_000


def explored(text: str, place: Path) -> None:
    """Start the server of a block, and ask it as a program would: for the page, and for a vector."""
    command = ["bash", "-euc", f"exec {text.strip()}"]
    with subprocess.Popen(command, cwd=place, env=environment(), stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            address = running.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
            with urllib.request.urlopen(address) as page:
                assert b"<title>" in page.read()
            body = json.dumps({"model": "mine", "input": ["fit a curve to noisy points"]}).encode()
            request = urllib.request.Request(f"{address}v1/embeddings", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                assert len(json.load(answer)["data"][0]["embedding"]) == 256
        finally:
            running.terminate()
