"""The newest commit of a git repository, read without a work tree."""

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measurements.graphs.children import ProjectError

UNKNOWN = 1 << 40  # the size of a file that the snapshot lists and does not have


@dataclass(frozen=True)
class Blob:
    """A file of the commit: its path, its size in bytes and its name in git."""

    path: str
    size: int
    sha: str


def git_directory(place: Path) -> Path:
    """Return the git directory of a repository, bare or not, at `place` or in its folder `repo`."""
    for directory in (place / "repo/.git", place / "repo", place / ".git", place):
        if (directory / "HEAD").is_file() and (directory / "objects").is_dir():
            return directory
    raise ProjectError(f"{place} has no git repository. Fetch it, or clone it there.")


def blobs(repository: Path) -> Iterator[Blob]:
    """Yield the regular files of HEAD."""
    for entry in _git(repository, "ls-tree", "-r", "-l", "-z", "HEAD").decode(errors="surrogateescape").split("\0"):
        if entry:
            meta, _, path = entry.partition("\t")
            mode, kind, sha, size = meta.split()
            if kind == "blob" and mode != "120000":  # no link, no submodule
                yield Blob(path, int(size) if size.isdigit() else UNKNOWN, sha)


def contents(repository: Path, wanted: Iterable[Blob]) -> dict[str, bytes]:
    """Return the content of files by path."""
    listed = [blob for blob in wanted if blob.size < UNKNOWN]
    stream = _git(repository, "cat-file", "--batch", given="".join(f"{blob.sha}\n" for blob in listed))
    found, start = {}, 0
    for blob in listed:  # each is preceded by a line with its sha, kind and size, and followed by a line's end
        start = stream.index(b"\n", start) + 1
        found[blob.path] = stream[start : start + blob.size]
        start += blob.size + 1
    return found


def _git(repository: Path, *arguments: str, given: str = "") -> bytes:
    command = ["git", f"--git-dir={repository}", *arguments]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    if done.returncode:
        raise ProjectError(f"git {arguments[0]} in {repository}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
