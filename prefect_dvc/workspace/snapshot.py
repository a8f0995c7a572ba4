"""A commit of the workspace as it is, with uncommitted and new files; neither a branch nor the index changes."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from prefect_dvc import dvc_private
from prefect_dvc.workspace.contents import covers
from prefect_dvc.workspace.git import (
    PLAIN,
    PROGRAM,
    REPOSITORY,
    WorkspaceError,
    commit_tree,
    contents_of,
    git,
    leads_out,
    paths,
    repositories_inside,
    tree,
    unreadable,
)

OWN_SETTINGS = ".dvc/config.local"  # a run has another one


def snapshot(root: Path) -> str:
    """Return a commit of the current workspace: HEAD, or a child of it with the uncommitted and the new files."""
    head = git(root, "rev-parse", "--verify", "HEAD^{tree}")
    refuse_read_only(root)
    with dvc_at_rest(root):
        own = root / git(root, "rev-parse", "--git-path", "index")
        files = _tree(root, own=own)
    return (
        git(root, "rev-parse", "--verify", "HEAD") if files == head else commit_tree(root, files, "Uncommitted changes")
    )


def commit_of_run(root: Path, directory: Path, message: str, cached: Sequence[str], uncached: Sequence[str]) -> str:
    """Return a commit of the files of a run's directory: what the run has written is in it as it is, unconverted.

    The settings of this machine, what DVC's cache has, repositories inside, submodules, and links that were mended are
    those of the run's HEAD.
    """
    entries = tree(directory, "HEAD").items()
    special = [path for path, entry in entries if entry.mode == REPOSITORY or leads_out(directory, directory / path)]
    unchanged = [OWN_SETTINGS, *cached, *special, *repositories_inside(root)]
    return commit_tree(directory, _tree(directory, unchanged, written=uncached), message)


def refuse_read_only(root: Path) -> None:
    """Raise WorkspaceError if this process may not write to the workspace: a read-only mount, or another's files."""
    if not (root / ".dvc").is_dir():
        raise WorkspaceError(f"{root} is not a DVC repository: call `dvc init` there, and commit its files.")
    try:
        (root / ".dvc/tmp").mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=root / ".dvc/tmp"):
            pass
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        raise WorkspaceError(
            f"{root / '.dvc/tmp'} cannot be written ({error.strerror}), and a run writes to .dvc and .git of its "
            "workspace. Start it in a clone that you may write to."
        ) from error


@contextmanager
def dvc_at_rest(root: Path) -> Iterator[None]:
    """Wait for DVC's lock and hold it: DVC writes dvc.lock in place, and nobody may read half of it."""
    (root / ".dvc/tmp").mkdir(exist_ok=True)
    if holder := dvc_private.lock_holder(root):
        print(f"Waiting for {holder}, which holds DVC's lock.", flush=True)
    with dvc_private.lock_of(root):
        yield


def _tree(
    root: Path, unchanged: Sequence[str] = (), own: Path | None = None, written: Sequence[str] | None = None
) -> str:
    """Write a tree of the files that git tracks or would add; those below `unchanged` are as in HEAD.

    With `own`, a copy of that index takes the changes, so that files that were added by force are in it. With
    `written`, files that are other than in HEAD, and those below these paths, are in it as they are, unconverted.
    """
    with tempfile.TemporaryDirectory() as directory:
        index = Path(directory) / "index"
        of_index = {"GIT_INDEX_FILE": str(index)}
        if own is not None and own.exists():
            shutil.copy2(own, index)  # with its own time, or git would not look again at files that are as old
            _look_at_all(root, of_index)
        else:
            git(root, "read-tree", "HEAD", **of_index)
        listed = ["--pathspec-from-file=-", "--pathspec-file-nul"]
        if hidden := unreadable(root):
            print(f"Left out, since this user cannot read it: {', '.join(hidden)}.", flush=True)
        without = [*repositories_inside(root), *hidden]  # git cannot add an empty repository
        excluded = [f":(exclude,literal){path}" for path in without]
        git(root, "add", "--all", *listed, given="\0".join([".", *excluded]), **of_index)
        if unchanged:
            literal = of_index | {"GIT_LITERAL_PATHSPECS": "1"}
            git(root, "reset", "--quiet", "HEAD", *listed, given="\0".join(unchanged), **literal)
        if written is not None:
            _put_as_they_are(root, written, of_index)
        return git(root, "write-tree", **of_index)


def _look_at_all(root: Path, of_index: Mapping[str, str]) -> None:
    """Let git look at all files of an index, but not at those that a sparse workspace lacks."""
    rows = [(row[0], row[2:]) for row in paths(git(root, "ls-files", "-v", "-z", **of_index))]
    assumed = [path for flag, path in rows if flag.islower()]
    skipped = [path for flag, path in rows if flag in "sS" and os.path.lexists(root / path)]
    given = ["-z", "--stdin"]
    for options, listed in ((["--no-assume-unchanged", *given], assumed), (["--no-skip-worktree", *given], skipped)):
        if listed:
            git(root, "update-index", *options, given="\0".join(listed), **of_index)


def _put_as_they_are(root: Path, outputs: Sequence[str], of_index: Mapping[str, str]) -> None:
    """Put the files that an index has changed since HEAD, and all below `outputs`, into it once more, unconverted."""
    changed = set(paths(git(root, "diff-index", "--cached", "--name-only", "-z", "HEAD", **of_index)))
    listed = (row.split("\t", 1) for row in paths(git(root, "ls-files", "--stage", "-z", **of_index)))
    modes = {path: about.split()[0] for about, path in listed}
    wanted = [path for path in modes if path in changed or any(covers(out, path) for out in outputs)]
    files = [path for path in wanted if modes[path] in (PLAIN, PROGRAM)]
    rows = [f"{modes[path]} {name}\t{path}" for path, name in contents_of(root, files, "-w").items()]
    git(root, "update-index", "-z", "--index-info", given="\0".join(rows), **of_index)
