"""Run one stage on a worker, and bring its result back.

    caller                              DVC remote                worker, in its own clone
    send:  inputs ─────────────────────> objects ───────────────> take: pull, compare the key
           code ──> refs/prefect-dvc/handoff/ID ───────────────>  git fetch, worktree
           flow run gpu-stage(key, revision) ──────────────────>  the stage's command
    fetch: that entry, its objects <──── objects, runs/KEY <───── give: outputs, run-cache entry
           the stage is restored from DVC's cache

The key is that of DVC's run-cache, a hash of the command, the parameters and the inputs: so the worker's result is that
of an earlier run with the same inputs. Each step is a process of its own, which can be ended while a remote hangs. The
worker gives its result again and again until the remote takes it. If it falls silent, the caller asks again once
one is back: a stage that has run there is in its run-cache, and is only sent.
"""

import contextlib
import hashlib
import json
import os
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dvc.config import ConfigError
from dvc.exceptions import DownloadError
from dvc.fs import generic
from dvc.repo import Repo
from dvc.stage import Stage as DvcStage

from prefect_dvc import dvc_private
from prefect_dvc.errors import reasons
from prefect_dvc.execution.commands import Commands, Log
from prefect_dvc.execution.graph import Stage
from prefect_dvc.execution.outcome import Outcome
from prefect_dvc.execution.run import Run
from prefect_dvc.execution.stages import Messages
from prefect_dvc.workers.request import PROTOCOL, REFS, HandoffError, StageRequest, read_request, seconds
from prefect_dvc.workers.versions import different, versions
from prefect_dvc.workspace.contents import inside, overlaps
from prefect_dvc.workspace.directory import REFS as KEPT
from prefect_dvc.workspace.git import END, WorkspaceError, git
from prefect_dvc.workspace.snapshot import snapshot

CODE = Path(__file__).parents[2]  # where a step finds this package, not that of the run's directory
STEP_SECONDS = "PREFECT_DVC_TRANSFER_SECONDS"  # a setting of both sides: how long a step may take
GIVE_SECONDS = "PREFECT_DVC_GIVE_SECONDS"  # of both sides: how long a result is given or fetched if the remote fails
HOUR = 3600.0
TRY_SECONDS = 10.0  # for inputs: as long as they are on their way, nothing would be lost
LONGEST_PAUSE = 60.0  # seconds between two tries
REFUSED, FAILED = 1, 2  # statuses of a step; after the second it may be tried again
POLL_SECONDS = 0.2
REQUEST = Path(".dvc/tmp/request.json")  # in the run's directory on the worker
LONGEST_PART = 100  # of a key, in letters


class TransferError(HandoffError):
    """A transfer failed, was cut off or took too long; the next may succeed."""


@dataclass(frozen=True)
class Steps:
    """The steps of one side, each a process of its own."""

    commands: Commands
    log: Log

    def do(self, step: str, directory: Path, remote: str | None = None, **options: Any) -> Any:
        """Do a step in the repository `directory`; return its result.

        Raises HandoffError with its last lines, TransferError if another try may succeed.
        """
        given = json.dumps({"directory": str(directory), "remote": remote, "options": options})
        command = [sys.executable, "-P", "-m", "prefect_dvc.workers.handoff", step, given]
        status, lines = self.commands.run(command, CODE, os.environ, lambda line: None)
        if status == -signal.SIGALRM:
            limit = seconds(STEP_SECONDS, HOUR)
            lines.append(
                f"It did not end within {limit:g} seconds ({STEP_SECONDS}); check whether the DVC remote answers."
            )
        if status:
            message = "\n".join(lines)
            kind = HandoffError if status == REFUSED else TransferError
            raise kind(f"Hand-off failed at '{step}': {message}")
        return json.loads(lines[-1])

    def insist(self, limit: float, problem: str, step: str, directory: Path, remote: str | None, **options: Any) -> Any:
        """Do a step, and if its transfer fails, again for `limit` seconds from then on; return its result.

        Raises HandoffError, and StageError if the run is being stopped.
        """
        end, pause = None, 1.0
        while True:
            try:
                return self.do(step, directory, remote, **options)
            except TransferError as error:
                end = end or time.monotonic() + limit
                if time.monotonic() + pause > end:
                    raise
                self.log(f"Warning: {problem}; next try in {pause:.0f} s. {error}")
            until = time.monotonic() + pause
            while time.monotonic() < until and not self.commands.closed:
                time.sleep(POLL_SECONDS)
            pause = min(2 * pause, LONGEST_PAUSE)


# The caller


def hand_off(run: Run, stage: Stage, log: Log) -> Outcome | None:
    """Run a stage on a worker that has its needs, unless there is a result already; its result is then in DVC's cache.

    Returns how the stage ended there; None if an earlier run, here or elsewhere, had the same inputs. Raises
    HandoffError if it could not be handed off, StageError if its command failed.
    """
    from prefect_dvc.workers import pool  # imports Prefect, which takes 2 s; the steps do not need it

    why_not = pool.obstacle(stage.needs.resources)
    remote = None if run.remote else str(run.cache)  # a clone on the same host can read that
    steps, what = Steps(run.work.commands, log), {"name": stage.name, "look": bool(why_not), "force": run.force}
    sent = steps.insist(TRY_SECONDS, "the inputs are not sent yet", "send", run.directory, remote, **what)
    if sent is None:
        return None
    if why_not:
        raise HandoffError(f"Stage '{stage.name}' was not handed off: {why_not}")
    _refuse_uncommitted(run.directory)
    with _published(run.root, sent["revision"], log) as (code, ref):
        limits: dict[str, Any] = {"resources": dict(stage.needs.resources), "timeout": stage.needs.timeout}
        request = StageRequest(stage=stage.name, ref=ref, code=code, remote=remote, force=run.force, **limits, **sent)
        entry, outcome = pool.run_request(PROTOCOL, asdict(request), log, lambda: run.work.commands.closed)
    limit = seconds(GIVE_SECONDS, HOUR)
    steps.insist(limit, "the result is not here yet", "fetch", run.directory, remote, entry=entry)
    return outcome


def _refuse_uncommitted(directory: Path) -> None:
    """Raise HandoffError if the policy wants committed code, and no branch has the run's commit."""
    if os.environ.get("PREFECT_DVC_UNCOMMITTED", "allow") == "allow":
        return
    options = ["--format=%(refname)", "--contains", "HEAD", "refs/heads", "refs/remotes", "refs/tags"]
    refs = git(directory, "for-each-ref", *options).splitlines()
    if all(ref.startswith(KEPT) for ref in refs):  # a kept run holds its own commit
        raise HandoffError(
            "The workspace has uncommitted changes, and PREFECT_DVC_UNCOMMITTED is not 'allow': commit them, or set it."
        )


@contextmanager
def _published(root: Path, revision: str, log: Log) -> Iterator[tuple[str, str]]:
    """Publish `revision` while the block lasts; yield the git remote and the ref under which a worker can fetch it.

    That is PREFECT_DVC_CODE_REMOTE, a name that both clones have, or the path of the workspace.
    """
    code, ref = os.environ.get("PREFECT_DVC_CODE_REMOTE", ""), f"{REFS}/{uuid.uuid4().hex}"
    put, remove = (
        (["push", "--quiet", END, code, f"{revision}:{ref}"], ["push", "--quiet", END, code, f":{ref}"])
        if code
        else (["update-ref", END, ref, revision], ["update-ref", "-d", END, ref])
    )
    try:
        git(root, *put)
    except WorkspaceError as error:
        raise HandoffError(f"The code could not be published: {error}") from None
    try:
        yield code or str(root.absolute()), ref
    finally:
        try:
            git(root, *remove)
        except WorkspaceError as error:
            log(f"Warning: {ref} could not be deleted: {error}")


# On the worker


def accept(steps: Steps, directory: Path, request: StageRequest, remote: str | None) -> None:
    """Take the inputs of a request into the worktree `directory`, and compare the keys; raises HandoffError."""
    file = directory / REQUEST
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(asdict(request)), encoding="utf-8")  # the system limits an argument to 128 KB
    steps.insist(TRY_SECONDS, "the inputs are not here yet", "take", directory, remote, file=str(file))


def deliver(steps: Steps, directory: Path, request: StageRequest, remote: str | None, limit: float) -> str:
    """Give the result to the remote, again and again for `limit` seconds; return the name of its run-cache entry.

    Raises HandoffError; the result is then still in the worker's run-cache.
    """
    try:
        problem = "the result is not delivered yet"
        return str(steps.insist(limit, problem, "give", directory, remote, name=request.stage))
    except TransferError as error:
        raise HandoffError(
            f"{error}\nIt was tried for {limit:.0f} s ({GIVE_SECONDS}). The result is in the worker's run-cache: the "
            "next request for it only sends it."
        ) from None


# Steps, at the caller (send, fetch) and on the worker (take, give)


@contextmanager
def opened(directory: Path, remote: str | None) -> Iterator[Repo]:
    """Open the repository in `directory`, and make that the working directory, as DVC requires."""
    settings = {"core": {"remote": "handoff"}, "remote": {"handoff": {"url": remote}}} if remote else {}
    with contextlib.chdir(directory), Repo(str(directory), config=settings, _wait_for_lock=True) as repo:
        yield repo


def send(repo: Repo, name: str, *, look: bool, force: bool) -> dict[str, Any] | None:
    """Push the inputs of stage `name` and pin its code; return key, inputs and revision, or None if there is a result.

    `look` only checks for a result, and pushes nothing.
    """
    with dvc_private.locked(repo):
        stage = _load(repo, name)
        if not force and _locked(repo, stage):
            return None
        key = key_of(stage)
        if not force and (_in_run_cache(stage) or (_fetch_any(repo, key) and _in_run_cache(stage))):
            return None
    if look:
        return {}
    if targets := _inputs(repo, stage):
        repo.push(targets=targets)
    root = Path(repo.root_dir)
    return {"key": key, "inputs": parts(stage), "versions": versions(root), "revision": snapshot(root)}


def take(repo: Repo, file: str) -> None:
    """Pull the inputs of a request; raises HandoffError if the worker would do other work than the caller."""
    request = read_request(json.loads(Path(file).read_text(encoding="utf-8")))
    if others := different(request.versions):
        raise HandoffError(
            f"The worker on {socket.gethostname()} has other versions: {'; '.join(others)}."
            " Install those of the caller there (requirements.lock), then start the worker again."
        )
    stage = _load(repo, request.stage)
    if not repo.config["core"].get("remote"):
        names = list(repo.config["remote"])
        add = "" if names else "dvc remote add --local NAME ADDRESS, then "
        raise HandoffError(
            f"The worker's clone on {socket.gethostname()} has no default DVC remote (its remotes: "
            f"{', '.join(names) or 'none'}). There: {add}dvc remote default --local {[*names, 'NAME'][0]}"
        )
    dvc_private.run_cache_remote(repo)  # there is a remote, so the result can be given back
    if targets := _inputs(repo, stage):
        repo.pull(targets=targets)
    key = key_of(stage)
    if key != request.key:
        here = parts(stage)
        unequal = [part for part in sorted({*here, *request.inputs}) if here.get(part) != request.inputs.get(part)]
        raise HandoffError(
            f"The key of stage '{request.stage}' is {key} on the worker and {request.key} at the caller; these differ: "
            f"{', '.join(unequal) or 'none, so the versions of DVC may'}."
        )


def give(repo: Repo, name: str) -> str:
    """Push the outputs of stage `name` and, last, its run-cache entry; return that entry's name, KEY/VALUE."""
    stage = _load(repo, name)
    repo.stage_cache.save(stage)  # already done, unless nothing had to run
    key, value = key_of(stage), dvc_private.run_value(stage)
    for objects in repo.stage_cache.get_used_objs([(key, value)]).values():
        if failed := repo.cloud.push(objects).failed:
            raise TransferError(f"{len(failed)} outputs of stage '{name}' could not be pushed to the DVC remote.")
    remote, entry = dvc_private.run_cache_remote(repo), dvc_private.entry_path(repo, key, value)
    generic.copy(repo.cache.legacy.fs, str(entry), remote.fs, dvc_private.remote_entry(remote, key, value))
    return f"{key}/{value}"


def fetch(repo: Repo, entry: str) -> None:
    """Fetch the run-cache entry KEY/VALUE and the objects that it names from the remote."""
    key, value = entry.split("/")
    remote, target = dvc_private.run_cache_remote(repo), dvc_private.entry_path(repo, key, value)
    source = dvc_private.remote_entry(remote, key, value)
    if not target.exists():
        if not _has(remote, source):
            raise HandoffError(f"The run-cache entry {entry} is not in the DVC remote any more.")
        generic.copy(remote.fs, source, repo.cache.legacy.fs, str(target))
    target.touch()  # DVC uses the newest entry of a key
    for objects in repo.stage_cache.get_used_objs([(key, value)]).values():
        if failed := repo.cloud.pull(objects).failed:
            store = repo.cloud.get_remote_odb(None, "hand-off")
            there = all(_has(remote, store.oid_to_path(each.value)) for each in failed)
            kind = TransferError if there else HandoffError
            raise kind(f"{len(failed)} objects of run-cache entry {entry} could not be fetched from the DVC remote.")


def _has(remote: Any, path: str) -> bool:
    """Return whether the remote has a file. Raises any error of its library if the remote cannot be asked."""
    if remote.fs.protocol in ("http", "https"):
        return bool(remote.fs.fs.exists(path, strict=True))  # otherwise a server that does not answer has nothing
    if remote.fs.exists(path):
        return True
    if not remote.fs.exists(remote.path):  # a disk that is not mounted
        raise FileNotFoundError(f"There is no {remote.path}")
    return False


def _fetch_any(repo: Repo, key: str) -> bool:
    """Fetch an entry for `key` and its objects, if the remote has one; return whether it has."""
    if not dvc_private.fetch_entry(repo, key):
        return False
    folder = dvc_private.entry_path(repo, key, "")
    for entry in folder.iterdir():
        fetch(repo, f"{key}/{entry.name}")
    return True


# DVC


def key_of(stage: DvcStage) -> str:
    """Compute the stage's key in the run-cache from its present inputs."""
    key = dvc_private.run_key(stage)
    if key is None:
        raise HandoffError(
            f"Stage '{stage.addressing}' has no run-cache key, so it can only run here: it needs a command, local "
            "inputs, and outputs inside the repository without `persist`."
        )
    return key


def parts(stage: DvcStage) -> dict[str, str]:
    """List the parts of the key: the command, each input's hash, each parameter; a long one as its hash.

    Prefect takes 512 KB of parameters, and nobody reads more than the names of parts that differ.
    """
    content = dvc_private.key_content(stage)
    inputs = {dep["path"]: str(dep.get("md5")) for dep in content.get("deps", [])}
    params = {f"{file}:{k}": repr(v) for file, values in content.get("params", {}).items() for k, v in values.items()}
    told = {"cmd": str(content["cmd"])} | inputs | params
    long = {name: hashlib.sha256(part.encode()).hexdigest() for name, part in told.items() if len(part) > LONGEST_PART}
    return told | long


def _load(repo: Repo, name: str) -> DvcStage:
    """Load the stage from dvc.yaml, params.yaml and dvc.lock."""
    (stage,) = repo.stage.collect(name)
    return stage


def _inputs(repo: Repo, stage: DvcStage) -> list[str]:
    """List the stage's inputs that DVC tracks; git transfers the others."""
    top = Path(repo.root_dir)
    outputs = [path for path, _ in inside(repo.index.outs, top)]
    return [path for path, dep in inside(stage.deps, top) if dep.def_path and overlaps(path, outputs)]


def _locked(repo: Repo, stage: DvcStage) -> bool:
    """Return whether dvc.lock has the outputs for these inputs, and they are in the cache or can be fetched."""
    if stage.changed(allow_missing=True):
        return False
    if not stage.outs_cached():
        with contextlib.suppress(DownloadError):
            repo.fetch(targets=[stage.addressing])
    return bool(stage.outs_cached())


def _in_run_cache(stage: DvcStage) -> bool:
    """Return whether DVC would take the outputs from an earlier run."""
    found = dvc_private.earlier_result(stage)
    return found is not None and bool(found.outs_cached())


STEPS: dict[str, Callable[..., Any]] = {"send": send, "fetch": fetch, "take": take, "give": give}


def run(step: str, given: str) -> int:
    """Do a step of `Steps.do`; print its result or its error, and return its status."""
    where = json.loads(given)
    with Messages(lambda line: None) as messages:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds(STEP_SECONDS, HOUR))
            with opened(Path(where["directory"]), where["remote"]) as repo:
                print(json.dumps(STEPS[step](repo, **where["options"])))
        except TransferError as error:
            print(error, *map(_here, messages.causes[-1:]))
            return FAILED
        except HandoffError as error:
            print(error)
            return REFUSED
        except Exception as error:  # any error of a remote's library ends here as one line
            print(_here(error), *map(_here, messages.causes[-1:]))
            return REFUSED if isinstance(error, ConfigError) else FAILED  # there is no remote, or it is none
    return 0


def _here(error: BaseException) -> str:
    """Return an error in one line that names this machine, since both sides use remotes."""
    return f"On {socket.gethostname()}: {reasons(error)}"


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
