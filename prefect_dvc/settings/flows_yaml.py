"""Read a repository's settings for the flows from its file flows.yaml; without it, all have their defaults.

    params:    {check: python check.py, profiles: conf/profile}
    paths:     {brought: [data/external], returned: [checkpoints], shared: data/state}
    registry:  {artifact: model, metrics: metrics.json, tolerances: {accuracy: 0.005}}

dvc.yaml remains the only graph: nothing here names a stage. docs/prefect-dvc/on-your-own-graph.md explains each key.
"""

import shlex
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from prefect_dvc.errors import SettingsError, nearest
from prefect_dvc.settings.yaml_reader import read_file

FILE = "flows.yaml"
Tolerance = float | str  # a loss in the metric's own unit, 0.005, or a share of the promoted figure, "5%"
EXACT = ConfigDict(extra="forbid")
FORMS = {
    "tuple_type": "write a list, as in [data/external]",
    "dataclass_type": "write values by name, as in {key: value}",
}


def _place(path: str) -> str:
    """Return a path of the repository; one that leads out of it would link anybody's files."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError("a path is relative to the repository, and inside it")
    return path


def _words(command: Any) -> Any:
    return shlex.split(command) if isinstance(command, str) else [command]  # which is then no text


Text = Annotated[str, Strict(), Field(min_length=1)]
Number = Annotated[float, Strict()]
Place = Annotated[Text, AfterValidator(_place)]
Files = Annotated[tuple[Place, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
Words = Annotated[tuple[Text, ...], BeforeValidator(_words)]


@dataclass(frozen=True, config=EXACT)
class Params:
    """How params.yaml is checked, and where its profiles are."""

    check: Words = ()  # a command; without one, a run may only change keys that params.yaml has
    use: Words = ()  # a command that writes a profile, and `--site=NAME`, into params.yaml
    profiles: Place | None = None  # a folder of YAML files; without `use`, their values replace those of params.yaml
    sites: Place | None = None  # a folder of further files, of which `use` combines one with a profile
    open: tuple[Place, ...] = ()  # sections to which a run may add keys, such as names that a user chooses


@dataclass(frozen=True, config=EXACT)
class Paths:
    """Files that neither git nor DVC carries."""

    brought: tuple[Place, ...] = ()  # hard-linked from the workspace into the directory of a run
    returned: tuple[Place, ...] = ()  # hard-linked back at its end
    shared: Place | None = None  # a directory that is changed in place, so that all runs have the workspace's


@dataclass(frozen=True, config=EXACT)
class Registry:
    """The promoted artifact, and the figures that decide on it; a figure is named by a pattern."""

    artifact: Text = "model"  # a name below `artifacts` of dvc.yaml
    metrics: Files = ("metrics.json",)  # JSON files of figures, nested or not: {"accuracy": 0.9}
    benchmarks: Files = ()  # JSON files whose `sets` say what was measured on: the same in both versions
    floors: Mapping[Text, Number] = field(default_factory=dict)  # the least figure of a model that is promoted
    tolerances: Mapping[Text, Number | Text] = field(default_factory=dict)  # the loss that is allowed
    gains: Mapping[Text, Number | Text] = field(default_factory=dict)  # the least gain, of which one must be reached
    draws: Files = ()  # JSON files with the figure of each bootstrap draw
    former: Mapping[Text, Text] = field(default_factory=dict)  # a part of a figure's name in old versions: today's


@dataclass(frozen=True, config=EXACT)
class EditionFiles:
    """The files that describe an edition of the data."""

    snapshot: Text | None = None  # the parameter that gets the day of a retraining
    counters: Place | None = None  # JSON with `total`, `kept` and `details`, a count by name; without it, no data gate
    overview: Place | None = None  # JSON with `growth`: pairs of words and distinct words
    documents: Text = "documents "  # begins the names of the counts of documents
    foreign: Text = "documents dropped: language"  # the count of documents in another language
    limits: Mapping[Text, Number | Text] = field(default_factory=dict)  # what the data gate allows


@dataclass(frozen=True, config=EXACT)
class Config:
    """The content of flows.yaml."""

    params: Params = field(default_factory=Params)
    paths: Paths = field(default_factory=Paths)
    registry: Registry = field(default_factory=Registry)
    edition: EditionFiles = field(default_factory=EditionFiles)
    report: Place | None = None


def read_config(root: Path) -> Config:
    """Read flows.yaml at the top of a repository or of a worktree; what it does not have is the default.

    Raises SettingsError if the file is not YAML, a key is unknown, or a value has another form.
    """
    path = root / FILE
    try:
        content = read_file(path) if path.exists() else None
        return TypeAdapter(Config).validate_python({} if content is None else _given(content))
    except ValidationError as error:
        raise SettingsError(_problem(error)) from error


def _given(content: Any, depth: int = 2) -> Any:
    """Leave out sections, and keys in them, without a value."""
    if not isinstance(content, Mapping) or not depth:
        return content
    return {key: _given(value, depth - 1) for key, value in content.items() if value is not None}


def _problem(error: ValidationError) -> str:
    """Return the first error in one line: what is where, and the form that it must have."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"][:3]]
    if first["type"] == "unexpected_keyword_argument":
        known = [each.name for each in fields(getattr(Config(), place[0]) if place[1:] else Config)]
        hint = nearest(place[-1], known, f"the keys are {', '.join(known)}.")
        return f"{': '.join([FILE, *place[:-1]])} has the unknown key '{place[-1]}'; {hint}"
    form = FORMS.get(first["type"], first["msg"].removeprefix("Value error, "))
    return f"{FILE}{': ' * bool(place)}{'.'.join(place)} is {first['input']!r}; {form}."
