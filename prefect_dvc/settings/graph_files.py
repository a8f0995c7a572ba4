"""The dvc.yaml files of a repository and the files of parameters that they name, read without the second DVC takes."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from prefect_dvc.errors import SettingsError
from prefect_dvc.settings.yaml_reader import read_file

GRAPH, PARAMS = "dvc.yaml", "params.yaml"
Kind = TypeVar("Kind", dict[str, Any], list[Any])
SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".py")  # of files of parameters


def graph_files(root: Path) -> list[str]:
    """List the dvc.yaml files that git has or would add, by path from `root`, that of the root first."""
    if not root.is_dir():
        return []
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", GRAPH, f"**/{GRAPH}"]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", errors="surrogateescape")
    found = {path for path in done.stdout.split("\0") if path and (root / path).is_file()}
    return sorted(found | ({GRAPH} if (root / GRAPH).is_file() else set()), key=lambda path: (path != GRAPH, path))


def targets(root: Path) -> list[str]:
    """List every stage, sorted, a matrix under its own name, as `dvc repro` takes it; raises SettingsError."""
    names = []
    for file in graph_files(root):
        stages = _part(read_file(root / file), "stages", dict)
        names += [str(name) if file == GRAPH else f"{file}:{name}" for name in stages]
    return sorted(names)


def parameter_files(root: Path) -> list[str]:
    """List the files that stages take parameters from, by path from `root`; one that cannot be read has none."""
    found: list[str] = []
    for file in graph_files(root):
        with suppress(SettingsError):
            names = [PARAMS, *_named(read_file(root / file))]
            found += [os.path.normpath(Path(file).parent / name) for name in names]
    return [path for path in dict.fromkeys(found) if not path.startswith("..")]


def _named(content: Any) -> Iterator[str]:
    """Yield the files that `vars` and `params` name, in a dvc.yaml and in its stages."""
    for entry in [content, *_part(content, "stages", dict).values()]:
        body = entry.get("do", entry) if isinstance(entry, Mapping) else {}
        for value in [*_part(body, "vars", list), *_part(body, "params", list)]:
            if isinstance(value, Mapping):
                yield from map(str, value)
            elif isinstance(value, str) and Path(value.partition(":")[0]).suffix in SUFFIXES:
                yield value.partition(":")[0]


def _part(content: Any, key: str, kind: type[Kind]) -> Kind:
    """Return the value of a key, or an empty one if that is of another kind."""
    found = content.get(key) if isinstance(content, Mapping) else None
    return found if isinstance(found, kind) else kind()
