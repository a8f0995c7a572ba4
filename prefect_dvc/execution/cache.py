"""Find objects of DVC's cache that are damaged, and stages that dvc.lock should forget.

DVC trusts an object that is read-only and would restore a damaged one. Here each object that a run depends on is hashed
first (about 0.6 GB/s), and a damaged one is removed, so that DVC makes or fetches it again.
"""

import hashlib
import json
from collections.abc import Collection, Iterator
from pathlib import Path

import yaml
from dvc.repo import Repo

from prefect_dvc.settings.yaml_reader import read_yaml

DIRECTORY = ".dir"  # ends the name of an object that lists the files of a directory


def remove_broken(repo: Repo) -> list[str]:
    """Remove the damaged objects among all outputs of a repository, those of .dvc files too; return their names."""
    outs = (out for out in repo.index.outs if out.use_cache and out.hash_info)
    return remove_damaged(cache_of(repo), {str(out.hash_info.value) for out in outs})


def remove_damaged(cache: Path, names: Collection[str]) -> list[str]:
    """Remove the damaged objects among `names`, and among the files that they list; return their names."""
    damaged = [name for name in sorted(names) for name in broken(cache, name)]
    for name in damaged:
        place(cache, name).unlink(missing_ok=True)
    return damaged


def forget(directory: Path, stages: Collection[str]) -> None:
    """Take `stages` out of dvc.lock in `directory`, or below it if a name begins with the path of a dvc.yaml.

    DVC looks for an earlier run of a stage with the same inputs only if dvc.lock does not list the stage. For a stage
    whose outputs it lists but cannot find, as in a clone that never ran it, DVC would run the stage each time.
    """
    by_lock = dict[Path, set[str]]()
    for name in stages:
        place, _, stage = name.rpartition("dvc.yaml:")
        by_lock.setdefault(directory / place / "dvc.lock", set()).add(stage)
    for lock, names in by_lock.items():
        content = read_yaml(lock.read_text(encoding="utf-8")) if lock.exists() else None  # or `no` would become `false`
        if content and not names.isdisjoint(there := content.get("stages", {})):
            content["stages"] = {name: entry for name, entry in there.items() if name not in names}
            lock.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def cache_of(repo: Repo) -> Path:
    """Return the directory of a repository's cache."""
    return Path(repo.cache.local.path).parents[1]


def place(cache: Path, name: str) -> Path:
    """Return the path of an object."""
    return cache / "files/md5" / name[:2] / name[2:]


def broken(cache: Path, name: str) -> Iterator[str]:
    """Yield the damaged objects among `name` and the files that it lists; missing ones do not count."""
    path = place(cache, name)
    if not path.exists():
        return
    with path.open("rb") as file:
        if hashlib.file_digest(file, "md5").hexdigest() != name.removesuffix(DIRECTORY):
            yield name
            return  # its list of files cannot be read
    if name.endswith(DIRECTORY):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            yield from broken(cache, entry["md5"])
