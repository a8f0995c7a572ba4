"""The flow that a GPU worker runs, in its own clone: one stage of another clone, as workers/handoff.py sends it.

    prefect-dvc worker     starts a worker; run it in the clone that the worker is to use

The code of the stage is the caller's, fetched for this one run; the code of this flow is the clone's.
"""

import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from dvc.repo import Repo
from prefect import State, flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectAlreadyExists, PrefectException
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from prefect_dvc.execution.commands import Commands, Log
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.execution.stages import Stages
from prefect_dvc.server.deploy import create_pools, require_server
from prefect_dvc.settings.resources import written
from prefect_dvc.system.process import held
from prefect_dvc.workers.capacity import CAPACITY, Capacity, CapacityError, measured, read_capacity, slots_per_card
from prefect_dvc.workers.cards import holding
from prefect_dvc.workers.handoff import GIVE_SECONDS, HOUR, Steps, accept, deliver
from prefect_dvc.workers.pool import BEAT, BEAT_SECONDS, POOL, STAGE_FAILED
from prefect_dvc.workers.request import (
    PROTOCOL,
    HandoffError,
    StageRequest,
    code_remote,
    data_remote,
    read_request,
    seconds,
)
from prefect_dvc.workspace.directory import prune, worktree
from prefect_dvc.workspace.git import END, WorkspaceError, git

REFUSED = "Refused"
HEARTBEAT_SECONDS = 10  # of the worker: after three times as many without one the server calls it offline
LOCKS = Path(".dvc/tmp/handoff")  # one for each key
# `command` of the deployment's job variables. Prefect's own way, a pull step, starts one more process, which takes 3 s.
# The output goes to a file, since a pipe to the worker would break, and end the run, if the worker dies.
COMMAND = (
    """sh -c 'cd "$PREFECT_DVC_CLONE" && mkdir -p .dvc/tmp && """
    """exec "$PREFECT_DVC_PYTHON" -m prefect.engine >> .dvc/tmp/gpu-stage.log 2>&1'"""
)


@flow(name="gpu-stage")
def gpu_stage(protocol: int, request: dict[str, Any]) -> State[None]:
    """Carry out a `StageRequest`; the message of the last state is the name of the run-cache entry."""
    if protocol != PROTOCOL:
        return Failed(
            name=REFUSED,
            message=f"The caller uses version {protocol} of the hand-off, the clone {Path.cwd()} version {PROTOCOL}: "
            "install the same version of prefect-dvc on both sides.",
        )
    try:
        with beating():
            return carry_out(read_request(request), Path.cwd())
    except (HandoffError, WorkspaceError, CapacityError) as error:
        return Failed(name=REFUSED, message=str(error))
    except StageError as error:
        return Failed(name=STAGE_FAILED, message=str(error))
    finally:
        APILogHandler().flush()  # the caller reads the lines once it gets the last state


def carry_out(request: StageRequest, clone: Path) -> State[None]:
    """Run the stage in a worktree of `clone` at the caller's revision, and push its result to the DVC remote."""
    log = get_run_logger().info
    code, remote = code_remote(request, clone), data_remote(request, clone)
    prune(clone)
    try:
        git(clone, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", END, code, request.ref)
    except WorkspaceError as error:
        raise HandoffError(
            f"{error}\nThe worker's clone {clone} cannot read the code from '{code}': set PREFECT_DVC_CODE_REMOTE "
            "at the caller to a git remote that has the same name in both clones."
        ) from None
    limit, capacity = seconds(GIVE_SECONDS, HOUR), read_capacity(os.environ.get(CAPACITY, ""))
    if capacity.lacks(request.resources):
        raise HandoffError(
            f"Stage '{request.stage}' needs {written(request.resources)}, and this worker has {capacity}."
        )
    with ExitStack() as stack:
        # If the caller asks again, the first run of the same work goes on: its result is then in the run-cache.
        stack.enter_context(held(clone / LOCKS / request.key, str(flow_run.name), wait=True))
        directory = stack.enter_context(worktree(clone, f"handoff-{uuid4().hex[:8]}", request.revision))
        stack.enter_context(chdir(directory))
        steps = Steps(Commands(), log)
        accept(steps, directory, request, remote)
        with holding(capacity, request.resources, str(flow_run.name), slots_per_card(), log) as shown:
            outcome = _run(directory, clone, request, shown, log)
        entry = deliver(steps, directory, request, remote, limit)
    return Completed(name=str(outcome), message=entry)


def _run(directory: Path, clone: Path, request: StageRequest, environment: Mapping[str, str], log: Log) -> Outcome:
    """Bring the stage up to date in the run's directory."""
    with Repo(str(directory), _wait_for_lock=True) as repo:
        work = Stages(repo, repo.stage.collect(request.stage), clone, pulls=False, warn=log)
        try:
            options: dict[str, Any] = {"force": request.force, "timeout": request.timeout, "environment": environment}
            return work.bring_up_to_date(request.stage, log, **options)
        finally:
            work.close()


@contextmanager
def beating() -> Iterator[None]:
    """Change a label of this flow run every few seconds, so that the caller knows that its process lives."""
    over, number = threading.Event(), UUID(str(flow_run.id))

    def beat() -> None:
        count = 0
        with get_client(sync_client=True) as client:
            while not over.is_set():
                with suppress(httpx.HTTPError, PrefectException):  # the server may be away for a while
                    client.update_flow_run_labels(number, {BEAT: count})
                count += 1
                over.wait(BEAT_SECONDS)

    thread = threading.Thread(target=beat, name="beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def queue_of(clone: Path) -> str:
    """Return the name of the queue of a clone's worker: of the host, the folder, and a hash of its path."""
    return f"{socket.gethostname()}-{clone.name}-{sha256(bytes(clone.absolute())).hexdigest()[:6]}"


def announce_capacity(clone: Path, capacity: Capacity) -> str:
    """Make or update the queue of this clone's worker, so that the caller knows its capacity; return its name."""
    create_pools()
    queue = queue_of(clone)
    with get_client(sync_client=True) as client:
        with suppress(ObjectAlreadyExists):
            client.create_work_queue(queue, work_pool_name=POOL)
        client.update_work_queue(client.read_work_queue_by_name(queue, POOL).id, description=str(capacity))
    return queue


def main() -> None:
    """Become a worker of the pool, in this clone and with this Python."""
    clone = Path.cwd()
    require_server()
    capacity, per_card = measured(), slots_per_card()
    queue = announce_capacity(clone, capacity)
    print(f"{queue} has {capacity}.", flush=True)
    os.environ |= {"PREFECT_DVC_CLONE": str(clone), "PREFECT_DVC_PYTHON": sys.executable, CAPACITY: str(capacity)}
    os.environ.setdefault("PREFECT_WORKER_QUERY_SECONDS", "1")
    os.environ.setdefault("PREFECT_WORKER_HEARTBEAT_SECONDS", str(HEARTBEAT_SECONDS))
    options = ["--pool", POOL, "--type", "process", "--name", f"{queue}-{os.getpid()}", "--work-queue", queue]
    options += ["--limit", str(capacity.slots(per_card))]
    worker = [sys.executable, "-P", "-m", "prefect", "worker", "start", *options]
    os.execv(worker[0], [*worker, *sys.argv[1:]])
