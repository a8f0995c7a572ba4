"""The `gpu` work pool, from the caller: find a worker with the resources of a stage, and follow a flow run to its end.

Each worker takes runs from its own queue, whose description is its capacity. So the caller chooses the worker of a run.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, LogFilter
from prefect.client.schemas.objects import FlowRun, State, StateType, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelled, Cancelling, Crashed
from prefect.types import DateTime

from prefect_dvc.execution.commands import Log
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.settings.resources import Resources, written
from prefect_dvc.workers.capacity import Capacity, CapacityError, read_capacity
from prefect_dvc.workers.request import HandoffError, seconds

POOL = "gpu"
DEPLOYMENT = "gpu-stage/gpu-stage"
STAGE_FAILED = "StageFailed"  # name of the state if the stage's command failed, not the hand-off
BEAT = "prefect-dvc.beat"  # label of a flow run that changes while its process lives
BEAT_SECONDS = 5.0
ASKED_AGAIN = 3  # times
POLL_SECONDS = 0.5
QUICK_POLL, SLOW_POLL = 0.2, 2.0  # seconds between two questions about a run that has just begun, and about a long one
PATIENCE = 20  # a question waits for this part of the time that has passed, so it adds 5 % at most
OVERLAP = timedelta(seconds=5)  # log lines may arrive late
PAGE = 200
UNFINISHED = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING]
NO_CAPACITY = "does not name its resources, so it was not started by `prefect-dvc worker`"


@dataclass(frozen=True)
class Limits:
    """Seconds after which the caller no longer waits."""

    # Without a sign of life: on a busy machine a run takes a minute to start
    silence: float = field(default_factory=partial(seconds, "PREFECT_DVC_SILENCE_SECONDS", 120))
    server: float = field(default_factory=partial(seconds, "PREFECT_DVC_SERVER_SECONDS", 180))  # without an answer
    total: float = 24 * 3600
    # Without any online worker, after the one with the stage fell silent
    absence: float = field(default_factory=partial(seconds, "PREFECT_DVC_ABSENCE_SECONDS", 600))


LIMITS = Limits()


class GoneError(HandoffError):
    """The worker went offline before it had begun, and another one has what the stage needs."""


class LostError(HandoffError):
    """Contact with the worker was lost; it may still be running the stage, or have the result."""


def is_back(wanted: Resources, stopped: Callable[[], bool]) -> bool:
    """Wait until a worker that has `wanted` is online; return whether one is, within `Limits.absence`."""
    end = time.monotonic() + LIMITS.absence
    while time.monotonic() < end and not stopped():
        if obstacle(wanted) is None:
            return True
        time.sleep(POLL_SECONDS)
    return False


@dataclass(frozen=True)
class Place:
    """A worker that is online, by its queue."""

    queue: str
    heartbeat: str
    capacity: Capacity | None  # None if it does not name its resources


def obstacle(wanted: Resources) -> str | None:
    """Say why no stage that needs `wanted` can be handed off now; None if it can."""
    url = PREFECT_API_URL.value()
    if not url:
        return "no Prefect server is set; set PREFECT_API_URL, or start a server with `make ui`."
    try:
        with get_client(sync_client=True) as client:
            places = _places(client)
    except ObjectNotFound:
        return f"the server lacks the work pool '{POOL}'; `make ui` makes it."
    except (httpx.HTTPError, PrefectException) as error:
        return f"the Prefect server {url} does not answer: {error}"
    if not places:
        return f"no worker is online in work pool '{POOL}'; start one with `prefect-dvc worker`."
    if any(place.capacity and not place.capacity.lacks(wanted) for place in places):
        return None
    capacities = "; ".join(f"{place.queue} ({place.capacity or NO_CAPACITY})" for place in places)
    return f"no online worker has {written(wanted)}; the workers are {capacities}. Start another: `prefect-dvc worker`."


def _places(client: SyncPrefectClient) -> list[Place]:
    """List the online workers, each with its capacity; a worker's name is that of its queue and a process id."""
    told = {queue.name: queue.description for queue in client.read_work_queues(POOL, limit=PAGE)}
    workers = client.read_workers_for_work_pool(POOL, limit=PAGE, offset=0)
    online = [worker for worker in workers if worker.status is WorkerStatus.ONLINE]
    queues = [(worker.name.rpartition("-")[0], str(worker.last_heartbeat_time)) for worker in online]
    return [Place(queue, heartbeat, _capacity(told.get(queue))) for queue, heartbeat in queues]


def _capacity(text: str | None) -> Capacity | None:
    with suppress(CapacityError):
        return read_capacity(text) if text else None
    return None


def _choose(client: SyncPrefectClient, wanted: Resources) -> str:
    """Return the queue of a worker that has `wanted`: the one with the least to do. Raises HandoffError."""
    able = {place.queue for place in _places(client) if place.capacity and not place.capacity.lacks(wanted)}
    if not able:
        raise HandoffError(obstacle(wanted) or "the only suitable worker has just gone offline.")
    queues = {"any_": sorted(able)}
    unfinished = FlowRunFilter.model_validate({"state": {"type": {"any_": UNFINISHED}}, "work_queue_name": queues})
    load = Counter(run.work_queue_name for run in client.read_flow_runs(flow_run_filter=unfinished, limit=PAGE))
    return min(able, key=lambda queue: (load[queue], queue))


def run_request(protocol: int, request: dict[str, Any], log: Log, stopped: Callable[[], bool]) -> tuple[str, Outcome]:
    """Let a worker carry out `request`; return its run-cache entry KEY/VALUE and the outcome of the stage there.

    If contact was lost and a worker is back, it is asked again, unless the request is forced. Raises StageError if the
    command failed, otherwise HandoffError.
    """
    again = 0 if request["force"] else ASKED_AGAIN
    while True:
        try:
            return _run_once(protocol, request, log, stopped)
        except GoneError as gone:
            log(f"{gone} Another worker takes it.")
        except LostError as lost:
            if not again or not is_back(request["resources"], stopped):
                raise
            again -= 1
            log(f"Warning: {lost}\nA worker is online again and is asked for the result of stage '{request['stage']}'.")


def _run_once(protocol: int, request: dict[str, Any], log: Log, stopped: Callable[[], bool]) -> tuple[str, Outcome]:
    """Do the same once; raises GoneError, too."""
    try:
        with get_client(sync_client=True) as client:
            queue = _choose(client, request["resources"])
            log(f"{request['stage']} goes to the worker {queue}.")
            run = run_deployment(
                DEPLOYMENT,
                parameters={"protocol": protocol, "request": request},
                flow_run_name=request["stage"],
                work_queue_name=queue,
                timeout=0,
            )
            assert isinstance(run, FlowRun)  # it would be a coroutine in an async caller
            errand = Errand(client, run.id, log, LIMITS, queue, request["resources"])
            state = errand.wait(stopped)
    except (httpx.HTTPError, PrefectException) as error:
        raise HandoffError(f"Stage '{request['stage']}' was not handed off: {type(error).__name__}: {error}") from error
    told = (state.message or "no message").strip()
    if state.is_completed():
        return told, Outcome(str(state.name))
    if state.name == STAGE_FAILED:
        raise StageError(told)
    kind = LostError if errand.lost and state.is_crashed() else HandoffError
    raise kind(f"The hand-off of stage '{request['stage']}' ended as {state.name}: {told}")


@dataclass
class Errand:
    """A flow run on a worker, watched from the caller."""

    client: SyncPrefectClient
    id: UUID
    log: Log
    limits: Limits
    queue: str  # of the worker
    wanted: Resources = field(default_factory=dict)  # what the stage needs
    lost: bool = False  # whether it was silent for too long
    _told: set[UUID] = field(default_factory=set)
    _last: DateTime | None = None

    def wait(self, stopped: Callable[[], bool]) -> State[Any]:
        """Wait for the last state of the run and return it; set one from here if need be. Its log lines go to `log`."""
        try:
            return self._wait(stopped)
        except BaseException:
            with suppress(httpx.HTTPError, PrefectException):  # the first error counts
                self._end(Cancelling(message="The caller no longer waits for it."))
            raise

    def _wait(self, stopped: Callable[[], bool]) -> State[Any]:
        started = answered = heard = time.monotonic()
        last: object = None
        while not stopped():
            now = time.monotonic()
            try:
                run = self.client.read_flow_run(self.id)
                self._tell()
                sign = self._sign(run)
            except (httpx.HTTPError, PrefectException) as error:
                if now - answered > self.limits.server:
                    raise HandoffError(f"The Prefect server was silent for {now - answered:.0f} s: {error}") from error
                heard = now  # a server that is away brings no signs of life
                time.sleep(POLL_SECONDS)
                continue
            answered = now
            if run.state is not None and run.state.is_final():
                return run.state
            if sign != last:
                last, heard = sign, now
            if now - heard > self.limits.silence:
                self.lost = True
                return self._end(Crashed(message=f"No sign of life from the worker for {now - heard:.0f} s."))
            if now - started > self.limits.total:
                raise HandoffError(f"It did not end within {self.limits.total:.0f} s.")
            time.sleep(min(SLOW_POLL, max(QUICK_POLL, (now - started) / PATIENCE)))
        raise StageError("The run is being stopped.")

    def _sign(self, run: FlowRun) -> object:
        """Return a value that changes as long as the run is alive: of its worker, or of the run's own process."""
        if run.state is None or run.state.is_scheduled():
            places = _places(self.client)
            signs = [place.heartbeat for place in places if place.queue == self.queue]
            if not signs and any(place.capacity and not place.capacity.lacks(self.wanted) for place in places):
                self.client.set_flow_run_state(self.id, Cancelled(message="Its worker went offline."))
                raise GoneError(f"The worker {self.queue} went offline before it had begun.")
            return signs
        return run.state.type, run.labels.get(BEAT)

    def _tell(self) -> None:
        """Pass on the lines that the run has logged since the last call."""
        since = {"after_": self._last - OVERLAP} if self._last else None
        lines = LogFilter.model_validate({"flow_run_id": {"any_": [self.id]}, "timestamp": since})
        offset = 0
        while page := self.client.read_logs(lines, limit=PAGE, offset=offset):
            for line in page:
                if line.id not in self._told and line.name == "prefect.flow_runs":
                    self.log(f"gpu | {line.message}")
                self._told.add(line.id)
                self._last = line.timestamp
            offset += len(page)

    def _end(self, state: State[Any]) -> State[Any]:
        """Set the run to `state`, unless it has ended meanwhile, which the server checks; return its state."""
        self.client.set_flow_run_state(self.id, state)
        return self.client.read_flow_run(self.id).state or state
