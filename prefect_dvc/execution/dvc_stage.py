"""Bring one stage up to date with DVC's own classes, in a process of its own, and report to its parent.

    home                                  this process
    descriptor of a pipe ───────────────> pid 4711
                                          ran                    the command begins
                                          done ["student", "Ran", "7d8f...", "09b1..."]      its outputs in DVC's cache

This is `dvc repro -s NAME` without the command line. It says what it did in these lines, so that nobody has to find it
in DVC's messages, and it can run in a fork of a process that has loaded DVC and the graph (execution/host.py).
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dvc.stage.run
from dvc.exceptions import DvcException
from dvc.fs import generic
from dvc.repo import Repo
from dvc.repo.reproduce import _reproduce_stage
from dvc.stage import PipelineStage, Stage
from dvc.stage.cache import RunCacheNotFoundError, _get_stage_hash

from prefect_dvc.execution.locks import locked
from prefect_dvc.system.process import PARENT, STAGE, end_group_on_term
from prefect_dvc.system.remedies import one_line

FAILED = 255  # DVC's own status
# The arguments of `dvc repro`; `upstream` is empty, since each stage runs after its upstream.
SETTINGS: dict[str, Any] = {"interactive": False, "dry": False, "allow_missing": False, "run_cache": True}
SETTINGS |= {"no_commit": False, "upstream": []}
Tell = Callable[[str], None]


class NotAtHandError(DvcException):  # type: ignore[misc]
    """A stage would have to run."""


def bring_up_to_date(repo: Repo, name: str, tell: Tell, *, force: bool, pull: bool, stage: Stage | None = None) -> None:
    """Run a stage unless it is unchanged, or has a result in DVC's cache, or with `pull` in the default remote.

    Args:
        repo: The repository, opened so that it waits for DVC's lock.
        name: The stage.
        tell: Called with each line above.
        force: Run it in any case.
        pull: Fetch missing inputs and outputs, and an earlier run with the same inputs, from the default remote.
        stage: The stage, if it is loaded already.

    Raises:
        DvcException: The stage failed, or something that it needs is missing.
    """
    with locked(repo), repo.scm_context():
        if stage is None:
            (stage,) = repo.stage.collect(name)
        with _watched(repo, tell, run=True) as did:
            changed = _reproduce_stage(stage, force=force, pull=pull, **SETTINGS)
        tell(_done(stage, changed is not None, did))


def restore_all(repo: Repo, stages: Sequence[Stage], ready: Collection[str], tell: Tell, *, pull: bool) -> None:
    """Bring every stage up to date that needs no run, and note all of them in dvc.lock at once.

    Args:
        repo: As above.
        stages: Each after its upstream.
        ready: Outputs that are up to date already, as paths.
        tell: Called with the line `done` of each stage that had a result.
        pull: As above.

    Raises:
        Exception: Whatever the library of a remote raises; what was restored before counts.
    """
    made, there = set(ready), list[tuple[Stage, bool, set[str]]]()
    outputs = {out.fs_path for stage in stages for out in stage.outs} | made
    with locked(repo), repo.scm_context():
        try:
            for stage in stages:
                inputs = {dep.fs_path for dep in stage.deps}
                waits = any(_within(path, out) for path in inputs for out in outputs - made)
                if waits or not isinstance(stage, PipelineStage) or stage.frozen or not stage.cmd:
                    continue
                with suppress(NotAtHandError), _watched(repo, tell, run=False) as did:
                    changed = stage.reproduce(force=False, pull=pull, **SETTINGS) is not None
                    made |= {out.fs_path for out in stage.outs}
                    there.append((stage, changed, did))
        finally:
            changes = [stage for stage, changed, _ in there if changed]
            for path in {stage.path for stage in changes}:  # of a dvc.yaml; a repository may have several
                of_file = [stage for stage in changes if stage.path == path]
                of_file[0].dvcfile.dump_stages(of_file, update_pipeline=False)
            for stage, changed, did in there:
                tell(_done(stage, changed, did))


def _within(path: str, out: str) -> bool:
    """Return whether an input and an output have files in common."""
    return f"{path}/".startswith(f"{out}/") or f"{out}/".startswith(f"{path}/")


def _done(stage: Stage, changed: bool, did: Collection[str]) -> str:
    if not changed:
        outcome = "Pulled" if "Pulled" in did else "Cached"
    else:
        outcome = "Restored" if "Restored" in did and "Ran" not in did else "Ran"
    objects = (out.hash_info.value for out in stage.outs if out.use_cache and out.hash_info)
    return f"done {json.dumps([stage.addressing, outcome, *objects])}"


@contextmanager
def _watched(repo: Repo, tell: Tell, *, run: bool) -> Iterator[set[str]]:
    """Note which of DVC's functions do the work of the block; without `run`, raise NotAtHandError before a command."""
    did = set[str]()
    restore, fetch, command = repo.stage_cache.restore, repo.pull, dvc.stage.run.cmd_run

    def restored(one: Stage, **options: Any) -> None:
        try:
            restore(one, **options)
        except RunCacheNotFoundError as error:  # DVC has computed the hashes of the inputs meanwhile
            found = options.get("pull") and _fetch_run(repo, _get_stage_hash(one))
            if not found and not run:
                raise NotAtHandError(one.addressing) from error
            if not found:
                raise
            restore(one, **options)
        did.add("Restored")

    def pulled(*arguments: Any, **options: Any) -> Any:
        found = fetch(*arguments, **options)
        did.add("Pulled")
        return found

    def ran(*arguments: Any, **options: Any) -> None:
        if not run:
            raise NotAtHandError("a stage without a result")
        did.add("Ran")
        tell("ran")
        command(*arguments, **options)

    repo.stage_cache.restore, repo.pull, dvc.stage.run.cmd_run = restored, pulled, ran
    try:
        yield did
    finally:
        repo.stage_cache.restore, repo.pull, dvc.stage.run.cmd_run = restore, fetch, command


def _fetch_run(repo: Repo, key: str) -> bool:
    """Fetch the newest entry of the run-cache for `key` from the default remote; return whether it has one.

    DVC itself would fetch the whole run-cache, once for each stage. HTTP can list nothing.
    """
    remote = repo.cloud.get_remote_odb(None, "fetch --run-cache", hash_name="md5-dos2unix")
    if remote.fs.protocol in ("http", "https"):
        return False
    place = remote.fs.join(remote.path, "runs", key[:2], key)
    names = sorted(remote.fs.name(path) for path in remote.fs.find(place)) if remote.fs.exists(place) else []
    for name in names[:1]:
        target = repo.stage_cache._get_cache_path(key, name)
        generic.copy(remote.fs, remote.fs.join(place, name), repo.cache.legacy.fs, target)
    return bool(names)


def guarded(work: Callable[[], None], name: str) -> int:
    """Return 0, or DVC's status for an error, which is printed as `dvc repro` does."""
    try:
        work()
    except DvcException as error:
        print(f"ERROR: failed to reproduce '{name}': {': '.join(_reasons(error))}", flush=True)
        return FAILED
    except Exception as error:  # any error of a remote's library ends here as one line
        print(f"ERROR: failed to reproduce '{name}': {one_line(error)}", flush=True)
        return FAILED
    return 0


def _reasons(error: BaseException | None) -> Iterator[str]:
    """Yield the texts of an error and of those that caused it, each once."""
    last = ""
    while error is not None:
        if (text := str(error).strip()) and text != last:
            yield text
            last = text
        error = error.__cause__


def be_named(*words: str) -> None:
    """Have DVC note this process in its file rwlock under these words, not under those of its host."""
    sys.argv = list(words)


def teller(descriptor: int) -> Tell:
    """Return a function that writes lines to a descriptor, which the stage's own command does not inherit."""
    os.set_inheritable(descriptor, False)

    def tell(line: str) -> None:
        os.write(descriptor, f"{line}\n".encode())

    return tell


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m prefect_dvc.execution.dvc_stage", description="Reproduce one stage."
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("name")
    parser.add_argument("--tell", type=int, required=True, help="descriptor of a pipe")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--pull", action="store_true")
    parser.add_argument(PARENT, type=int, help="process that has started this one")
    options = parser.parse_args()
    end_group_on_term()
    be_named(STAGE, options.name)
    os.chdir(options.directory)
    tell = teller(options.tell)
    tell(f"pid {os.getpid()}")

    def work() -> None:
        with Repo(str(options.directory), _wait_for_lock=True) as repo:
            bring_up_to_date(repo, options.name, tell, force=options.force, pull=options.pull)

    sys.exit(guarded(work, options.name))


if __name__ == "__main__":
    main()
