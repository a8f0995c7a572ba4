"""Flow runs whose worker has died: `make ui` schedules them again, and they go on from the last finished stage.

the flow            holds .dvc/tmp/flow-runs/ID.lock while it works, and removes it when it ends by itself
the worker dies     and its flows soon after: they end as Crashed, or say nothing more; their locks stay, held by nobody
`make ui`           starts the worker again, finds these locks, and gives their flow runs back to it
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

import httpx

from prefect_dvc.execution.commands import Log
from prefect_dvc.system.process import held, hold_one

AT_WORK = Path(".dvc/tmp/flow-runs")
OF_WORKER = "PREFECT__FLOW_RUN_ID"  # Prefect's workers set it for the process of a flow
POLL_SECONDS = 1.0
MOST_RUNS = 3  # of one flow run: its own work may be what ends the worker
_until_exit = ExitStack()  # has the lock of a flow that is stopped: its process still tells the server how it ended


@contextmanager
def at_work(number: str, name: str) -> Iterator[None]:
    """Hold the lock of a flow run of this workspace; one that is stopped or killed leaves it behind."""
    if OF_WORKER in os.environ:
        threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    place, over = AT_WORK / f"{number}.lock", True
    _until_exit.enter_context(held(place, name))
    try:
        yield
    except BaseException as error:
        over = isinstance(error, Exception)
        raise
    finally:
        if over:
            place.unlink()
            _until_exit.close()


def _end_with(worker: int) -> None:
    """End this process soon after its worker: the pipe between them tells it only when it has something to print."""
    while os.getppid() == worker:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


class Orphans:
    """The flow runs of a workspace that have lost their worker; `say` is told of each that is scheduled again."""

    def __init__(self, root: Path, say: Log) -> None:
        self._place, self._say = root / AT_WORK, say
        self._crashed = dict[Path, bool]()  # by lock: whether a run that ended as Crashed is an orphan, too

    def find(self, *, crashed: bool) -> None:
        """Note all runs that are at work, or were stopped: none of them has a worker now."""
        self._crashed |= dict.fromkeys(self._place.glob("*.lock"), crashed)

    def look(self) -> None:
        """Schedule those again whose processes, and those of their stages, have ended."""
        for lock, crashed in list(self._crashed.items()):
            with ExitStack() as stack:
                if hold_one(stack, [lock], "make ui"):
                    continue
                try:
                    if told := schedule_again(UUID(lock.stem), crashed=crashed):
                        self._say(told)
                except httpx.HTTPError:  # the server is being started again, too
                    continue
                lock.unlink()
            del self._crashed[lock]


def schedule_again(number: UUID, *, crashed: bool) -> str | None:
    """Give a flow run whose process has died back to the workers; return a line about it, None if it has ended."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound
    from prefect.states import Crashed, Scheduled

    with get_client(sync_client=True) as client:
        try:
            run = client.read_flow_run(number)
        except ObjectNotFound:
            return None
        over = run.state is None or (run.state.is_final() and not (crashed and run.state.is_crashed()))
        if run.deployment_id is None or over:
            return None
        if run.run_count >= MOST_RUNS:
            state, told = Crashed, f"its process has been killed {run.run_count} times"
        else:
            state, told = Scheduled, "its worker has died; it goes on from the last finished stage"
        client.set_flow_run_state(number, state(message=f"Again: {told}."), force=True)
    return f"Flow run '{run.name}' is {state.__name__.lower()}: {told}."
