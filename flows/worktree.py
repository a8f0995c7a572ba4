"""A run's own directory: a git worktree of the workspace as it stands, sharing its DVC cache.

    workspace ──snapshot──> commit (uncommitted changes too) ──> .dvc/tmp/runs/NAME   the run works here
        ^                                                             │
        └────────────── bring_back (only when asked) <── keep: refs/distillery/runs/NAME

Runs and developers do not meet: each has its own files, and DVC's cache takes objects from many at once. What git does
not know but a run needs (`data/external`, checkpoints) is hard-linked, which costs nothing and cannot be written
through, since stages replace files and never change them. The state of the crawl is changed in place, so there is one
for the workspace and all runs, with one lock, and a run that is killed leaves it as a crawl of the workspace does.
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dvc.config import Config
from dvc.lock import make_lock

RUNS = Path(".dvc/tmp/runs")
REFS = "refs/distillery/runs"
BROUGHT = ("data/external", "data/checkpoints", "models/checkpoints")  # not in git, yet a run needs them
RETURNED = ("data/checkpoints", "models/checkpoints")  # what an interrupted run leaves for the next
IN_PLACE = "data/checkpoints/crawl"
KEPT_DAYS = 7.0
END = "--end-of-options"  # for git: what follows is a value, though it may begin with a hyphen


class WorktreeError(Exception):
    """git refused; the message has its words."""


def git(root: Path, *arguments: str, **environment: str) -> str:
    """What git prints, stripped; raises WorktreeError with its message where it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise WorktreeError(f"git {arguments[0]} failed in {root}: {done.stderr.strip()}")
    return done.stdout.strip()


def snapshot(root: Path) -> str:
    """A commit of the workspace as it stands: HEAD, or a child of it with the uncommitted and the new files."""
    head = git(root, "rev-parse", "--verify", "HEAD^{tree}")
    with _dvc_at_rest(root):
        tree = _tree(root)
    return _head(root) if tree == head else commit(root, tree, "Uncommitted changes")


@contextmanager
def _dvc_at_rest(root: Path) -> Iterator[None]:
    """Wait for DVC's lock and hold it: DVC writes dvc.lock in place, and nobody is to see half of it.

    DVC lets go of it while a stage works.
    """
    temporary = root / ".dvc/tmp"
    temporary.mkdir(exist_ok=True)
    hardlink = Config(str(root.absolute() / ".dvc"))["core"].get("hardlink_lock", False)
    with make_lock(str(temporary / "lock"), str(temporary), friendly=True, hardlink_lock=hardlink, wait=True):
        yield


def _head(root: Path) -> str:
    return git(root, "rev-parse", "--verify", "HEAD")


def _tree(root: Path) -> str:
    """The files that git knows or would add, through an index of its own: the workspace's does not change."""
    with tempfile.TemporaryDirectory() as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        git(root, "read-tree", "HEAD", **index)
        git(root, "add", "--all", **index)
        return git(root, "write-tree", **index)


def commit(root: Path, tree: str, message: str) -> str:
    """A child of HEAD that no branch knows."""
    author = {"GIT_AUTHOR_NAME": "distillery", "GIT_AUTHOR_EMAIL": "distillery@localhost"}
    committer = {name.replace("AUTHOR", "COMMITTER"): value for name, value in author.items()}
    return git(root, "commit-tree", "-p", "HEAD", "-m", message, END, tree, **author, **committer)


@contextmanager
def worktree(root: Path, revision: str, name: str) -> Iterator[Path]:
    """The directory of run `name`, at `revision`; it stays after the run, for a look, until `prune` finds it old."""
    directory = root.absolute() / RUNS / name
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        git(root, "worktree", "add", "--quiet", "--detach", END, str(directory), revision)
        _share_cache(root, directory)
        _share_crawl(root, directory)
        for path in BROUGHT:
            _link_newer(root / path, directory / path)
        try:
            yield directory
        finally:
            for path in RETURNED:
                _link_newer(directory / path, root / path)


def _share_cache(root: Path, directory: Path) -> None:
    """Let DVC in the worktree use the workspace's settings, remotes and cache, and link outputs instead of copying."""
    own = Config(str(root.absolute() / ".dvc"))
    cache = {"dir": str(root.absolute() / ".dvc/cache")} | own["cache"] | {"type": ["hardlink", "copy"]}
    with Config(str(directory / ".dvc")).edit("local") as settings:
        settings.update(core=own["core"], remote=own["remote"], cache=cache)


def _share_crawl(root: Path, directory: Path) -> None:
    state = directory / IN_PLACE
    (root / IN_PLACE).mkdir(parents=True, exist_ok=True)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.symlink_to((root / IN_PLACE).absolute(), target_is_directory=True)


def _link_newer(source: Path, target: Path) -> None:
    """Hard-link every file of `source` that `target` lacks or has an older one of; copy between file systems."""
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
    """Hold `directory`.lock, which the system lets go when the process ends, however it ends."""
    with directory.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | how)
        yield


def prune(root: Path, days: float = KEPT_DAYS) -> list[str]:
    """Remove the directories of runs that no process works in and that are older than `days`; return their names."""
    removed = []
    for lock in sorted((root / RUNS).glob("*.lock")):
        if time.time() - lock.stat().st_mtime < days * 86_400:
            continue
        with suppress(BlockingIOError), _locked(lock.with_suffix("")):  # a run at work holds its lock
            directory = lock.with_suffix("")
            if directory.exists():
                git(root, "worktree", "remove", "--force", END, str(directory))
            lock.unlink()
            removed.append(directory.name)
    git(root, "worktree", "prune")
    return removed


def keep(root: Path, directory: Path, name: str) -> str:
    """Commit what the run left (dvc.lock, parameters, reports) under refs/distillery/runs/`name`; return the commit."""
    revision = commit(directory, _tree(directory), f"Run {name}")
    git(root, "update-ref", END, f"{REFS}/{name}", revision)
    return revision


def bring_back(root: Path, name: str) -> None:
    """Give the workspace what run `name` changed: its parameters, its dvc.lock, its reports, and its outputs.

    Raises WorktreeError, and changes nothing, where the workspace has changed one of these files since.
    """
    after = git(root, "rev-parse", "--verify", END, f"{REFS}/{name}")
    before = git(root, "rev-parse", "--verify", END, f"{after}^")
    with _locked(root / RUNS / "workspace", how=0):  # wait for another run that is brought back
        changed = _changed(root, before, after)
        touched = changed & _changed(root, before, snapshot(root))
        if touched:
            raise WorktreeError(
                f"The workspace has changed {', '.join(sorted(touched))} since run {name} began. Commit or undo that, "
                f"then bring the run back: python -m flows.worktree {name}"
            )
        if changed:
            with _dvc_at_rest(root):
                git(root, "restore", f"--source={after}", "--worktree", "--", *sorted(changed))
        dvc = [sys.executable, "-m", "dvc", "--quiet", "--wait-for-lock", "checkout", "--force", "--allow-missing"]
        subprocess.run(dvc, cwd=root, check=True)


def _changed(root: Path, before: str, after: str) -> set[str]:
    return set(git(root, "diff", "--name-only", END, before, after).splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m flows.worktree", description="Bring a run to the workspace.")
    parser.add_argument("name", help=f"of a run that was kept: `git for-each-ref {REFS}` lists them")
    try:
        bring_back(Path.cwd(), parser.parse_args().name)
    except WorktreeError as error:
        sys.exit(f"worktree: {error}")


if __name__ == "__main__":
    main()
