"""`make ui`: Prefect's server with its page, the deployments of prefect.yaml, and two workers, on this machine alone.

    server      127.0.0.1:4200, SQLite in .prefect, closed to everyone without the key in .prefect/key
    worker      pool `dvc`: pipeline and retraining, in this clone
    worker      pool `gpu`: handed-off stages, in a second clone, .prefect/gpu-clone

With the second clone, GPU stages are handed off on one machine just as between several, if it has a card.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import httpx

from prefect_dvc.server.database import RETRIES, URL, Database, DatabaseError, postgresql
from prefect_dvc.server.deploy import RUNS_POOL, DeployError, deploy
from prefect_dvc.server.serve import HOME, HOST, KEY, PORT, KeyFileError, link, origin_of, read_key
from prefect_dvc.system.process import end_group, supervised
from prefect_dvc.workspace.git import END, git

CLONE = HOME / "gpu-clone"
START_SECONDS = 120.0
HEARTBEAT_SECONDS = 30
WATCH = "Crash runs without a heartbeat"


def settings(root: Path, port: int, key: str) -> dict[str, str]:
    """Return the environment of all processes started here: loopback, the key, no analytics, all files in .prefect."""
    return {
        "PREFECT_HOME": str(root / HOME),
        "PREFECT_API_URL": f"{origin_of(port)}/api",
        "PREFECT_API_AUTH_STRING": key,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_CLI_PROMPT": "false",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
    } | RETRIES


@contextmanager
def started(command: list[str], clone: Path, log: Path) -> Iterator[None]:
    """Start a process that ends with the block, or when this one is killed; its output goes to the file `log`."""
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            supervised(command),
            cwd=clone,
            env=os.environ | {"PREFECT_DVC_CLONE": str(clone)},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield
    finally:
        end_group(process)


def wait_for_server(log: Path) -> None:
    url = os.environ["PREFECT_API_URL"]
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/health", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.3)
    sys.exit(f"ui: the server does not answer at {url} after {START_SECONDS:.0f} s; its log is {log}.")


def refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        if probe.connect_ex((HOST, port)) == 0:
            sys.exit(
                f"ui: {HOST}:{port} is already in use; stop the program there, or use another port: make ui PORT=4201"
            )


def second_clone(root: Path) -> Path:
    """Make or update the GPU worker's clone at the workspace's last commit; they share only git's objects."""
    clone = root / CLONE
    if not clone.exists():
        git(root, "clone", "--quiet", "--no-checkout", END, str(root), str(clone))
    git(clone, "fetch", "--quiet", "origin")
    git(clone, "switch", "--quiet", "--force", "--detach", END, git(root, "rev-parse", "--verify", "HEAD"))
    return clone


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m prefect_dvc.server.ui", description="Start Prefect's server, page and workers."
    )
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--database", choices=list(Database), default=Database.SQLITE, help="the database of the runs")
    options, root = parser.parse_args(), Path.cwd()
    refuse_taken(options.port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    try:
        _run(root, options.port, options.database)
    except (KeyFileError, DatabaseError, DeployError) as error:
        sys.exit(f"ui: {error}")


def _run(root: Path, port: int, database: Database) -> None:
    """Start everything, and wait for Ctrl-C. Raises KeyFileError, DatabaseError or DeployError."""
    key = read_key(root / HOME)
    os.environ.update(settings(root, port, key))
    with ExitStack() as processes, suppress(KeyboardInterrupt):

        def start(name: str, command: list[str], clone: Path = root) -> Path:
            log = root / HOME / f"{name}.log"
            processes.enter_context(started(command, clone, log))
            return log

        if database == Database.POSTGRESQL:
            place = postgresql(root / HOME / "postgresql", root / HOME / "postgresql.log")
            os.environ[URL] = processes.enter_context(place)
        wait_for_server(
            start("server", [sys.executable, "-P", "-m", "prefect_dvc.server.serve", "--no-link", "--port", str(port)])
        )
        watch_heartbeats()
        deploy()
        start("runs", [sys.executable, "-P", "-m", "prefect", "worker", "start", "--pool", RUNS_POOL])
        start("gpu", [sys.executable, "-P", "-m", "prefect_dvc.gpu_stage"], second_clone(root))
        print(
            f"Prefect is at {link(origin_of(port), key)} for you alone: the link has the key, which is kept in "
            f"{HOME / KEY}. The logs are in {HOME}. Ctrl-C stops it.",
            flush=True,
        )
        signal.pause()


def watch_heartbeats() -> None:
    """Create an automation that marks a run Crashed after three missing heartbeats: nothing else would."""
    from prefect.automations import Automation
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import EventTrigger, Posture

    with get_client(sync_client=True) as client:
        if client.read_automations_by_name(WATCH):
            return
    heartbeat = "prefect.flow-run.heartbeat"
    ends = {f"prefect.flow-run.{state}" for state in ("Completed", "Cached", "Failed", "Cancelled", "Crashed")}
    silence = EventTrigger(
        after={heartbeat},
        expect={heartbeat, *ends},
        match={"prefect.resource.id": ["prefect.flow-run.*"]},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=3 * HEARTBEAT_SECONDS),
    )
    crash = ChangeFlowRunState(state=StateType.CRASHED, message="No heartbeat: its process or its machine is gone.")
    Automation(name=WATCH, trigger=silence, actions=[crash]).create()


if __name__ == "__main__":
    main()
