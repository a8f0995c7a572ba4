"""A run's own directory: a git worktree with the files of the workspace, which shares its DVC cache.

    workspace ──snapshot──> commit (uncommitted changes too) ──> .dvc/tmp/runs/NAME   the run works here
        ^                                                             │
        └────────────── apply (only when asked) <── keep: refs/tags/prefect-dvc/runs/NAME

Runs and developers do not interfere: each has its own files, and DVC's cache takes objects from many at once. The files
of `paths.brought` of flows.yaml are hard-linked, which is right if stages replace them and never change them. A state
that is changed in place, such as that of a crawl (`paths.shared`), is one for the workspace and all runs.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from dvc.config import Config
from dvc.repo import Repo

from prefect_dvc.dvc_private import LocalConfig
from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.system.process import HeldError, held
from prefect_dvc.workspace.git import END, WorkspaceError, git
from prefect_dvc.workspace.inputs import bring_parameter_files, bring_repositories, bring_tracked
from prefect_dvc.workspace.snapshot import OWN_SETTINGS, dvc_at_rest, refuse_read_only, snapshot

RUNS = Path(".dvc/tmp/runs")
KEYS = Path(".dvc/tmp/keys")  # a lock for each piece of work that a run does
REFS = "refs/tags/prefect-dvc/runs"  # tags, since `dvc gc` keeps only the objects of branches
KEPT_DAYS = 7.0


@contextmanager
def worktree(root: Path, name: str, revision: str | None = None) -> Iterator[Path]:
    """Make the directory of run `name`, of a commit or of the workspace as it is; it stays until `prune` finds it old.

    The workspace's files are copied: on their way through a commit, git could convert them.
    """
    directory, paths = root.absolute() / RUNS / name, read_config(root).paths
    _refuse_submodule(root)
    refuse_read_only(root)
    Repo(str(root)).close()  # which lets git ignore DVC's cache and its other own files, if .dvc/.gitignore does not
    commit = revision or snapshot(root)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with held(directory.with_suffix(".lock"), name):
        options = ["--no-checkout"] * (revision is None)
        git(root, "worktree", "add", "--quiet", "--detach", *options, END, str(directory), commit)
        if revision is None:
            with dvc_at_rest(root):
                bring_tracked(root, directory)
        bring_repositories(root, directory)
        bring_parameter_files(root, directory)
        _share_cache(root, directory)
        if paths.shared is not None:
            place, link = root.absolute() / paths.shared, directory / paths.shared
            place.mkdir(parents=True, exist_ok=True)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(place, target_is_directory=True)
        for path in paths.brought:
            _link_newer(root / path, directory / path)
        try:
            yield directory
        finally:
            for path in paths.returned:
                _link_newer(directory / path, root / path)


def _refuse_submodule(root: Path) -> None:
    """Raise WorkspaceError in a submodule: its worktrees share core.worktree, by which DVC finds a wrong place."""
    if whole := git(root, "rev-parse", "--show-superproject-working-tree"):
        address = git(root, "config", "--default", ".", "remote.origin.url")
        raise WorkspaceError(
            f"{root} is a submodule of {whole}, and DVC cannot work in the worktrees of a submodule. Run the flows "
            f"in a separate clone: git clone {address}"
        )


def _share_cache(root: Path, directory: Path) -> None:
    """Let DVC in the worktree use the workspace's settings, remotes and cache, also its kind of links (cache.type).

    Of other sections it has those of the commit, and of this machine.
    """
    own = Config(str(root.absolute() / ".dvc"))
    cache = {"dir": str(root.absolute() / ".dvc/cache")} | own["cache"]
    (directory / OWN_SETTINGS).unlink(missing_ok=True)  # one that git has may be a link
    with LocalConfig(str(directory / ".dvc")).edit("local") as settings:
        settings.update(own.read("local") | {"core": own["core"], "remote": own["remote"], "cache": cache})


def _link_newer(source: Path, target: Path) -> None:
    """Hard-link a file, or all of a directory, where `target` has none or an older one; copy between file systems."""
    for file in (source, *source.rglob("*")):
        place = target / file.relative_to(source)
        if not file.is_file() or file.name.endswith(".partial"):
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


def prune(root: Path, days: float = KEPT_DAYS) -> list[str]:
    """Remove the directories of runs that no process works in and that are older than `days`; return their names."""
    removed = []
    for lock in sorted((root / RUNS).glob("*.lock")):
        if time.time() - lock.stat().st_mtime < days * 86_400:
            continue
        with suppress(HeldError), held(lock, "prune"):  # a running run holds its lock
            directory = lock.with_suffix("")
            if directory.exists():
                shutil.rmtree(directory)  # git would refuse one that has lost its .git, or that has submodules
            lock.unlink()
            removed.append(directory.name)
    git(root, "worktree", "prune")
    for lock in (root / KEYS).glob("*.lock"):
        if time.time() - lock.stat().st_mtime > days * 86_400:
            lock.unlink(missing_ok=True)
    return removed


def retire(root: Path, days: float, number: int) -> list[str]:
    """Delete the tags of kept runs older than `days` and not among the newest `number`; return their names, sorted.

    A promoted model has a commit and tags of its own, and stays. The data of the others goes with the next `dvc gc`.
    """
    refs = git(root, "for-each-ref", "--format=%(refname)", END, REFS).split()
    names = [ref.removeprefix(f"{REFS}/") for ref in refs]
    oldest = f"{datetime.now() - timedelta(days=days):%Y%m%d-%H%M%S}"  # a name begins with its time
    retired = [name for name in sorted(names)[: max(0, len(names) - number)] if name < oldest]
    for name in retired:
        git(root, "update-ref", "-d", END, f"{REFS}/{name}")
    return retired
