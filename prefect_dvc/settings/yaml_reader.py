"""YAML as DVC reads it, by version 1.2, in which `no` is a text; here a day such as 2026-11-21 is one, too."""

from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from prefect_dvc.errors import SettingsError

MOST_VALUES = 200_000


class _Constructor(SafeConstructor):
    """DVC's own, but that a day stays a text."""


_Constructor.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def _size(value: Any, seen: tuple[int, ...] = ()) -> int:
    """Count the values below one as often as they are named; raises YAMLError if there are too many, or no end."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) in seen:
        raise yaml.YAMLError("an anchor is named within itself")
    total = 1
    for each in value.values() if isinstance(value, dict) else value:
        total += _size(each, (*seen, id(value)))
        if total > MOST_VALUES:
            raise yaml.YAMLError(f"its anchors expand to more than {MOST_VALUES:,} values")
    return total


def read_yaml(text: str) -> Any:
    """Read a text, also one that `yaml.safe_dump` wrote, which puts such texts in quotes. Raises yaml.YAMLError.

    Example:
        >>> read_yaml("{language: no, since: 2026-11-21, rate: 1e-05}")
        {'language': 'no', 'since': '2026-11-21', 'rate': 1e-05}
    """
    reader = YAML(typ="safe", pure=True)  # in C, deep nesting ends the process
    reader.Constructor = _Constructor
    try:
        content = reader.load(text)
        _size(content)
    except RecursionError as error:
        raise yaml.YAMLError("it is nested too deeply") from error
    except (YAMLError, ValueError) as error:  # the second for an integer of thousands of digits, or of none
        raise yaml.YAMLError(_problem(error)) from error
    return content


def read_file(path: Path) -> Any:
    """Read a YAML file. Raises SettingsError."""
    try:
        return read_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not YAML: {error}") from error


def _problem(error: Exception) -> str:
    """Return an error in one line: the reason, and where it is."""
    if not isinstance(error, MarkedYAMLError) or error.problem is None:
        return " ".join(str(error).split())
    mark = error.problem_mark
    where = "" if mark is None else f" in line {mark.line + 1}, column {mark.column + 1}"
    return f"{' '.join(error.problem.split())}{where}"
