"""Read a repository's settings for the flows from its file flows.yaml; without it, all have their defaults.

    params:    {check: python check.py, profiles: conf/profile}
    paths:     {brought: [data/external], returned: [checkpoints], shared: data/state}
    registry:  {artifact: model, metrics: metrics.json, tolerances: {accuracy: 0.005}}

dvc.yaml remains the only graph: nothing here names a stage. docs/prefect-dvc/on-your-own-graph.md explains each key.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import yaml

from prefect_dvc.errors import Refusal, nearest
from prefect_dvc.settings.yaml_reader import read_yaml

FILE = "flows.yaml"
Tolerance = float | str  # a loss in the metric's own unit, 0.005, or a share of the promoted figure, "5%"
Section = TypeVar("Section")


class SettingsError(Refusal):
    """A profile, a key or a value of a run or of flows.yaml is wrong; the message names it, and the nearest one."""


@dataclass(frozen=True)
class Params:
    """How params.yaml is checked, and where its profiles are."""

    check: tuple[str, ...] = ()  # a command; without one, a run may only change keys that params.yaml has
    use: tuple[str, ...] = ()  # a command that writes a profile, and `--site=NAME`, into params.yaml
    profiles: str | None = None  # a folder of YAML files; without `use`, their values replace those of params.yaml
    sites: str | None = None  # a folder of further files, of which `use` combines one with a profile
    open: tuple[str, ...] = ()  # sections to which a run may add keys, such as names that a user chooses


@dataclass(frozen=True)
class Paths:
    """Files that neither git nor DVC carries."""

    brought: tuple[str, ...] = ()  # hard-linked from the workspace into the directory of a run
    returned: tuple[str, ...] = ()  # hard-linked back at its end
    shared: str | None = None  # a directory that is changed in place, so that all runs have the workspace's


@dataclass(frozen=True)
class Registry:
    """The promoted artifact, and the figures that decide on it; a figure is named by a pattern."""

    artifact: str = "model"  # a name below `artifacts` of dvc.yaml
    metrics: tuple[str, ...] = ("metrics.json",)  # JSON files of figures, nested or not: {"accuracy": 0.9}
    benchmarks: tuple[str, ...] = ()  # JSON files whose `sets` say what was measured on: the same in both versions
    floors: Mapping[str, float] = field(default_factory=dict)  # the least figure of a model that is promoted
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)  # the loss that is allowed
    gains: Mapping[str, Tolerance] = field(default_factory=dict)  # the least gain, of which one must be reached
    draws: tuple[str, ...] = ()  # JSON files with the figure of each bootstrap draw
    former: Mapping[str, str] = field(default_factory=dict)  # parts of names that promoted versions have: present ones


@dataclass(frozen=True)
class EditionFiles:
    """The files that describe an edition of the data."""

    snapshot: str | None = None  # the parameter that gets the day of a retraining
    counters: str | None = None  # JSON with `total`, `kept` and `details`, a count by name; without it, no data gate
    overview: str | None = None  # JSON with `growth`: pairs of words and distinct words
    documents: str = "documents "  # begins the names of the counts of documents
    foreign: str = "documents dropped: language"  # the count of documents in another language
    limits: Mapping[str, Tolerance] = field(default_factory=dict)  # what the data gate allows


@dataclass(frozen=True)
class Config:
    """The content of flows.yaml."""

    params: Params = field(default_factory=Params)
    paths: Paths = field(default_factory=Paths)
    registry: Registry = field(default_factory=Registry)
    edition: EditionFiles = field(default_factory=EditionFiles)
    report: str | None = None


SECTIONS: Mapping[str, type[Any]] = {"params": Params, "paths": Paths, "registry": Registry, "edition": EditionFiles}
LISTS = ("brought", "returned", "open")
FILES = ("metrics", "benchmarks", "draws")  # one, or a list
COMMANDS = ("check", "use")
PLACES = ("profiles", "sites", "shared", "counters", "overview", "report")


def read_config(root: Path) -> Config:
    """Read flows.yaml at the top of a repository or of a worktree; what it does not have is the default.

    Raises SettingsError if the file is not YAML, a key is unknown, or a value has another form.

    Example:
        >>> read_config(Path("nowhere")).registry.artifact
        'model'
    """
    path = root / FILE
    try:
        content = read_yaml(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not YAML: {error}") from error
    given = _mapping(FILE, content or {})
    _refuse_unknown(FILE, given, Config)
    sections = {name: _section(name, kind, given.get(name) or {}) for name, kind in SECTIONS.items()}
    return Config(**sections, report=_value("report", "report", given.get("report")))


def _section(name: str, kind: type[Section], content: object) -> Section:
    given = _mapping(f"{FILE}: {name}", content)
    _refuse_unknown(f"{FILE}: {name}", given, kind)
    return kind(**{key: _value(f"{name}.{key}", key, value) for key, value in given.items() if value is not None})


def _value(place: str, key: str, value: Any) -> Any:
    """Check a value and return it as the dataclasses have it: a command as words, a list as a tuple."""
    if value is None:
        return None
    if key in ("tolerances", "gains", "limits", "floors", "former"):
        kinds: dict[str, Any] = {"former": str, "floors": (int, float)}
        return _each(place, _mapping(f"{FILE}: {place}", value), kinds.get(key, (int, float, str)))
    if key in FILES and isinstance(value, str):
        value = [value]
    if key in (*LISTS, *FILES):
        if not isinstance(value, list):
            raise SettingsError(f"{FILE}: {place} is {value!r}; write a list, as in [data/external].")
        return tuple(_place(place, each) for each in value)
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{FILE}: {place} is {value!r}; it must be a text.")
    if key in COMMANDS:
        return _words(place, value)
    return _place(place, value) if key in PLACES else value


def _each(place: str, values: Mapping[str, Any], kind: type | tuple[type, ...]) -> Mapping[str, Any]:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, kind):
            form = {str: "a text", (int, float): "a number"}.get(kind, "a number, or a share as in '5%'")
            raise SettingsError(f"{FILE}: {place} has {value!r} for '{name}'; it must be {form}.")
    return values


def _words(place: str, command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise SettingsError(f"{FILE}: {place} is {command!r}, which is not a command: {error}.") from error


def _place(place: str, value: object) -> str:
    """Return a path of the repository; one that leads out of it would link anybody's files."""
    if not isinstance(value, str) or PurePosixPath(value).is_absolute() or ".." in PurePosixPath(value).parts:
        raise SettingsError(f"{FILE}: {place} has {value!r}; a path is relative to the repository, and inside it.")
    return value


def _mapping(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise SettingsError(f"{place} is {value!r}; write values by name, as in {{key: value}}.")
    return value


def _refuse_unknown(place: str, given: Mapping[str, Any], kind: type[Any]) -> None:
    known = [each.name for each in fields(kind)]
    for key in given:
        if key not in known:
            hint = nearest(key, known, f"the keys are {', '.join(known)}.")
            raise SettingsError(f"{place} has the unknown key '{key}'; {hint}")
