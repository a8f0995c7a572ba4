"""git in somebody's repository: no hook of theirs runs, and no variable of another git leads it elsewhere."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from prefect_dvc.system.process import without_git

END = "--end-of-options"  # for git: a value follows, even if it begins with a hyphen
LINK, REPOSITORY = "120000", "160000"  # modes of a symbolic link and of a submodule in a tree


class WorkspaceError(Exception):
    """The repository is not as a run needs it, or git failed; the message has git's own."""


def git(root: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Run git in the repository `root` with the input `given`; return its stripped output.

    The user's hooks do not run: they are for the user's own commits and pushes. Raises WorkspaceError with git's
    message if it fails, and if `root` is not the top of a repository or of a worktree.
    """
    ceiling = {"GIT_CEILING_DIRECTORIES": str(root.absolute().parent)}  # a run's directory lies in the workspace's
    done = subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", *arguments],
        cwd=root,
        env=without_git(os.environ) | ceiling | environment,
        input=given,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",  # a path may have any bytes
        check=False,
    )
    if done.returncode:
        raise WorkspaceError(f"git {arguments[0]} failed in {root}: {done.stderr.strip()}{_remedy(root, done.stderr)}")
    return done.stdout.strip()


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


def special_entries(root: Path, revision: str) -> dict[str, str]:
    """Return the symbolic links and the submodules of a commit: their modes by path."""
    rows = (row.split("\t", 1) for row in paths(git(root, "ls-tree", "-r", "-z", END, revision)))
    modes = {path: about.partition(" ")[0] for about, path in rows}
    return {path: mode for path, mode in modes.items() if mode in (LINK, REPOSITORY)}


def ignored(root: Path) -> list[str]:
    """Return what git ignores in a workspace; a directory of which it ignores everything is one path."""
    options = ["--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    return [path.rstrip("/") for path in paths(git(root, "ls-files", *options))]


def repositories_inside(root: Path) -> list[str]:
    """Return the repositories in a workspace that git does not track, as `git clone` within it makes them."""
    found = paths(git(root, "ls-files", "--others", "--exclude-standard", "-z"))
    return [path.rstrip("/") for path in found if path.endswith("/") and (root / path / ".git").exists()]


def has_content(root: Path, file: Path) -> bool:
    """Return whether the index or the last commit has a file as it is, so that it can be had again."""
    name, path = git(root, "hash-object", END, str(file)), file.relative_to(root)
    for place in (f":{path}", f"HEAD:{path}"):
        with suppress(WorkspaceError):  # it has no such file
            if git(root, "rev-parse", "--verify", "--quiet", END, place) == name:
                return True
    return False


def changed(root: Path, before: str, after: str) -> set[str]:
    """Return the paths that differ between two commits; of a renamed file, both."""
    return set(paths(git(root, "diff", "--name-only", "--no-renames", "-z", END, before, after)))
