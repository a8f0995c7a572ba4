"""The worker's standby: a run that it forks ends as a process of its own would, and it forks no old code."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from prefect_dvc.system.process import bound
from prefect_dvc.workers.engine import STANDBY
from prefect_dvc.workers.standby import Standby, changed_since, stamps_of_loaded
from tests.sockets import free_port
from tests.waiting import LIMIT, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has abstract sockets")


@pytest.fixture(scope="module")
def standby() -> Iterator[tuple[str, int]]:
    """The name of a standby, and its process; it takes requests while it loads."""
    name = f"test-{uuid4().hex}"
    process = subprocess.Popen(bound([sys.executable, "-m", "prefect_dvc.workers.standby", name]))

    def listens() -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe, suppress(OSError):
            probe.connect(f"\0{name}")
            return True
        return False

    try:
        wait_until(listens, "the standby listens", process)
        yield name, process.pid
    finally:
        process.kill()
        process.wait()


def engine(name: str, place: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start what a worker starts for a flow run."""
    settings = {STANDBY: name, "PREFECT_HOME": str(place), "DO_NOT_TRACK": "1"} | environment
    with (place / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "prefect_dvc.workers.engine"], env=os.environ | settings, stdout=log, stderr=log
        )


def forks(of: int) -> list[str]:
    """The names of the processes below a standby."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == of:
                found.append((entry / "comm").read_text().strip())
    return found


def test_the_status_and_the_output_are_those_of_the_run(standby: tuple[str, int], tmp_path: Path) -> None:
    run = engine(standby[0], tmp_path, PREFECT__FLOW_RUN_ID="no id")
    assert run.wait(LIMIT) == 1
    assert "Invalid flow run id" in (tmp_path / "log").read_text(encoding="utf-8")
    wait_until(lambda: forks(standby[1]) == [], "the run and its host have ended")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_run(number: signal.Signals, standby: tuple[str, int], tmp_path: Path) -> None:
    """Its server never answers, so it would wait for ever."""
    with socket.create_server(("127.0.0.1", free_port())) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/api"
        run = engine(standby[0], tmp_path, PREFECT__FLOW_RUN_ID=str(uuid4()), PREFECT_API_URL=address)
        connection, _ = silent.accept()
        with connection:
            assert "gpu-stage" in forks(standby[1])
            run.send_signal(number)
            assert run.wait(LIMIT) in (-number, 128 + number, 1)
        wait_until(lambda: forks(standby[1]) == [], "the run and its host have ended")


def test_changed_code_is_not_forked(tmp_path: Path) -> None:
    """A clone may be brought to another revision under a running worker: the run then loads the code itself."""
    name, module = f"test-{uuid4().hex}", tmp_path / "module.py"
    module.touch()
    stamps = stamps_of_loaded()
    assert any(file.endswith("prefect_dvc/workers/standby.py") for file in stamps)
    assert changed_since(stamps) is None
    assert changed_since({str(tmp_path / "gone.py"): 0}) == str(tmp_path / "gone.py")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        run = engine(name, tmp_path, PREFECT__FLOW_RUN_ID="no id")
        connection, _ = listener.accept()
        with connection:
            assert Standby(listener, {str(module): module.stat().st_mtime_ns - 1})._answer(connection) is None
    assert run.wait(LIMIT) == 1
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert log.startswith(f"{module} has changed since the worker started, so its standby forks no more.")
    assert "Invalid flow run id" in log


def test_without_a_standby(tmp_path: Path) -> None:
    """It may have ended: the run loads everything itself."""
    environment = {STANDBY: f"test-{uuid4().hex}", "PREFECT__FLOW_RUN_ID": "no id", "PREFECT_HOME": str(tmp_path)}
    command, settings = [sys.executable, "-m", "prefect_dvc.workers.engine"], os.environ | environment
    run = subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert run.returncode == 1
    assert "Invalid flow run id" in run.stdout + run.stderr
