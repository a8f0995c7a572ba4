"""`make ui` without a browser: what it does when one of its processes dies, and what stops it from starting."""

import signal
import socket
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import UUID

import httpx
import psutil
import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun

from prefect_dvc.errors import Refusal
from prefect_dvc.server.children import LOG_BYTES, Child, Children
from prefect_dvc.server.orphans import AT_WORK
from prefect_dvc.server.serve import HOST, _make_key, _origin, origin_of, read_key
from tests.sockets import free_port
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until

from .conftest import cli, set_param

UI = [sys.executable, "-m", "prefect_dvc.cli", "ui", "--port"]


@contextmanager
def ui(root: Path, port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as file:
        process = subprocess.Popen([*UI, str(port)], cwd=root, stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: "Prefect is at" in log.read_text(encoding="utf-8"), "it is up", process, SERVER_PAUSE)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT)


def command_of(process: subprocess.Popen[bytes], word: str) -> psutil.Process:
    """The process below `make ui` whose command line has the word, not its supervisor."""
    for each in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            line = " ".join(each.cmdline())
            if word in line and "supervisor.py" not in line:
                return each
    raise AssertionError(f"{word} does not run")


@pytest.mark.endurance
def test_a_server_and_a_worker_that_die(chain: Path, tmp_path: Path) -> None:
    """Each is started again with a line; the log keeps what the dead one has written. The worker's run goes on."""
    port, log, released = free_port(), tmp_path / "ui.log", tmp_path / "released"
    set_param(chain, "b", until=str(released))
    user, _, secret = read_key(chain / ".prefect").partition(":")

    def answers() -> bool:
        try:
            url = f"{origin_of(port)}/api/work_pools/dvc"
            return httpx.get(url, auth=(user, secret), timeout=2).is_success
        except httpx.HTTPError:
            return False

    def client() -> SyncPrefectClient:
        return SyncPrefectClient(f"{origin_of(port)}/api", auth_string=f"{user}:{secret}")

    def stages_at_work(number: UUID) -> set[str]:
        with client() as asked:
            tasks = asked.read_task_runs()
            return {task.name for task in tasks if task.flow_run_id == number and task.start_time}

    def end_of(number: UUID) -> FlowRun | None:
        with client() as asked:
            run = asked.read_flow_run(number)
            return run if run.state and run.state.is_final() and run.run_count == 2 else None

    def die(word: str, name: str) -> None:
        command_of(process, word).send_signal(signal.SIGKILL)
        line = f"{name} has ended with status -9; its log is {chain}/.prefect/{name}.log. It is started again."
        wait_until(lambda: line in log.read_text(encoding="utf-8"), line, process)
        kept = chain / f".prefect/{name}.log"
        wait_until(lambda: kept.read_text(encoding="utf-8").count(f"--- {name} starts") == 2, line, process)

    with ui(chain, port, log) as process:
        with client() as asked:
            deployment = asked.read_deployment_by_name("pipeline/pipeline").id
            number = asked.create_flow_run_from_deployment(deployment, parameters={"target": "b"}).id
        wait_until(lambda: "b" in stages_at_work(number), "b is at work", process, SERVER_PAUSE)
        # Then the flow prints nothing more, so no pipe breaks that would end it
        runs = chain / ".prefect/runs.log"
        wait_until(lambda: "b: at work" in runs.read_text(encoding="utf-8"), "b has said so", process, SERVER_PAUSE)
        die("worker start --pool dvc", "runs")
        again = "is scheduled: its worker has died"  # once the first run of b has ended, too
        wait_until(lambda: again in log.read_text(encoding="utf-8"), again, process, SERVER_PAUSE)
        released.touch()
        run = wait_until(lambda: end_of(number), "the run has ended", process, SERVER_PAUSE)
        assert run is not None
        assert (run.state_name, run.run_count) == ("Completed", 2)
        assert run.state and run.state.message == "Restored: a; Ran: b"
        told = f"Flow run '{run.name}' is scheduled: its worker has died; it goes on from the last finished stage."
        assert told in log.read_text(encoding="utf-8")
        assert not list((chain / AT_WORK).iterdir())
        die("prefect_dvc.cli serve", "server")
        wait_until(answers, "the server answers again", process, SERVER_PAUSE)


def test_a_process_that_dies_again_and_again(tmp_path: Path) -> None:
    """It ends everything with the reason, unless nothing needs it; the others end with it."""
    said: list[str] = []
    children = Children(tmp_path)
    with closing(children):
        children.start("beside", [sys.executable, "-c", "import sys; sys.exit(4)"], tmp_path, needed=False)
        children.start("needed", [sys.executable, "-c", "print('why', flush=True); raise SystemExit(3)"], tmp_path)
        with pytest.raises(Refusal, match=r"needed has ended with status 3; its log is .* It was started 3 times"):
            children.watch(said.append)
    assert (tmp_path / "needed.log").read_text(encoding="utf-8").count("why") == 4
    assert "beside has ended with status 4" in " ".join(said)


def test_a_log_is_rotated(tmp_path: Path) -> None:
    """The process goes on writing into the emptied file."""
    program = "import sys; [print(line.strip(), flush=True) for line in sys.stdin]"
    child = Child("talker", [sys.executable, "-c", program], tmp_path, tmp_path / "talker.log")
    child.log.write_bytes(b"x" * (LOG_BYTES + 1))
    child.rotate()
    assert (child.log.stat().st_size, (tmp_path / "talker.log.1").stat().st_size) == (0, LOG_BYTES + 1)


@pytest.mark.parametrize("name", ["serve", "ui"])
def test_a_port_in_use(chain: Path, name: str) -> None:
    """regression: `serve` printed the link with the key before it failed with a traceback."""
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        done = cli(chain, name, "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{HOST}:{port} is already in use; stop the program there, or take another port: --port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text", ["https://a.example/", "HTTPS://a.example", "ftp://a.example", "https://", "a.example"]
)
def test_what_is_no_origin(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not an origin; write it as in https:"):
        _origin(text)
    assert _origin("https://a.example:8443") == "https://a.example:8443"


def test_of_two_servers_that_start_at_once_the_first_ones_key_stays(tmp_path: Path) -> None:
    first = read_key(tmp_path)
    (key,) = set(tmp_path.iterdir()) - {tmp_path / ".gitignore"}
    _make_key(key)
    assert read_key(tmp_path) == first
    assert {*tmp_path.iterdir()} == {key, tmp_path / ".gitignore"}
