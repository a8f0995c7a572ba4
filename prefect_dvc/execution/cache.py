"""Objects of DVC's cache that are damaged.

DVC trusts an object that is read-only. Here each that a run depends on is hashed first (about 0.6 GB/s), and a damaged
one is removed, so that DVC makes or fetches it again. A file beside the objects says when each was found whole, by the
time of its last change, which no program can set; so it is hashed once.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dvc.repo import Repo

DIRECTORY = ".dir"  # ends the name of an object that lists the files of a directory
WHOLE = "whole.json"  # in the cache: when each object had changed last when it was whole, in nanoseconds


def remove_broken(repo: Repo) -> list[str]:
    """Remove the damaged objects among all outputs of a repository, those of .dvc files too; return their names."""
    outs = (out for out in repo.index.outs if out.use_cache and out.hash_info)
    return remove_damaged(cache_of(repo), {str(out.hash_info.value) for out in outs})


def remove_damaged(cache: Path, names: Collection[str]) -> list[str]:
    """Remove the damaged objects among `names`, and among the files that they list; return their names."""
    known = _read(cache / WHOLE)
    before = dict(known)
    damaged = [name for given in sorted(names) for name in broken(cache, given, known)]
    for name in damaged:
        place(cache, name).unlink(missing_ok=True)
    if known != before:
        _write(cache / WHOLE, known)
    return damaged


def cache_of(repo: Repo) -> Path:
    """Return the directory of a repository's cache."""
    return Path(repo.cache.local.path).parents[1]


def place(cache: Path, name: str) -> Path:
    """Return the path of an object."""
    return cache / "files/md5" / name[:2] / name[2:]


def broken(cache: Path, name: str, known: dict[str, int] | None = None) -> Iterator[str]:
    """Yield the damaged objects among `name` and the files that it lists; missing ones do not count.

    An object that has not changed since it was `known` as whole is whole; those that are found whole are added.
    """
    path, known = place(cache, name), {} if known is None else known
    try:
        changed = path.stat().st_ctime_ns
    except FileNotFoundError:
        return
    if known.get(name) != changed:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "md5").hexdigest() != name.removesuffix(DIRECTORY):
                yield name
                return  # its list of files cannot be read
        known[name] = changed
    if name.endswith(DIRECTORY):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            yield from broken(cache, entry["md5"], known)


def _read(file: Path) -> dict[str, int]:
    with suppress(OSError, TypeError, ValueError):  # the last two if it holds something else
        return dict(json.loads(file.read_text(encoding="utf-8")))
    return {}


def _write(file: Path, known: dict[str, int]) -> None:
    """Write the times, unless the cache belongs to somebody else: the next run is only slower then."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    with suppress(OSError):
        partial.write_text(json.dumps(known), encoding="utf-8")
        partial.replace(file)


# Whether objects are where their readers fetch them: `dvc push` ends with 0 although objects are nowhere.


def missing(root: Path, names: Iterable[str], remote: str | None = None) -> tuple[str, list[str]]:
    """Return the place that readers fetch outputs from, in words, and the objects that it does not have, sorted.

    That is the DVC remote by this name, or the default one, or the cache. Raises whatever the library of a remote does.
    """
    with Repo(str(root)) as repo:
        cache = cache_of(repo)
        name = remote or repo.config["core"].get("remote")
        if name is None:
            damaged = {each for given in names for each in broken(cache, given)}
            absent = {each for each in _with_listed(cache, None, names) if not place(cache, each).is_file()}
            return "DVC's cache", sorted(damaged | absent)
        store = repo.cloud.get_remote_odb(name, "promotion", hash_name="md5")
        wanted = _with_listed(cache, store, names)
        return f"the DVC remote '{name}'", sorted(wanted - set(store.oids_exist(list(wanted))))


def _with_listed(cache: Path, remote: Any, names: Iterable[str]) -> set[str]:
    """Return `names` with the files that they list; a list that is nowhere has none."""
    found: set[str] = set()
    for name in names:
        found.add(name)
        if name.endswith(DIRECTORY):
            found.update(entry["md5"] for entry in json.loads(_text(cache, remote, name) or "[]"))
    return found


def _text(cache: Path, remote: Any, name: str) -> str | None:
    if (here := place(cache, name)).is_file():
        return here.read_text(encoding="utf-8")
    if remote is None or not remote.oids_exist([name]):
        return None
    with remote.fs.open(remote.oid_to_path(name), mode="r") as file:
        return str(file.read())
