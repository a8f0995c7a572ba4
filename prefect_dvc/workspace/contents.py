"""The content of a path, as DVC hashes it: {"": "7d8f..."} of a file, {"a/b.txt": "09b1...", ...} of a directory."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dvc.fs import localfs
from dvc.repo import Repo
from dvc_data.hashfile import load
from dvc_data.hashfile.build import build
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.tree import Tree
from dvc_objects.errors import ObjectFormatError

from prefect_dvc.dvc_private import is_remote_or_database
from prefect_dvc.settings.graph_files import GRAPH

MD5, LEGACY = "md5", "md5-dos2unix"  # the second is that of DVC before version 3


def covers(out: str, path: str) -> bool:
    """Return whether an output is the file or the directory at `path`, or the directory around that."""
    return f"{path}/".startswith(f"{out}/")


def overlaps(path: str, others: Iterable[str]) -> bool:
    """Return whether a path is one of the others, lies in one, or around one."""
    return any(covers(one, path) or covers(path, one) for one in others)


def files(entries: Iterable[Any]) -> list[Any]:
    """Return those of some inputs or outputs of stages that are local files."""
    return [one for one in entries if not is_remote_or_database(one) and one.protocol == "local"]


def inside(entries: Iterable[Any], top: Path) -> Iterator[tuple[str, Any]]:
    """Yield those that lie in the repository at `top`, each after its path from there."""
    for one in files(entries):
        if (place := Path(one.fs_path)).is_relative_to(top):
            yield place.relative_to(top).as_posix(), one


def is_beyond(top: Path, path: str) -> bool:
    """Return whether a path of the repository at `top` lies beyond a link, to a directory that is not in there."""
    return not Path(os.path.realpath((top / path).parent)).is_relative_to(os.path.realpath(top))


@dataclass(frozen=True)
class Content:
    """What lies at a path, or should: the hash of all, and that of each file."""

    total: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)


def contents(repo: Repo, path: Path, hash_name: str = MD5) -> Content:
    """Hash what lies at a path of a repository's workspace; DVC remembers the hashes of unchanged files."""
    if not path.exists():
        return Content()
    _, _, found = build(store(repo, hash_name), str(path), localfs, hash_name, ignore=repo.dvcignore, dry_run=True)
    return _content(found)


def store(repo: Repo, hash_name: str) -> Any:
    """Return the part of DVC's cache that has objects of a kind of hash."""
    return repo.cache.legacy if hash_name == LEGACY else repo.cache.local


def cached(repo: Repo, total: str, hash_name: str = MD5) -> Content | None:
    """Return what DVC's cache has under a hash; None if it lacks a part."""
    objects = store(repo, hash_name)
    try:
        found = _content(load(objects, HashInfo(hash_name, total)))
    except (FileNotFoundError, ObjectFormatError):
        return None
    return found if all(map(objects.exists, found.files.values())) else None


def recorded(out: Any) -> Content:
    """Return what a .dvc file or dvc.lock says of an output; no files if the cache lacks the list of a directory."""
    if not out.hash_info:
        return Content()
    found = out.get_obj() if out.hash_info.isdir else None
    if found is not None:
        return _content(found)
    total = out.hash_info.value
    return Content(total, {} if out.hash_info.isdir else {"": total})


def _content(found: Any) -> Content:
    total = found.hash_info.value
    if isinstance(found, Tree):
        return Content(total, {"/".join(key): info.value for key, _, info in found})
    return Content(total, {"": total})


@dataclass(frozen=True)
class Recorded:
    """An output that dvc.lock or a .dvc file has."""

    path: str  # from the top of the repository
    hash: str
    cached: bool  # by DVC; the others are in git
    remote: str | None = None  # DVC remote of its own, by name


@dataclass(frozen=True)
class Outputs:
    """All of them, and the paths of the artifacts, by name as `dvc artifacts get` takes it: model, or sub:model."""

    outputs: tuple[Recorded, ...]
    artifacts: Mapping[str, str]

    def at(self, path: str) -> list[Recorded]:
        """List the outputs that have `path`: one or none."""
        return [output for output in self.outputs if covers(output.path, path)]


def read_outputs(root: Path, revision: str | None = None) -> Outputs:
    """Read the outputs that have a hash, at a commit or, without one, as they stand in the directory `root`.

    Raises DvcException if a dvc.yaml, a dvc.lock or a .dvc file is not one.
    """
    with Repo(str(root), rev=revision) as repo:
        found = tuple(
            Recorded(path, str(out.hash_info.value), out.use_cache, out.remote)
            for path, out in inside(repo.index.outs, Path(repo.root_dir))
            if out.hash_info
        )
        artifacts: dict[str, str] = {}
        for file, of_file in repo.artifacts.read().items():
            folder = Path(file).parent
            before = "" if file == GRAPH else f"{folder}:"
            artifacts |= {f"{before}{name}": (folder / each.path).as_posix() for name, each in of_file.items()}
        return Outputs(found, artifacts)
