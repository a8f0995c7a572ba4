"""Overrides of a run reach params.yaml, and no shell."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo

from prefect_dvc.errors import SettingsError
from prefect_dvc.settings.parameters import check_words, configure
from prefect_dvc.settings.yaml_reader import read_yaml
from stages.params import read_params

from .conftest import make_repository, stage, write_yaml


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """A stage with a cell for each value of a parameter, which becomes a word of its command."""
    cell: dict[str, Any] = {"matrix": {"it": "${stages.m.value}"}, "cmd": "echo ${item.it}", "params": ["stages.m"]}
    root = make_repository(tmp_path / "workspace", {"m": stage("m")})
    write_yaml(root / "dvc.yaml", {"stages": {"m": cell}})
    write_yaml(root / "params.yaml", {"profile": "demo", "stages": {"m": {"value": ["one", "two"]}}})
    subprocess.run(["git", "commit", "--quiet", "--all", "--message", "A matrix"], cwd=root, check=True)
    return root


def set_values(root: Path, overrides: dict[str, Any]) -> None:
    """Change parameters, and check what reaches a shell."""
    configure(root, None, overrides)
    with Repo(str(root)) as repo:
        check_words(repo, overrides)


@pytest.mark.parametrize("value", ["x; touch y", "$(touch y)", "`touch y`", "x\ntouch y", "a b", "a'b", "--help"])
def test_a_command_gets_words_alone(matrix: Path, value: str) -> None:
    with pytest.raises(SettingsError, match=r"stages.m.value has .*, which dvc.yaml puts into a command"):
        set_values(matrix, {"stages.m.value": ["one", value]})


@pytest.mark.parametrize("text", ["no", "on", "1e-05", "012", "1_000", "12:30", "~", ".5", "true"])
@pytest.mark.fault(44)
def test_one_reader(text: str, tmp_path: Path) -> None:
    """The flows and the stages read the same value; a day without quotes is refused by the stages."""
    file = tmp_path / "params.yaml"
    file.write_text(f"a: {text}\n", encoding="utf-8")
    assert read_yaml(file.read_text(encoding="utf-8")) == read_params(file)


def test_words_numbers_and_paths_pass(matrix: Path) -> None:
    set_values(matrix, {"stages.m.value": ["minilm-l3", "sick+labels", 0.2, 1e-05, True, "raw/in.csv", "s3://a/b"]})


def test_what_params_yaml_has_itself(matrix: Path) -> None:
    """regression: a path or a title that dvc.yaml refers to was refused, though no run had set it."""
    stages = {"m": {"value": ["two words"]}, "n": {"value": 1}}
    write_yaml(matrix / "params.yaml", {"profile": "demo", "stages": stages})
    set_values(matrix, {"stages.n.value": 2})
