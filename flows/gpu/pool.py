"""The `gpu` work pool, seen from home: find out whether a worker is online, and follow a flow run to its end."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId, LogFilterTimestamp
from prefect.client.schemas.objects import FlowRun, State, WorkerStatus
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelling, Crashed
from prefect.types import DateTime

from flows.execution.reproduce import Outcome, StageError
from flows.gpu.order import HandoffError

POOL = "gpu"
DEPLOYMENT = "gpu-stage/gpu-stage"
STAGE_FAILED = "StageFailed"  # name of the state if the stage's command failed, not the hand-off
BEAT = "distillery.beat"  # label of a flow run that changes while its process lives
BEAT_SECONDS = 5.0
POLL_SECONDS = 0.5
OVERLAP = timedelta(seconds=5)  # log lines may arrive late
PAGE = 200

Log = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """Seconds after which home no longer waits."""

    silence: float = 120  # without a sign of life; on a busy machine a run takes a minute to start
    server: float = 180  # without an answer from the server
    total: float = 24 * 3600
    absence: float = 600  # without any online worker, after the one with the stage fell silent


LIMITS = Limits()


class LostError(HandoffError):
    """Contact with the worker was lost; it may still be at work, or have the result."""


def is_back(stopped: Callable[[], bool]) -> bool:
    """Wait until a worker is online; return whether one is, within `Limits.absence`."""
    end = time.monotonic() + LIMITS.absence
    while time.monotonic() < end and not stopped():
        if obstacle() is None:
            return True
        time.sleep(POLL_SECONDS)
    return False


def obstacle() -> str | None:
    """Say why no stage can be handed off now; None if it can."""
    url = PREFECT_API_URL.value()
    if not url:
        return "there is no Prefect server; set PREFECT_API_URL, or start one with `make ui`."
    try:
        with get_client(sync_client=True) as client:
            if _heartbeats(client):
                return None
    except ObjectNotFound:
        return f"the server has no work pool '{POOL}'; `make ui` makes it."
    except (httpx.HTTPError, PrefectException) as error:
        return f"the Prefect server {url} does not answer: {error}"
    return f"no worker is online in work pool '{POOL}'; start one with `python -m flows.gpu_stage`."


def _heartbeats(client: SyncPrefectClient) -> list[str]:
    """List the time of the last heartbeat of each online worker."""
    workers = client.read_workers_for_work_pool(POOL, limit=PAGE, offset=0)
    return [str(worker.last_heartbeat_time) for worker in workers if worker.status is WorkerStatus.ONLINE]


def run_order(protocol: int, order: dict[str, Any], log: Log, stopped: Callable[[], bool]) -> tuple[str, Outcome]:
    """Let a worker carry out `order`; return its run-cache entry KEY/VALUE and the outcome of the stage there.

    Raises StageError if the stage's command failed, LostError if the worker fell silent, HandoffError otherwise.
    """
    try:
        run = run_deployment(
            DEPLOYMENT,
            parameters={"protocol": protocol, "order": order},
            flow_run_name=order["stage"],
            timeout=0,
        )
        assert isinstance(run, FlowRun)  # it would be a coroutine in an async caller
        with get_client(sync_client=True) as client:
            errand = Errand(client, run.id, log, LIMITS)
            state = errand.wait(stopped)
    except (httpx.HTTPError, PrefectException) as error:
        raise HandoffError(f"Stage '{order['stage']}' was not handed off: {type(error).__name__}: {error}") from error
    told = (state.message or "no message").strip()
    if state.is_completed():
        return told, Outcome(str(state.name))
    if state.name == STAGE_FAILED:
        raise StageError(told)
    kind = LostError if errand.lost and state.is_crashed() else HandoffError
    raise kind(f"The hand-off of stage '{order['stage']}' ended as {state.name}: {told}")


@dataclass
class Errand:
    """A flow run on a worker, watched from home."""

    client: SyncPrefectClient
    id: UUID
    log: Log
    limits: Limits
    lost: bool = False  # whether it was silent for too long
    _told: set[UUID] = field(default_factory=set)
    _last: DateTime | None = None

    def wait(self, stopped: Callable[[], bool]) -> State[Any]:
        """Wait for the last state of the run and return it; set one from here if need be. Its log lines go to `log`."""
        try:
            return self._wait(stopped)
        except BaseException:
            with suppress(httpx.HTTPError, PrefectException):  # the first error counts
                self._end(Cancelling(message="Home no longer waits for it."))
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
            time.sleep(POLL_SECONDS)
        raise StageError("The run is being stopped.")

    def _sign(self, run: FlowRun) -> object:
        """Return a value that changes as long as the run is alive: of its worker, or of the run's own process."""
        if run.state is None or run.state.is_scheduled():
            return _heartbeats(self.client)
        return run.state.type, run.labels.get(BEAT)

    def _tell(self) -> None:
        """Pass on the lines that the run has logged since the last call."""
        since = LogFilterTimestamp(after_=self._last - OVERLAP) if self._last else None
        lines = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[self.id]), timestamp=since)
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
