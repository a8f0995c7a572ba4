"""A run's parameters: a profile, and overrides on top of it; flows.yaml says where profiles are, and who checks."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.utils.serialize import LOADERS, MODIFIERS

from prefect_dvc.errors import SettingsError, nearest
from prefect_dvc.settings.flows_yaml import FILE, Params, read_config
from prefect_dvc.settings.graph_files import PARAMS, SUFFIXES, parameter_files
from prefect_dvc.settings.yaml_reader import read_file, read_yaml

LARGEST = 2**63 - 1  # integer that Prefect's server keeps; with a larger one it could list no runs any more
AS_IT_STANDS = "as it stands"  # params.yaml unchanged, of the forms; deployments have this value
REFERENCE = re.compile(r"\$\{\s*([^\s\[\]{}]+)")  # of a dvc.yaml to a parameter
YAML_SUFFIXES = (".yaml", ".yml")
WORD = re.compile(r"(?!-)[\w.+/:,=@%-]*")  # that a shell leaves as it is


def configure(directory: Path, profile: str | None, overrides: Mapping[str, Any], site: str | None = None) -> None:
    """Write a profile, or nothing, and then `overrides` into params.yaml in `directory`; its comments stay.

    `site` is a further file that the repository combines with the profile. Keys may be dotted or nested:
    {"student.epochs": 3} and {"student": {"epochs": 3}} are the same. Raises SettingsError.
    """
    params = read_config(directory).params
    if profile is None and site is not None:
        raise SettingsError(f"A site needs a profile: name the profile that goes with '{site}'.")
    if profile is not None:
        _use(directory, params, profile, site)
    if overrides:
        _change(directory, overrides, None if params.check else params.open)
    if params.check:
        _command(directory, params.check)


def choices(directory: Path, kind: Literal["profiles", "sites"]) -> list[str]:
    """List the names of the profiles, or of the sites that go with one, sorted. Raises SettingsError."""
    folder = getattr(read_config(directory).params, kind)
    return sorted(file.stem for file in (directory / folder).glob("*.yaml")) if folder else []


def _use(directory: Path, params: Params, profile: str, site: str | None) -> None:
    """Write a profile into params.yaml: by the repository's own command, or value by value."""
    if params.use:
        _place(directory, PARAMS)
        return _command(directory, [*params.use, profile, *[f"--site={site}"] * bool(site)])
    if site is not None:
        raise SettingsError(
            f"{FILE} has no command `params.use`, which would combine the site '{site}' with a profile."
        )
    known = choices(directory, "profiles")
    if profile not in known:
        near = f"the profiles are {', '.join(known) or 'none'} (`params.profiles` in {FILE})"
        raise SettingsError(f"'{profile}' is not a profile; {near}.")
    return _change(directory, _read(directory / str(params.profiles) / f"{profile}.yaml"), params.open)


def _change(directory: Path, changes: Mapping[str, Any], only: Sequence[str] | None) -> None:
    """Set values in files of parameters; with `only`, a new key is refused unless it lies in one of these sections."""
    by_file: dict[str, dict[str, Any]] = {}
    for name, value in flat(changes).items():
        file, key = split(name)
        by_file.setdefault(file, {})[key] = value
    for file, values in by_file.items():
        path, known = directory / file, [name for name in parameter_files(directory) if (directory / name).exists()]
        if file not in known:
            given = ", ".join(values)
            raise SettingsError(
                f"{file} does not exist, or no dvc.yaml names it, so {given} cannot change it. Write FILE:KEY=VALUE "
                f"for another file; these have parameters: {', '.join(known) or 'none'}."
            )
        _refuse_ignored(directory, file)
        params = _read(path)
        if only is not None:
            _refuse_unknown(file, values, params, only if file == PARAMS else ())
        _write(path, file, values)


def _write(path: Path, file: str, values: Mapping[str, Any]) -> None:
    """Set values in a file, and read it again: in one of Python, DVC leaves texts, and numbers such as 1e-3."""
    with MODIFIERS[path.suffix.lower()](path) as written:
        for key, value in values.items():
            _set(written, key.split("."), value)
        wanted = nested(written)
    found = nested(_read(path))
    for key, value in values.items():
        if found.get(key) != wanted[key]:
            raise SettingsError(
                f"A run cannot set {key} to {value!r} in {file}, since DVC cannot: change the file itself."
            )


def _refuse_ignored(directory: Path, file: str) -> None:
    """Refuse to change a file that git ignores: the change could not come back with the run's results."""
    command = ["git", "check-ignore", "--quiet", "--", _place(directory, file)]
    if subprocess.run(command, cwd=directory, check=False).returncode == 0:
        raise SettingsError(f"git ignores {file}, so a run cannot keep a change of it: change the file itself.")


def _place(directory: Path, file: str) -> str:
    """Return the path of a file to which a link may lead; outside of the repository it is refused."""
    top, place = directory.resolve(), (directory / file).resolve()
    if not place.is_relative_to(top):
        raise SettingsError(f"{file} is {place}, outside of the repository, so a run cannot change it.")
    return str(place.relative_to(top))


def split(name: str) -> tuple[str, str]:
    """Return the file and the key of a name such as train.rate, in params.yaml, or conf/train.yaml:rate."""
    file, colon, key = name.partition(":")
    return (os.path.normpath(file), key) if colon and Path(file).suffix in SUFFIXES else (PARAMS, name)


def _read(path: Path) -> dict[str, Any]:
    """Read a file of values by name; raises SettingsError."""
    try:
        yaml_like = path.suffix.lower() in YAML_SUFFIXES
        content = (read_file(path) if yaml_like else LOADERS[path.suffix.lower()](str(path))) or {}
    except DvcException as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise SettingsError(f"{path} has no values by name, as in `epochs: 3`; a run cannot change it.")
    return content


def _refuse_unknown(file: str, keys: Iterable[str], params: Mapping[str, Any], additions: Sequence[str]) -> None:
    known = list(nested(params))
    for key in keys:
        if key not in known and not any(key.startswith(f"{section}.") for section in additions):
            hint = nearest(key, known, f"its sections are {', '.join(params)}.")
            raise SettingsError(f"{file} has no key '{key}'; {hint}")


def nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return every value of parameters by its dotted key, sections included: student, and student.epochs."""
    found = dict[str, Any]()
    for key, value in params.items():
        below = nested(value) if isinstance(value, Mapping) else {}
        found |= {key: value, **{f"{key}.{each}": inner for each, inner in below.items()}}
    return found


def known_keys(directory: Path) -> dict[str, Any]:
    """Return a JSON schema for the overrides of a form: it refuses a name that no file of parameters has.

    One of another file than params.yaml has its path: {"conf/train.yaml:rate": 0.1}. Below the sections `open` of
    flows.yaml there may be any; with `params.check`, below every section, since that command decides.
    """
    files = [file for file in parameter_files(directory) if (directory / file).exists()]
    if not files:
        return {"type": "object"}
    known = [key if file == PARAMS else f"{file}:{key}" for file in files for key in nested(_read(directory / file))]
    settings = read_config(directory).params
    params = _read(directory / PARAMS) if settings.check and PARAMS in files else {}
    sections = [key for key, value in params.items() if isinstance(value, Mapping)]
    additions = [{"pattern": f"^{re.escape(section)}\\."} for section in dict.fromkeys([*settings.open, *sections])]
    # In `properties`, Prefect's page would show hundreds of fields
    return {"type": "object", "propertyNames": {"anyOf": [{"enum": known}, *additions]}, "additionalProperties": KEPT}


def _kept(depth: int) -> dict[str, Any]:
    """Return a JSON schema for values of `depth` levels without the integers that Prefect's server cannot keep."""
    inner = _kept(depth - 1) if depth else {}
    return {"minimum": -LARGEST, "maximum": LARGEST, "items": inner, "additionalProperties": inner}


KEPT = _kept(4)


def assignments(given: Sequence[str], *, last: bool = False) -> dict[str, Any]:
    """Parse the KEY=VALUE of a command line; values are YAML, in which a day is a text. Raises SettingsError.

    With `last`, the value follows the last equals sign: the name of a metric may have others.
    """
    found = {}
    for text in given:
        key, equals, value = text.rpartition("=") if last else text.partition("=")
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


def _command(directory: Path, command: Sequence[str]) -> None:
    """Run a command of flows.yaml, with this `python` if there is no other; its message is the error."""
    path = f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}"
    try:
        done = subprocess.run(
            command, cwd=directory, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise SettingsError(f"{FILE}: `{' '.join(command)}` cannot be started: {error.strerror}.") from error
    if done.returncode:
        raise SettingsError(done.stderr.strip() or f"`{' '.join(command)}` ended with status {done.returncode}.")


def check_words(repo: Repo, overrides: Mapping[str, Any]) -> None:
    """Refuse overrides that reach a shell and are more than one word there. Raises SettingsError.

    A value does if a dvc.yaml refers to its key, or if a command contains it after DVC has put all values in.
    """
    given = flat(overrides)
    risky = {key: [text for text in _texts(value) if not WORD.fullmatch(text)] for key, value in given.items()}
    if not any(risky.values()):
        return
    files = {Path(stage.path) for stage in repo.index.stages if Path(stage.path).suffix in YAML_SUFFIXES}
    references = {name for file in files for name in REFERENCE.findall(file.read_text(encoding="utf-8"))}
    commands = [line for stage in repo.index.stages for line in _lines(stage.cmd)]
    for key, values in risky.items():
        for value in values:
            if any(_related(split(key)[1], path) for path in references) or any(value in line for line in commands):
                raise SettingsError(
                    f"{key} has {value!r}, which dvc.yaml puts into a command; a run may set only letters, digits and "
                    "_ . + - / : , = @ % there, with no '-' at the start. Or change the parameter file itself."
                )


def _lines(command: str | list[str] | None) -> list[str]:
    return command if isinstance(command, list) else [command or ""]


def _related(key: str, other: str) -> bool:
    """Return whether one of two dotted keys is the other, or lies below it."""
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")


def _texts(value: object) -> Iterator[str]:
    """Yield the leaves of a value, and its keys: DVC writes those of a dictionary into a command as options."""
    if isinstance(value, Mapping):
        yield from map(str, value)
        value = list(value.values())
    if not isinstance(value, list):
        yield str(value)
        return
    for child in value:
        yield from _texts(child)
