"""The outputs of a repository as DVC finds them, at a commit or in a run's directory.

DVC resolves every dvc.yaml and .dvc file, with templates, matrices and working directories. The texts of dvc.yaml and
dvc.lock in the root alone would have some of the outputs, under paths of other directories.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dvc.repo import Repo

from prefect_dvc.execution.graph import covers

GRAPH = "dvc.yaml"


@dataclass(frozen=True)
class Output:
    """An output that dvc.lock or a .dvc file has."""

    path: str  # from the top of the repository
    hash: str
    cached: bool  # by DVC; the others are in git
    remote: str | None = None  # DVC remote of its own, by name


@dataclass(frozen=True)
class Outputs:
    """All of them, and the paths of the artifacts in the dvc.yaml of the root."""

    outputs: tuple[Output, ...]
    artifacts: Mapping[str, str]

    def at(self, path: str) -> list[Output]:
        """List the outputs that have `path`: one or none."""
        return [output for output in self.outputs if covers(output.path, path)]


def read_outputs(root: Path, revision: str | None = None) -> Outputs:
    """Read the outputs of the repository `root`.

    Args:
        root: A workspace, or the directory of a run.
        revision: A commit; None is what stands in the directory.

    Returns:
        Those with a hash, so not those of stages that have not run.

    Raises:
        DvcException: A dvc.yaml, a dvc.lock or a .dvc file is not one.

    Example:
        >>> read_outputs(Path.cwd(), "promoted").artifacts  # doctest: +SKIP
        {'student': 'models/student'}
    """
    with Repo(str(root), rev=revision) as repo:
        found = tuple(
            Output(os.path.relpath(out.fs_path, repo.root_dir), str(out.hash_info.value), out.use_cache, out.remote)
            for out in repo.index.outs
            if out.is_in_repo and out.hash_info
        )
        artifacts = repo.artifacts.read().get(GRAPH, {})
        return Outputs(found, {name: artifact.path for name, artifact in artifacts.items()})
