"""One change to a repository: a parameter that a stage depends on, or a source file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dvc.utils.serialize import LOADERS, MODIFIERS

from measurements.graphs.graph import DeclaredStage

SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".py")
KINDS = (int, float, bool, str)  # a number before a text: a text can be a part of a path


@dataclass(frozen=True)
class Change:
    """What to change: the key of a parameter in a file; without a key, a line is added to the file."""

    path: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.key}" if self.key else self.path

    def apply(self, root: Path) -> None:
        """Change the file in the repository at `root`."""
        file = root / self.path
        if not self.key:
            file.write_bytes(file.read_bytes() + b"# changed\n")
            return
        *outer, last = self.key.split(".")
        with MODIFIERS[file.suffix](str(file)) as data:
            for step in outer:
                data = data[int(step) if isinstance(data, list) else step]
            key = int(last) if isinstance(data, list) else last
            data[key] = other(data[key])


def other(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value * 2 + 0.25 if isinstance(value, float) else f"{value}x"


def choose(stages: Sequence[DeclaredStage], root: Path, tracked: frozenset[str]) -> Change | None:
    """Return a parameter of a stage, a number if there is one; else a file that git tracks and a stage reads."""
    if found := list(_parameters(stages, root, tracked)):
        return min(found, key=lambda each: each[0])[1]  # of equal kinds, the first
    files = (d.path for stage in stages for d in stage.dependencies if d.local and not d.keys)
    return next((Change(path) for path in files if path in tracked and (root / path).is_file()), None)


def _parameters(stages: Sequence[DeclaredStage], root: Path, tracked: frozenset[str]) -> Iterator[tuple[int, Change]]:
    for stage in stages:
        for dependency in stage.dependencies if stage.command and not stage.frozen else ():
            file = root / dependency.path
            if dependency.keys and file.suffix in SUFFIXES and dependency.path in tracked:
                data = LOADERS[file.suffix](str(file))
                for key in dependency.keys:
                    yield from _values(data, key, dependency.path)


def _values(data: Any, key: str, path: str) -> Iterator[tuple[int, Change]]:
    """Yield the value of a key with the rank of its kind; of a group, its first value."""
    try:
        for step in key.split("."):
            data = data[int(step) if isinstance(data, list) else step]
    except (KeyError, IndexError, ValueError, TypeError):
        return
    while isinstance(data, dict) and data:
        step = next(iter(data))
        data, key = data[step], f"{key}.{step}"
    if type(data) in KINDS:
        yield KINDS.index(type(data)), Change(path, key)
