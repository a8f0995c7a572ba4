"""A run of the pipeline and its Prefect server: what is left of the run when the server goes away."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import set_param
from .handoff_server import Server, wait_until
from .test_pipeline import command, started


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "prefect"
    home.mkdir()
    server = Server(home)
    server.start()
    yield server
    server.stop()


def test_the_server_restarts_in_mid_run(server: Server, chain: Path, tmp_path: Path) -> None:
    """The run goes on without the server, and the server has the whole truth once it is back."""
    set_param(chain, "a", seconds=15)
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command(), cwd=chain, env=os.environ | server.environment, stdout=file, stderr=file)
    wait_until(started(log), "stage a is at work")
    server.stop()
    server.start()
    assert process.wait(120) == 0, log.read_text(encoding="utf-8")
    with server.client() as client:
        (run,) = client.read_flow_runs()
        states = {task.name: task.state_name for task in client.read_task_runs()}
    assert run.state_name == "Completed"
    assert states == dict.fromkeys("abcd", "Ran")
