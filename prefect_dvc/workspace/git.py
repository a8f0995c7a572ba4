"""git in somebody's repository: no hook of theirs runs, and no variable of another git leads it elsewhere.

A repository may have git convert files on their way to and from a commit: line ends, $Id$, encodings, filters. So no
byte of a run travels through a commit: files of the workspace are copied, and those that a run has written are in its
commit as they are (snapshot.py), and come out of it in the same way (`restore`).
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prefect_dvc.errors import Refusal
from prefect_dvc.system.process import without_git

IDENTITY = {"NAME": "prefect-dvc", "EMAIL": "prefect-dvc@localhost"}  # of commits and tags
END = "--end-of-options"  # for git: a value follows, even if it begins with a hyphen
PLAIN, PROGRAM, LINK, REPOSITORY = "100644", "100755", "120000", "160000"  # modes in a tree; the last of a submodule


class WorkspaceError(Refusal):
    """The repository is not as a run needs it, or git failed; the message has git's own."""


def git(root: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Run git in the repository `root` with the input `given`; return its output.

    No hook of the user's runs. Raises WorkspaceError with git's message if it fails, and if `root` is not at the top.
    """
    return _decoded(_git(root, *arguments, given=given, **environment)).strip("\n")


def _git(root: Path, *arguments: str, given: str = "", **environment: str) -> bytes:
    ceiling = {"GIT_CEILING_DIRECTORIES": str(root.absolute().parent)}  # a run's directory lies in the workspace's
    done = subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.safecrlf=false", *arguments],
        cwd=root,
        env=without_git(os.environ) | ceiling | environment,
        input=os.fsencode(given),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        message = _decoded(done.stderr)
        raise WorkspaceError(f"git {arguments[0]} failed in {root}: {message.strip()}{_remedy(root, message)}")
    return done.stdout


def _decoded(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")  # a path may have any bytes


def _remedy(root: Path, message: str) -> str:
    if not (root / ".git").exists():
        return (
            f"\n{root} is not the top of a git repository. Call the flows at the top, where `dvc init` was called: a "
            "DVC repository in a part of a git repository is not supported."
        )
    if "Needed a single revision" not in message:
        return ""
    head = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", "HEAD"], cwd=root, capture_output=True, check=False
    )
    return "\nIt has no commit yet: commit dvc.yaml and .dvc first." if head.returncode else ""


def paths(output: str) -> list[str]:
    """Return the paths of an output that ends each with NUL (`-z`)."""
    return [path for path in output.split("\0") if path]


@dataclass(frozen=True)
class Entry:
    """An entry of a tree or of an index."""

    mode: str
    name: str  # git's name of the content


def tree(root: Path, revision: str) -> dict[str, Entry]:
    """Return the entries of a commit by path."""
    rows = (row.split("\t", 1) for row in paths(git(root, "ls-tree", "-r", "-z", END, revision)))
    return {path: Entry(about.split()[0], about.split()[2]) for about, path in rows}


def leads_out(root: Path, link: Path) -> bool:
    """Return whether a link leads out of the repository, or is absolute; links in a circle lead nowhere."""
    with suppress(RuntimeError):
        absolute = link.is_symlink() and link.readlink().is_absolute()
        return absolute or not link.resolve().is_relative_to(root.resolve())
    return False


def text_at(root: Path, revision: str, path: str) -> str | None:
    """Return the text of a file of a commit; None if it has no such file."""
    with suppress(WorkspaceError):
        return git(root, "show", END, f"{revision}:{path}")
    return None


def ignored(root: Path) -> list[str]:
    """Return what git ignores in a workspace; a directory of which it ignores everything is one path."""
    options = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    return [path.rstrip("/") for path in paths(git(root, "ls-files", *options))]


def unreadable(root: Path) -> list[str]:
    """Return the files that git would add to a commit and cannot read, such as those of a container."""
    found = [root / path for path in paths(git(root, "ls-files", "--others", "--exclude-standard", "-z"))]
    plain = [file for file in found if file.is_file() and not file.is_symlink()]
    return [file.relative_to(root).as_posix() for file in plain if not os.access(file, os.R_OK)]


def repositories_inside(root: Path) -> list[str]:
    """Return the repositories in a workspace that git does not track, as `git clone` within it makes them."""
    found = paths(git(root, "ls-files", "--others", "--exclude-standard", "-z"))
    return [path.rstrip("/") for path in found if path.endswith("/") and (root / path / ".git").exists()]


def has_content(root: Path, path: str) -> bool:
    """Return whether the index or the last commit has a file as it is, so that git can write it again."""
    for place in (f":{path}", f"HEAD:{path}"):
        with suppress(WorkspaceError):  # it has no such file
            if _git(root, "cat-file", "--filters", place) == (root / path).read_bytes():
                return True
    return False


def changed(root: Path, before: str, after: str) -> set[str]:
    """Return the paths that differ between two commits; of a renamed file, both."""
    return set(paths(git(root, "diff", "--name-only", "--no-renames", "-z", END, before, after)))


def commit_tree(root: Path, files: str, message: str, parents: Sequence[str] = ("HEAD",)) -> str:
    """Commit a tree, on no branch."""
    options = [part for parent in parents for part in ("-p", parent)]
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in IDENTITY.items()}
    return git(root, "commit-tree", *options, "-F", "-", END, files, given=message, **who)


def contents_of(root: Path, files: Iterable[str], *options: str) -> dict[str, str]:
    """Return git's names of the contents of files, as they are; with the option -w, git has them afterwards."""
    listed = list(files)
    quoted = ['"{}"'.format(re.sub(r'["\\]', r"\\\g<0>", file).replace("\n", "\\n")) for file in listed]
    if not listed:
        return {}
    names = git(root, "hash-object", "--no-filters", "--stdin-paths", *options, given="\n".join(quoted)).split()
    return dict(zip(listed, names, strict=True))


def restore(root: Path, revision: str, files: Iterable[str], target: Path) -> None:
    """Write files of a commit to a directory as the commit has them, and remove there those that it does not have."""
    there = tree(root, revision)
    wanted = {path: there.get(path) for path in files}
    found = {path: entry for path, entry in wanted.items() if entry is not None and entry.mode != REPOSITORY}
    contents = _contents(root, [entry.name for entry in found.values()])
    for path in wanted:
        (target / path).unlink(missing_ok=True)
    for (path, entry), content in zip(found.items(), contents, strict=True):
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == LINK:
            place.symlink_to(os.fsdecode(content))
        else:
            place.write_bytes(content)
            place.chmod(place.stat().st_mode | (0o111 if entry.mode == PROGRAM else 0))


def _contents(root: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents that git has under some names."""
    output, place = _git(root, "cat-file", "--batch", given="\n".join(names)), 0
    for _ in names:
        begin = output.index(b"\n", place) + 1  # of a line NAME KIND SIZE
        end = begin + int(output[place:begin].split()[2])
        yield output[begin:end]
        place = end + 1
