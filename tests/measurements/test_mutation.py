"""Faults that are planted: which are drawn, which are left out, and what the tests say of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from measurements import mutation
from measurements.mutation import Verdict, behaviour, chosen_tests, drawn, faults

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
CODE = '''
def larger(a: int | None, b: int) -> int:
    """Return the larger."""
    return a if a is not None and a > b else b


def untested(a: int) -> int:
    return a + 1


def named(a: int) -> int:
    return a * a
'''
TEST = """
import subprocess
import sys
from stages.room.module import larger

def test_larger():
    assert larger(2, 1) == 2 and larger(1, 2) == 2 and larger(None, 3) == 3 and larger(2, 2) == 2

def test_elsewhere(tmp_path):
    command = [sys.executable, "-c", "from stages.room.module import named; print(named(3))"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout == "9\\n"

def test_that_always_fails():
    assert False
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
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*GIT, *command], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    listed = tmp_path.parent / "equivalent.csv"
    change = "return a if a is not None and a > b else b  ->  return a if a is not None and a >= b else b"
    listed.write_text(f"path,change,reason\nstages/room/module.py,{change},a equals b there\n", encoding="utf-8")
    monkeypatch.setattr(mutation, "EQUIVALENT", listed)
    return tmp_path


def planted(arguments: list[str]) -> list[Verdict]:
    mutation.main(["--files", "stages/room/module.py", *arguments])
    return mutation.read(Path("build/mutation.csv"), mutation.commit_of(Path.cwd()))


def test_annotations_and_docstrings_are_no_behaviour() -> None:
    other = CODE.replace("int | None", "int & None").replace("the larger", "the smaller")
    assert behaviour(other) == behaviour(CODE)
    assert behaviour(CODE.replace("a > b", "a >= b")) != behaviour(CODE)


def test_a_draw_is_the_same_for_a_seed(repository: Path) -> None:
    """Of faults on lines of code alone."""
    first, again, other = (drawn(repository, ["stages/room/module.py"], 4, seed) for seed in (1, 1, 2))
    assert first == again != other and len(first) == 4
    assert {fault.line for fault in faults(repository, "stages/room/module.py")} == {4, 8, 12}


def test_the_tests_of_a_module(repository: Path) -> None:
    """A folder without tests has those of the one around it."""
    tests = ["tests/stages/room/test_module.py"]
    assert chosen_tests(repository, "stages/room/module.py") == tests
    assert chosen_tests(repository, "stages/room/inner/other.py") == tests


def test_what_no_test_looks_at_survives(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A test that fails without a fault, too, finds none; a second call reads the verdicts of the first."""
    rows = planted(["--number", "5", "--seed", "18"])
    verdicts = {(row.line, row.verdict, row.test.partition("::")[2]) for row in rows}
    equivalent = (4, "equivalent", "")
    assert verdicts == {(4, "killed", "test_larger"), equivalent, (8, "survived", ""), (12, "killed", "test_elsewhere")}
    assert (repository / "stages/room/module.py").read_text(encoding="utf-8") == CODE
    said = capsys.readouterr().out
    assert planted(["--number", "5", "--seed", "18"]) == rows and capsys.readouterr().out == said
    assert said.splitlines()[-1].startswith("stages: ")


def test_the_code_that_was_there_before_is_not_run(tmp_path: Path) -> None:
    """Its byte code is, if size and second are the same and nobody removes it."""
    module = tmp_path / "module.py"
    found = []
    for code in ("print(1)", "print(2)"):
        mutation.put(module, code)
        os.utime(module, (0, 0))
        command = [sys.executable, "-c", "import module"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        found.append(subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout)
    assert found == ["1\n", "2\n"]


def test_verdicts_of_another_commit_are_not_taken(repository: Path) -> None:
    first = planted(["--number", "1"])
    (repository / "tests/stages/room/test_module.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    subprocess.run([*GIT, "commit", "-qam", "b"], cwd=repository, check=True)
    second = planted(["--number", "1"])
    assert [first[0].verdict, second[0].verdict] == ["killed", "survived"]
    assert first[0].fault == second[0].fault and first[0].commit != second[0].commit


def test_tests_that_never_end(repository: Path) -> None:
    (repository / "tests/stages/room/test_module.py").write_text("while True:\n    pass\n", encoding="utf-8")
    subprocess.run([*GIT, "commit", "-qam", "b"], cwd=repository, check=True)
    assert [row.verdict for row in planted(["--number", "1", "--seconds", "2"])] == ["timeout"]
