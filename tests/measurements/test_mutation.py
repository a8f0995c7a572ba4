"""Faults that are planted: which are drawn, which are left out, and what the tests say of them."""

import subprocess
from pathlib import Path

import pytest

from measurements import mutation
from measurements.mutation import behaviour, chosen_tests, drawn, faults

CODE = '''
def larger(a: int | None, b: int) -> int:
    """Return the larger."""
    return a if a is not None and a > b else b


def untested(a: int) -> int:
    return a + 1
'''
TEST = """
from stages.room.module import larger

def test_larger():
    assert larger(2, 1) == 2 and larger(1, 2) == 2 and larger(None, 3) == 3 and larger(2, 2) == 2
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one module and its test; its copy imports nothing of this one."""
    for name, text in {
        "stages/__init__.py": "",
        "stages/room/__init__.py": "",
        "stages/room/module.py": CODE,
        "tests/stages/room/test_module.py": TEST,
        "tests/test_other.py": "def test_nothing():\n    pass\n",
        "pyproject.toml": '[tool.pytest.ini_options]\nmarkers = ["endurance", "server", "browser"]\n',
        ".gitignore": "build/\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    return tmp_path


def test_annotations_and_docstrings_are_no_behaviour() -> None:
    other = CODE.replace("int | None", "int & None").replace("the larger", "the smaller")
    assert behaviour(other) == behaviour(CODE)
    assert behaviour(CODE.replace("a > b", "a >= b")) != behaviour(CODE)


def test_faults_lie_on_lines_of_code(repository: Path) -> None:
    found = list(faults(repository, "stages/room/module.py"))
    assert {fault.line for fault in found} == {4, 8}


def test_a_draw_is_the_same_for_a_seed(repository: Path) -> None:
    first, again, other = (drawn(repository, ["stages/room/module.py"], 4, seed) for seed in (1, 1, 2))
    assert first == again != other and len(first) == 4


def test_the_tests_of_a_module(repository: Path) -> None:
    assert chosen_tests(repository, "stages/room/module.py") == ["tests/stages/room/test_module.py"]


def test_what_no_test_looks_at_survives(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a second call reads the verdicts of the first."""
    mutation.main(["--files", "stages/room/module.py", "--number", "6", "--seed", "3"])
    rows = mutation.read(Path("build/mutation.csv"))
    verdicts = {(row.line, row.verdict) for row in rows}
    assert (8, "survived") in verdicts and (4, "killed") in verdicts and (8, "killed") not in verdicts
    assert (repository / "stages/room/module.py").read_text(encoding="utf-8") == CODE
    said = capsys.readouterr().out
    mutation.main(["--files", "stages/room/module.py", "--number", "6", "--seed", "3"])
    assert capsys.readouterr().out == said and mutation.read(Path("build/mutation.csv")) == rows
    assert said.splitlines()[-1].startswith("stages: ")
