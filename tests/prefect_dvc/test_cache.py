"""Damaged objects in DVC's cache are found whatever DVC believes of them."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from dvc.repo import Repo

from prefect_dvc.execution.cache import remove_broken

from .conftest import write_yaml


def put(cache: Path, content: bytes, suffix: str = "") -> str:
    name = hashlib.md5(content).hexdigest() + suffix
    path = cache / "files/md5" / name[:2] / name[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o444)  # as DVC protects it, which is why DVC trusts it
    return name


def damage(cache: Path, name: str) -> None:
    path = cache / "files/md5" / name[:2] / name[2:]
    stat = path.stat()
    path.chmod(0o644)
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    path.chmod(0o444)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.fault(7)
def test_files_and_directories(tmp_path: Path) -> None:
    """One of a directory's files, and the list of a directory, are found; the others stay."""
    root = tmp_path
    Repo.init(str(root), no_scm=True).close()
    cache = root / ".dvc/cache"
    one, two, three = (put(cache, text) for text in (b"one", b"two", b"three"))
    listing = json.dumps([{"md5": two, "relpath": "2"}, {"md5": three, "relpath": "3"}]).encode()
    directory = put(cache, listing, ".dir")
    outs = {"a": {"path": "a", "md5": one}, "b": {"path": "b", "md5": directory}}
    stages = {name: {"cmd": "x", "outs": [out]} for name, out in outs.items()}
    write_yaml(root / "dvc.yaml", {"stages": {name: {"cmd": "x", "outs": [name]} for name in outs}})
    assert broken_ones(root) == []  # nothing has run yet
    write_yaml(root / "dvc.lock", {"schema": "2.0", "stages": stages})
    assert broken_ones(root) == []
    damage(cache, one)
    damage(cache, three)
    assert broken_ones(root) == sorted([one, three])
    assert broken_ones(root) == []
    damage(cache, directory)
    assert broken_ones(root) == [directory]


def broken_ones(root: Path) -> list[str]:
    with Repo(str(root)) as repo:
        return sorted(remove_broken(repo))
