"""A run's parameters: a profile of conf/, and overrides on top of it."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from dvc.utils.serialize import modify_yaml

from flows.execution.yaml_reader import read_yaml

PARAMS = "params.yaml"
REFERENCE = re.compile(r"\$\{\s*([\w.]+)\s*\}")  # of dvc.yaml to a value of params.yaml
WORD = re.compile(r"[\w.+-]*")


class SettingsError(Exception):
    """A profile, a key or a value is wrong; the message names it with the nearest known one."""


def configure(directory: Path, profile: str | None, overrides: Mapping[str, Any], site: str | None = None) -> None:
    """Write a profile, or nothing, and then `overrides` into params.yaml in `directory`; its comments stay.

    `site` is a news site of conf/site, the corpus of the profile.

    Keys may be dotted or nested: {"student.epochs": 3} and {"student": {"epochs": 3}} are the same.
    Raises SettingsError, also if the profile would go over an edit of params.yaml that no profile has.
    """
    if profile is None and site is not None:
        raise SettingsError(f"A site is written with a profile: name the profile that '{site}' is for.")
    if profile is not None:
        _stages_params(directory, "use", profile, *[f"--site={site}"] * bool(site))
    if overrides:
        with modify_yaml(directory / PARAMS) as params:
            for key, value in flat(overrides).items():
                _set(params, key.split("."), value)
    _stages_params(directory)
    _check_words(directory)


def profiles(directory: Path) -> list[str]:
    """List the names of the profiles of conf/profile, sorted."""
    return sorted(file.stem for file in (directory / "conf/profile").glob("*.yaml"))


def sites(directory: Path) -> list[str]:
    """List the names of the news sites of conf/site, sorted."""
    return sorted(file.stem for file in (directory / "conf/site").glob("*.yaml"))


def assignments(given: Sequence[str]) -> dict[str, Any]:
    """Parse the KEY=VALUE of a command line; values are YAML, in which a day is a text. Raises SettingsError."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        try:
            read = read_yaml(value)
        except yaml.YAMLError as error:
            raise SettingsError(f"'{text}': {value} is not YAML; put a text in quotes.") from error
        if not equals:
            raise SettingsError(f"'{text}' is not of the form KEY=VALUE.")
        found[key] = read
    return found


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested keys: {"student": {"epochs": 3}} becomes {"student.epochs": 3}."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        nested = isinstance(value, Mapping) and value
        leaves |= flat(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}
    return leaves


def _set(params: dict[str, Any], keys: list[str], value: object) -> None:
    *sections, last = keys
    for section in sections:
        if not isinstance(params.setdefault(section, {}), dict):
            raise SettingsError(f"'{'.'.join(keys)}': {section} is a value, not a section.")
        params = params[section]
    params[last] = value


def _stages_params(directory: Path, *arguments: str) -> None:
    """Check params.yaml, or write a profile into it, with the stages' own reader."""
    command = [sys.executable, "-m", "stages.params", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SettingsError(done.stderr.strip())


def _check_words(directory: Path) -> None:
    """Refuse values that dvc.yaml puts into a shell command and that are more than one word there."""
    params = read_yaml((directory / PARAMS).read_text(encoding="utf-8"))
    for path in sorted(set(REFERENCE.findall((directory / "dvc.yaml").read_text(encoding="utf-8")))):
        for value in _leaves(_get(params, path.split("."))):
            if not WORD.fullmatch(str(value)) or str(value).startswith("-"):
                raise SettingsError(
                    f"{PARAMS}: {path} has {value!r}, which dvc.yaml puts into a command; letters, digits, '_', '.', "
                    "'+' and '-' may stand there, and no '-' at the start."
                )


def _get(params: object, keys: Sequence[str]) -> object:
    """Return the value below `keys`; None if dvc.yaml refers to something else, such as the item of its matrix."""
    for key in keys:
        params = params.get(key) if isinstance(params, dict) else None
    return params


def _leaves(value: object) -> Iterator[object]:
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    if children is None:
        yield value
        return
    for child in children:
        yield from _leaves(child)
