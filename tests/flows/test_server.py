"""Requirements on Prefect's server: survive restarts, and keep schedules."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.schedules import CronSchedule

from flows.gpu_stage import gpu_stage
from tests.waiting import LIMIT, wait_until

from .conftest import command, set_param
from .handoff_server import Server
from .test_pipeline import started


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "prefect"
    home.mkdir()
    server = Server(home)
    server.start()
    yield server
    server.stop()


def test_the_server_restarts_in_mid_run(server: Server, chain: Path, tmp_path: Path) -> None:
    """The run goes on without the server, and the server has the complete state once it is back."""
    back = tmp_path / "back"
    set_param(chain, "a", until=str(back))
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command(), cwd=chain, env=os.environ | server.environment, stdout=file, stderr=file)
    wait_until(started(log), "stage a is at work", process)
    server.stop()
    server.start()
    back.touch()
    assert process.wait(LIMIT) == 0, log.read_text(encoding="utf-8")
    with server.client() as client:
        (run,) = client.read_flow_runs()
        states = {task.name: task.state_name for task in client.read_task_runs()}
    assert run.state_name == "Completed"
    assert states == dict.fromkeys("abcd", "Ran")


def test_a_schedule_makes_runs(server: Server) -> None:
    """Prefect with another SQLAlchemy than the pinned one starts, and schedules nothing."""
    with server.client() as client:
        client.create_deployment(
            flow_id=client.create_flow(gpu_stage),
            name="every-monday",
            schedules=[DeploymentScheduleCreate(schedule=CronSchedule(cron="0 3 * * 1", timezone="Europe/Berlin"))],
        )
        runs = wait_until(client.read_flow_runs, "runs are scheduled")
    assert {run.state_name for run in runs} == {"Scheduled"}
