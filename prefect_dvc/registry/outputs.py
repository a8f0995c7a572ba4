"""The outputs of a repository as DVC finds them, in every dvc.yaml and .dvc file, with templates and matrices."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dvc.repo import Repo

from prefect_dvc.settings.graph_files import GRAPH
from prefect_dvc.workspace.contents import covers, inside


@dataclass(frozen=True)
class Output:
    """An output that dvc.lock or a .dvc file has."""

    path: str  # from the top of the repository
    hash: str
    cached: bool  # by DVC; the others are in git
    remote: str | None = None  # DVC remote of its own, by name


@dataclass(frozen=True)
class Outputs:
    """All of them, and the paths of the artifacts, by name as `dvc artifacts get` takes it: model, or sub:model."""

    outputs: tuple[Output, ...]
    artifacts: Mapping[str, str]

    def at(self, path: str) -> list[Output]:
        """List the outputs that have `path`: one or none."""
        return [output for output in self.outputs if covers(output.path, path)]


def read_outputs(root: Path, revision: str | None = None) -> Outputs:
    """Read the outputs that have a hash, at a commit or, without one, as they stand in the directory `root`.

    Raises DvcException if a dvc.yaml, a dvc.lock or a .dvc file is not one.
    """
    with Repo(str(root), rev=revision) as repo:
        found = tuple(
            Output(path, str(out.hash_info.value), out.use_cache, out.remote)
            for path, out in inside(repo.index.outs, Path(repo.root_dir))
            if out.hash_info
        )
        artifacts: dict[str, str] = {}
        for file, of_file in repo.artifacts.read().items():
            folder = Path(file).parent
            before = "" if file == GRAPH else f"{folder}:"
            artifacts |= {f"{before}{name}": (folder / each.path).as_posix() for name, each in of_file.items()}
        return Outputs(found, artifacts)
