"""Damaged objects in DVC's cache are found whatever DVC believes of them."""

import hashlib
import json
import os
from pathlib import Path

from flows.execution.cache import remove_broken

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


def test_files_and_directories(tmp_path: Path) -> None:
    """fault 7: one of a directory's files, and the list of a directory, are found; the others stay."""
    one, two, three = (put(tmp_path, text) for text in (b"one", b"two", b"three"))
    listing = json.dumps([{"md5": two, "relpath": "2"}, {"md5": three, "relpath": "3"}]).encode()
    directory = put(tmp_path, listing, ".dir")
    lock = tmp_path / "dvc.lock"
    stages = {"a": {"cmd": "x", "outs": [{"path": "a", "md5": one}]}, "b": {"outs": [{"path": "b", "md5": directory}]}}
    write_yaml(lock, {"schema": "2.0", "stages": stages})
    assert remove_broken(tmp_path, lock) == []
    damage(tmp_path, one)
    damage(tmp_path, three)
    assert remove_broken(tmp_path, lock, "b") == [three]
    assert remove_broken(tmp_path, lock) == [one]
    assert remove_broken(tmp_path, lock) == []
    damage(tmp_path, directory)
    assert remove_broken(tmp_path, lock) == [directory]


def test_no_lock(tmp_path: Path) -> None:
    """Nothing has run yet, or not this stage."""
    assert remove_broken(tmp_path, tmp_path / "dvc.lock") == []
    write_yaml(tmp_path / "dvc.lock", {"schema": "2.0", "stages": {}})
    assert remove_broken(tmp_path, tmp_path / "dvc.lock", "a") == []
