"""Check that objects are where their readers fetch them: in the default DVC remote, else in the cache.

`dvc push` ends with 0 although objects are nowhere, and keeps a list of its own of what the remote has. Here the
remote itself is asked, and objects of the cache are hashed.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dvc.repo import Repo

from prefect_dvc.execution.cache import DIRECTORY, broken, cache_of, place


def missing(root: Path, names: Iterable[str], remote: str | None = None) -> tuple[str, list[str]]:
    """Return the place that readers fetch from, in words, and the objects that it does not have, sorted.

    Args:
        root: The workspace.
        names: MD5 hashes of outputs, as in dvc.lock; one that ends in `.dir` lists files.
        remote: The name of the DVC remote that the outputs have in dvc.yaml; None is the default one, or the cache.

    Raises whatever the library of a remote raises if it does not answer.
    """
    with Repo(str(root)) as repo:
        cache = cache_of(repo)
        name = remote or repo.config["core"].get("remote")
        if name is None:
            damaged = {each for given in names for each in broken(cache, given)}
            absent = {each for each in _files(cache, None, names) if not place(cache, each).is_file()}
            return "DVC's cache", sorted(damaged | absent)
        store = repo.cloud.get_remote_odb(name, "promotion", hash_name="md5")
        wanted = _files(cache, store, names)
        return f"the DVC remote '{name}'", sorted(wanted - set(store.oids_exist(list(wanted))))


def _files(cache: Path, remote: Any, names: Iterable[str]) -> set[str]:
    """Return `names` with the files that they list; a list that is nowhere has none."""
    found: set[str] = set()
    for name in names:
        found.add(name)
        if name.endswith(DIRECTORY):
            found.update(entry["md5"] for entry in json.loads(_read(cache, remote, name) or "[]"))
    return found


def _read(cache: Path, remote: Any, name: str) -> str | None:
    if (here := place(cache, name)).is_file():
        return here.read_text(encoding="utf-8")
    if remote is None or not remote.oids_exist([name]):
        return None
    with remote.fs.open(remote.oid_to_path(name), mode="r") as file:
        return str(file.read())
