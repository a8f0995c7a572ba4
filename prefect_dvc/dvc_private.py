"""All that this package uses of DVC beyond its documented API, in one place.

DVC's API brings whole graphs up to date, one stage at a time. A run needs the parts of it: whether a stage has changed,
the result of an earlier run, the hashes after a command. tests/prefect_dvc/test_dvc_private.py fails if a new DVC has
changed one of these parts, and pyproject.toml allows no newer DVC than the one that was tested.
"""

import fcntl
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import networkx as nx
import psutil
from configobj import ConfigObj
from dvc.config import Config, _pack_named
from dvc.dependency.db import AbstractDependency
from dvc.dependency.repo import RepoDependency
from dvc.fs import generic
from dvc.lock import make_lock
from dvc.repo import Repo
from dvc.repo.reproduce import get_active_graph
from dvc.rwlock import _edit_rwlock, rwlock
from dvc.stage.cache import _can_hash, _get_cache_hash, _get_stage_hash
from dvc.stage.run import _enforce_cmd_list, _make_cmd, _pull_missing_deps, get_executable, prepare_kwargs
from dvc.stage.serialize import to_single_stage_lockfile

logging.getLogger("dvc").setLevel(logging.WARNING)  # a run says itself what happens
NOTED = ("hash_name", "hash_info", "meta", "obj", "files")  # of an input or an output
OWN = "prefect-dvc"  # begins the name under which DVC's file rwlock has the stages of runs


# The graph


def active_graph(repo: Repo) -> nx.DiGraph:
    """Return the graph of a repository: an edge leads from a stage, unless it is frozen, to one that it reads from."""
    return get_active_graph(repo.index.graph)


def in_order(graph: nx.DiGraph) -> list[Any]:
    """Return the stages in the order in which `dvc repro` runs them, each after its upstream."""
    return list(nx.dfs_postorder_nodes(graph))


def is_remote_or_database(dependency: Any) -> bool:
    """Return whether a dependency is that of an import or of a database, and not a file."""
    return isinstance(dependency, RepoDependency | AbstractDependency)


# Locks


@contextmanager
def locked(repo: Repo) -> Iterator[None]:
    """Hold DVC's lock of a repository; its functions that want the lock work within the block."""
    if repo._lock_depth:
        yield
        return
    with repo.lock:
        repo._lock_depth += 1  # or DVC would wait for the lock that this process holds, and forget the graph
        try:
            yield
        finally:
            repo._lock_depth -= 1


def lock_of(root: Path) -> Any:
    """Return the lock of the repository `root`, for which its holder waits, without opening the repository."""
    temporary = root.absolute() / ".dvc/tmp"
    hardlink = Config(str(root.absolute() / ".dvc"))["core"].get("hardlink_lock", False)
    return make_lock(str(temporary / "lock"), str(temporary), friendly=False, hardlink_lock=hardlink, wait=True)


def lock_holder(root: Path) -> str | None:
    """Return the process that holds DVC's lock of a repository now; None also for a lock by hard links."""
    with suppress(OSError, ValueError, psutil.Error), (root / ".dvc/tmp/lock").open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            process = psutil.Process(int(file.read()))
            return f"process {process.pid} ({' '.join(process.cmdline())})"
    return None


@contextmanager
def named(name: str) -> Iterator[None]:
    """Have DVC note this process in its file rwlock by this name, not by its command line."""
    words, sys.argv = sys.argv, [OWN, name]
    try:
        yield
    finally:
        sys.argv = words


def files_of(stage: Any) -> Any:
    """Return a context, for one thread at a time, in which DVC's other processes leave the files of a stage alone."""
    deps = [dep.fs_path for dep in stage.deps if not is_remote_or_database(dep)]
    outs = [out.fs_path for out in stage.outs]
    repo = stage.repo
    hardlink = repo.config["core"].get("hardlink_lock", False)
    return rwlock(repo.tmp_dir, repo.fs, f"{OWN} {stage.addressing}", deps, outs, hardlink)


def forget_own_files(repo: Repo) -> None:
    """Remove the entries of killed runs from DVC's file rwlock; only while no other run works in the repository.

    DVC leaves them if another process has the number now, and cannot read a file that is half written.
    """
    file = Path(repo.tmp_dir) / "rwlock"
    with suppress(FileNotFoundError, UnicodeDecodeError):
        if not file.read_text(encoding="utf-8").rstrip().endswith("}"):
            file.unlink()
    with _edit_rwlock(repo.tmp_dir, repo.fs, repo.config["core"].get("hardlink_lock", False)) as entries:
        for path, info in list(entries["write"].items()):
            if info["cmd"].startswith(OWN):
                del entries["write"][path]
        for path, readers in list(entries["read"].items()):
            entries["read"][path] = [info for info in readers if not info["cmd"].startswith(OWN)]


# Commands


def command_lines(stage: Any) -> list[tuple[str, list[str]]]:
    """Return the lines of a stage's command, each with the words that start it, through the shell that DVC takes."""
    return [(line, _make_cmd(get_executable(), line)) for line in _enforce_cmd_list(stage.cmd)]


def command_place(stage: Any) -> tuple[str, dict[str, str]]:
    """Return the directory and the environment of a stage's command."""
    options = prepare_kwargs(stage)
    return options["cwd"], options["env"]


# Results of earlier runs


def run_key(stage: Any) -> str | None:
    """Compute the stage's key in the run-cache from its present inputs; None if it can have none, as with `persist`."""
    stage.save_deps()
    return str(_get_stage_hash(stage)) if _can_hash(stage) else None


def key_content(stage: Any) -> dict[str, Any]:
    """Return what the key is the hash of."""
    return dict(to_single_stage_lockfile(stage))


def run_value(stage: Any) -> str:
    """Return the name of the stage's entry among those of its key, after it has run."""
    return str(_get_cache_hash(to_single_stage_lockfile(stage)))


def entry_path(repo: Repo, key: str, value: str) -> Path:
    """Return the path of an entry of the run-cache."""
    return Path(repo.stage_cache._get_cache_path(key, value))


def noted(stage: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Return what is noted of each input and output of a stage: at first that which dvc.lock has, for `note_again`."""
    return [(entry, {name: vars(entry).get(name) for name in NOTED}) for entry in (*stage.deps, *stage.outs)]


def note_again(before: list[tuple[Any, dict[str, Any]]]) -> None:
    """Note what was noted before: `run_key`, and the end of a command, note the present inputs and outputs."""
    for entry, values in before:
        vars(entry).update(values)


def locked_result(stage: Any) -> Any | None:
    """Return a stage with the outputs that dvc.lock has, if it has them for the present inputs; None if not.

    It must come before whatever notes the present inputs in the stage, as `run_key` does.
    """
    same = not stage.changed_stage() and stage.deps_cached() and all(out.hash_info for out in stage.outs)
    if not same or not _can_hash(stage):
        return None
    return stage.repo.stage_cache._create_stage(to_single_stage_lockfile(stage), wdir=stage.wdir)


def earlier_result(stage: Any) -> Any | None:
    """Return a stage with the outputs that the run-cache has for the present inputs; None if it has none."""
    key, cache = run_key(stage), stage.repo.stage_cache
    if key is None:
        return None

    # Another run may write an entry now, into a file .NAME.tmp beside the others, which DVC's own reader would delete.
    entries = Path(cache._get_cache_dir(key)).glob("[!.]*")
    newest = max(entries, key=lambda path: path.stat().st_mtime, default=None)
    entry = newest and cache._load_cache(key, newest.name)
    return cache._create_stage(entry, wdir=stage.wdir) if entry else None


def fetch_entry(repo: Repo, key: str) -> bool:
    """Fetch the first entry of the run-cache for `key` from the default remote; return whether it has one.

    DVC itself would fetch the whole run-cache, once for each stage. HTTP can list nothing.
    """
    remote = run_cache_remote(repo)
    if remote.fs.protocol in ("http", "https"):
        return False
    place = remote_entry(remote, key)
    names = sorted(remote.fs.name(path) for path in remote.fs.find(place)) if remote.fs.exists(place) else []
    for name in names[:1]:
        generic.copy(remote.fs, remote.fs.join(place, name), repo.cache.legacy.fs, str(entry_path(repo, key, name)))
    return bool(names)


def remote_entry(remote: Any, *parts: str) -> str:
    """Return the path of an entry, or of all those of a key, in the store of `run_cache_remote`."""
    return str(remote.fs.join(remote.path, "runs", parts[0][:2], *parts))


def run_cache_remote(repo: Repo) -> Any:
    """Return the default remote's store whose path is the remote's own path."""
    return repo.cloud.get_remote_odb(None, "fetch --run-cache", hash_name="md5-dos2unix")


def pull_missing_inputs(stage: Any) -> None:
    """Fetch inputs that are missing from the default remote."""
    _pull_missing_deps(stage)


# Configuration


class LocalConfig(Config):  # type: ignore[misc]
    """DVC's configuration, which can only write ASCII, in UTF-8, as DVC reads it."""

    def _save_config(self, level: str, conf_dict: dict[str, Any]) -> None:
        with Path(self.files[level]).open("wb") as file:
            ConfigObj(_pack_named(conf_dict), encoding="utf-8").write(file)
