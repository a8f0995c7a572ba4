"""A run's own directory: a git worktree of the current workspace, which shares its DVC cache.

    workspace ──snapshot──> commit (uncommitted changes too) ──> .dvc/tmp/runs/NAME   the run works here
        ^                                                             │
        └────────────── bring_back (only when asked) <── keep: refs/tags/distillery/runs/NAME

Runs and developers do not interfere: each has its own files, and DVC's cache takes objects from many at once. Files
that git does not track but a run needs (`paths.brought` of flows.yaml) are hard-linked. That costs nothing, and no run
writes through a link, since stages replace files and never change them. A state that is changed in place, such as that
of a crawl (`paths.shared`), is one for the workspace and all runs. A killed run leaves it as a killed stage of the
workspace does.
"""

import argparse
import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from configobj import ConfigObj
from dvc.config import Config, _pack_named
from dvc.lock import make_lock

from flows.execution.config import read_config
from flows.execution.locks import clear_lock
from flows.execution.process import without_git

RUNS = Path(".dvc/tmp/runs")
REFS = "refs/tags/distillery/runs"  # tags, since `dvc gc` keeps only the objects of branches
KEPT_DAYS = 7.0
END = "--end-of-options"  # for git: a value follows, even if it begins with a hyphen


class WorktreeError(Exception):
    """git failed; the message has git's own."""


def git(root: Path, *arguments: str, given: str = "", **environment: str) -> str:
    """Run git in the repository `root` with the input `given`; return its stripped output.

    The user's hooks do not run: they are for the user's own commits and pushes. Raises WorktreeError with git's message
    if it fails, and if `root` is not the top of a repository or of a worktree.
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
        raise WorktreeError(f"git {arguments[0]} failed in {root}: {done.stderr.strip()}{_remedy(root, done.stderr)}")
    return done.stdout.strip()


def _remedy(root: Path, told: str) -> str:
    if not (root / ".git").exists():
        return (
            f"\n{root} is not the top of a git repository. Call the flows at the top, where `dvc init` was called: a "
            "DVC repository in a part of a git repository is not supported."
        )
    return "\nIt has no commit yet: commit dvc.yaml and .dvc first." if "Needed a single revision" in told else ""


def snapshot(root: Path) -> str:
    """Return a commit of the current workspace: HEAD, or a child of it with the uncommitted and the new files."""
    head = git(root, "rev-parse", "--verify", "HEAD^{tree}")
    refuse_read_only(root)
    with _dvc_at_rest(root):
        tree = _tree(root)
    return _head(root) if tree == head else commit(root, tree, "Uncommitted changes")


def refuse_read_only(root: Path) -> None:
    """Raise WorktreeError if this process may not write to the workspace: a read-only mount, or another's files."""
    if not (root / ".dvc").is_dir():
        raise WorktreeError(f"{root} is not a DVC repository: call `dvc init` there, and commit its files.")
    try:
        (root / ".dvc/tmp").mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=root / ".dvc/tmp"):
            pass
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        raise WorktreeError(
            f"{root / '.dvc/tmp'} cannot be written ({error.strerror}), and a run writes to .dvc and .git of its "
            "workspace. Start it in a clone that you may write to."
        ) from error


@contextmanager
def _dvc_at_rest(root: Path) -> Iterator[None]:
    """Wait for DVC's lock and hold it: DVC writes dvc.lock in place, and nobody may read half of it.

    DVC releases the lock while a stage works.
    """
    temporary = root / ".dvc/tmp"
    temporary.mkdir(exist_ok=True)
    clear_lock(temporary)
    hardlink = Config(str(root.absolute() / ".dvc"))["core"].get("hardlink_lock", False)
    with make_lock(str(temporary / "lock"), str(temporary), friendly=True, hardlink_lock=hardlink, wait=True):
        yield


def _head(root: Path) -> str:
    return git(root, "rev-parse", "--verify", "HEAD")


def _tree(root: Path) -> str:
    """Write a tree of the files that git tracks or would add; a temporary index leaves the workspace's unchanged."""
    with tempfile.TemporaryDirectory() as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        git(root, "read-tree", "HEAD", **index)
        git(root, "add", "--all", **index)
        return git(root, "write-tree", **index)


def commit(root: Path, tree: str, message: str) -> str:
    """Make a child of HEAD that is on no branch."""
    author = {"GIT_AUTHOR_NAME": "distillery", "GIT_AUTHOR_EMAIL": "distillery@localhost"}
    committer = {name.replace("AUTHOR", "COMMITTER"): value for name, value in author.items()}
    return git(root, "commit-tree", "-p", "HEAD", "-m", message, END, tree, **author, **committer)


@contextmanager
def worktree(root: Path, revision: str, name: str) -> Iterator[Path]:
    """Make the directory of run `name` at `revision`; it stays for inspection until `prune` finds it old."""
    directory, paths = root.absolute() / RUNS / name, read_config(root).paths
    _refuse_submodule(root)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        git(root, "worktree", "add", "--quiet", "--detach", END, str(directory), revision)
        _share_cache(root, directory)
        if paths.shared is not None:
            _share(root / paths.shared, directory / paths.shared)
        for path in paths.brought:
            _link_newer(root / path, directory / path)
        try:
            yield directory
        finally:
            for path in paths.returned:
                _link_newer(directory / path, root / path)


def _refuse_submodule(root: Path) -> None:
    """Raise WorktreeError in a submodule: its worktrees share core.worktree, by which DVC finds a wrong place."""
    if whole := git(root, "rev-parse", "--show-superproject-working-tree"):
        address = git(root, "config", "--default", ".", "remote.origin.url")
        raise WorktreeError(
            f"{root} is a submodule of {whole}, and DVC cannot work in the worktrees of a submodule. Run the flows "
            f"in a separate clone: git clone {address}"
        )


class _Config(Config):  # type: ignore[misc]
    """DVC's configuration, which can only write ASCII, in UTF-8, as DVC reads it."""

    def _save_config(self, level: str, conf_dict: dict[str, Any]) -> None:
        with Path(self.files[level]).open("wb") as file:
            ConfigObj(_pack_named(conf_dict), encoding="utf-8").write(file)


def _share_cache(root: Path, directory: Path) -> None:
    """Let DVC in the worktree use the workspace's settings, remotes and cache, and link outputs instead of copying."""
    own = Config(str(root.absolute() / ".dvc"))
    cache = {"dir": str(root.absolute() / ".dvc/cache")} | own["cache"] | {"type": ["hardlink", "copy"]}
    with _Config(str(directory / ".dvc")).edit("local") as settings:
        settings.update(core=own["core"], remote=own["remote"], cache=cache)


def _share(place: Path, link: Path) -> None:
    """Let the run use a directory of the workspace itself."""
    place.mkdir(parents=True, exist_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(place.absolute(), target_is_directory=True)


def _link_newer(source: Path, target: Path) -> None:
    """Hard-link every file of `source` that is missing or older in `target`; copy between file systems."""
    for file in source.rglob("*") if source.is_dir() else []:
        place = target / file.relative_to(source)
        if file.is_dir() or file.name.endswith(".partial"):
            continue
        if place.exists() and place.stat().st_mtime_ns >= file.stat().st_mtime_ns:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        linked = place.with_name(f".{place.name}.partial")
        linked.unlink(missing_ok=True)
        try:
            linked.hardlink_to(file)
        except OSError:
            shutil.copy2(file, linked)
        linked.replace(place)


@contextmanager
def _locked(directory: Path, how: int = fcntl.LOCK_NB) -> Iterator[None]:
    """Hold `directory`.lock, which the system releases when the process ends, however it ends."""
    with directory.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | how)
        yield


def prune(root: Path, days: float = KEPT_DAYS) -> list[str]:
    """Remove the directories of runs that no process works in and that are older than `days`; return their names."""
    removed = []
    for lock in sorted((root / RUNS).glob("*.lock")):
        if time.time() - lock.stat().st_mtime < days * 86_400:
            continue
        with suppress(BlockingIOError), _locked(lock.with_suffix("")):  # a running run holds its lock
            directory = lock.with_suffix("")
            if directory.exists():
                shutil.rmtree(directory)  # git would refuse one that has lost its .git, or that has submodules
            lock.unlink()
            removed.append(directory.name)
    git(root, "worktree", "prune")
    return removed


def retire(root: Path, days: float, number: int) -> list[str]:
    """Delete the tags of kept runs that are older than `days` and not among the newest `number`.

    A promoted model has a commit and tags of its own, and stays. The data of the others goes with the next `dvc gc`.

    Args:
        root: The workspace.
        days: Every younger run is kept.
        number: So many are kept, however old.

    Returns:
        The names of the runs, the oldest first.

    Example:
        >>> retire(Path.cwd(), days=90, number=100)  # doctest: +SKIP
        ['20260801-030012-3fa2']
    """
    names = [
        ref.removeprefix(f"{REFS}/") for ref in git(root, "for-each-ref", "--format=%(refname)", END, REFS).split()
    ]
    oldest = f"{datetime.now() - timedelta(days=days):%Y%m%d-%H%M%S}"  # a name begins with its time
    retired = [name for name in sorted(names)[: max(0, len(names) - number)] if name < oldest]
    for name in retired:
        git(root, "update-ref", "-d", END, f"{REFS}/{name}")
    return retired


def keep(root: Path, directory: Path, name: str) -> str:
    """Commit the run's results (dvc.lock, parameters, reports), tagged distillery/runs/`name`; return the commit."""
    revision = commit(directory, _tree(directory), f"Run {name}")
    git(root, "update-ref", END, f"{REFS}/{name}", revision)
    return revision


def bring_back(root: Path, name: str) -> None:
    """Apply the changes of run `name` to the workspace: its parameters, its dvc.lock, its reports, and its outputs.

    Raises WorktreeError, and changes nothing, if the workspace has changed one of these files since.
    """
    after = git(root, "rev-parse", "--verify", END, f"{REFS}/{name}")
    before = git(root, "rev-parse", "--verify", END, f"{after}^")
    with _locked(root / RUNS / "workspace", how=0):  # wait for another run that is brought back
        changed = _changed(root, before, after)
        touched = changed & _changed(root, before, snapshot(root))
        if touched:
            raise WorktreeError(
                f"The workspace has changed {', '.join(sorted(touched))} since run {name} began. Commit or undo the "
                f"changes, then bring the run back: python -m flows.worktree {name}"
            )
        if changed:
            with _dvc_at_rest(root):
                git(
                    root,
                    "restore",
                    f"--source={after}",
                    "--worktree",
                    "--pathspec-from-file=-",
                    "--pathspec-file-nul",
                    given="\0".join(sorted(changed)),
                    GIT_LITERAL_PATHSPECS="1",
                )
        dvc = [sys.executable, "-m", "dvc", "--quiet", "--wait-for-lock", "checkout", "--force", "--allow-missing"]
        subprocess.run(dvc, cwd=root, check=True)


def _changed(root: Path, before: str, after: str) -> set[str]:
    """Return the paths that differ; of a renamed file, both."""
    return {
        path for path in git(root, "diff", "--name-only", "--no-renames", "-z", END, before, after).split("\0") if path
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m flows.worktree", description="Bring a run back to the workspace.")
    parser.add_argument("name", help=f"name of a kept run: `git for-each-ref {REFS}` lists them")
    try:
        bring_back(Path.cwd(), parser.parse_args().name)
    except WorktreeError as error:
        sys.exit(f"worktree: {error}")


if __name__ == "__main__":
    main()
