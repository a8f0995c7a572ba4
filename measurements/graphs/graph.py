"""The stages of a repository as DVC reads them, in a process of their own: `python -m measurements.graphs.graph`.

Prints them as JSON. Paths are relative to the top of the DVC repository.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measurements.graphs.children import call


@dataclass(frozen=True)
class Dependency:
    """A file or directory that a stage reads, or a file of parameters with the keys that count."""

    path: str
    local: bool
    keys: Sequence[str] = ()


@dataclass(frozen=True)
class Output:
    """A file or directory that a stage makes; `written` is its path in dvc.yaml."""

    path: str
    local: bool
    written: str
    cached: bool


@dataclass(frozen=True)
class DeclaredStage:
    """A stage, or a .dvc file."""

    name: str  # under which `dvc repro` knows it, such as `sub/dvc.yaml:train@a`
    short: str | None  # its name in its dvc.yaml; None for a .dvc file
    directory: str  # of its dvc.yaml or .dvc file
    wdir: str  # the working directory of its command
    lines: Sequence[str]  # those of its command, as DVC has put the values in; none for an import
    frozen: bool  # whether DVC takes it as it is
    dependencies: Sequence[Dependency]  # what it reads
    outputs: Sequence[Output]  # what it makes

    @property
    def command(self) -> bool:
        """Whether it has a command."""
        return bool(self.lines)


class GraphError(Exception):
    """DVC refuses the graph; the message is DVC's."""


def read_stages(root: Path, variables: Mapping[str, str]) -> list[DeclaredStage]:
    """Return the stages of the DVC repository at `root`. Raises GraphError."""
    ended = call([sys.executable, "-m", "measurements.graphs.graph"], root, variables)
    lines = ended.text.strip().splitlines() or [""]
    if ended.code:
        raise GraphError(lines[-1][:300])
    return [stage(each) for each in json.loads(lines[-1])]


def stage(found: Mapping[str, Any]) -> DeclaredStage:
    """Return a stage from its JSON."""
    dependencies = [Dependency(**each) for each in found["dependencies"]]
    outputs = [Output(**each) for each in found["outputs"]]
    return DeclaredStage(**{**found, "dependencies": dependencies, "outputs": outputs})


def _main() -> None:
    from dvc.repo import Repo  # only the child needs it, and it takes half a second

    root = os.path.realpath(".")

    def path(item: Any) -> str:
        return os.path.relpath(item.fs_path, root) if item.protocol == "local" else str(item.def_path)

    with Repo(root) as repo:
        stages = [
            DeclaredStage(
                name=node.addressing,
                short=getattr(node, "name", None),
                directory=os.path.relpath(os.path.dirname(node.path), root),  # noqa: PTH120 - may lie outside
                wdir=os.path.relpath(node.wdir, root),
                lines=list(map(str, node.cmd if isinstance(node.cmd, list) else str(node.cmd or "").splitlines())),
                frozen=bool(node.frozen),
                dependencies=[
                    Dependency(path(d), d.protocol == "local", list(map(str, getattr(d, "params", None) or ())))
                    for d in node.deps
                ],
                outputs=[Output(path(o), o.protocol == "local", o.def_path, bool(o.use_cache)) for o in node.outs],
            )
            for node in repo.index.stages
        ]
    print(json.dumps([asdict(each) for each in stages]))


if __name__ == "__main__":
    _main()
