"""Ten runs at once on SQLite, and some on PostgreSQL: all complete, and few work at the same time."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun

from prefect_dvc.errors import Refusal
from prefect_dvc.pipeline_flow import pipeline as flow
from prefect_dvc.server.database import RETRIES, RUNS, SQLITE_RUNS, URL, most_runs
from prefect_dvc.server.deploy import RUNS_POOL
from tests.waiting import SERVER_PAUSE, wait_until

from .conftest import command, make_repository, pipeline, stage
from .handoff_server import Server, kill, spawn

HERE = "sh -c 'cd \"$PREFECT_DVC_CLONE\" && exec python -m prefect.engine'"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stages, of which every run has to run two."""
    graph = {"prepare": stage("prepare"), "train": stage("train", "prepare"), "evaluate": stage("evaluate", "train")}
    root = make_repository(tmp_path_factory.mktemp("runs") / "workspace", graph)
    assert pipeline(root, "--apply", PREFECT_API_URL="").returncode == 0
    return root


@contextmanager
def at_work(server: Server, root: Path) -> Iterator[None]:
    """A server with the deployment of the pipeline and a worker in `root`."""
    server.start()
    with ExitStack() as stack:
        stack.callback(server.stop)
        with server.client() as client:
            client.create_work_pool(WorkPoolCreate(name=RUNS_POOL, type="process", concurrency_limit=most_runs()))
            client.create_deployment(
                flow_id=client.create_flow(flow),
                name="pipeline",
                entrypoint="prefect_dvc.pipeline_flow.pipeline",
                work_pool_name=RUNS_POOL,
                job_variables={"command": HERE},
                enforce_parameter_schema=False,
            )
        environment = server.environment | {"PREFECT_DVC_CLONE": str(root)}
        worker = spawn(["prefect", "worker", "start", "--pool", RUNS_POOL], root, environment, root / "../worker.log")
        stack.callback(kill, worker, signal.SIGKILL)
        yield


def ordered(server: Server, number: int, first: int) -> None:
    """Order runs from the page, all at once, each with a parameter of its own, from `first` on."""
    with server.client() as client:
        deployment = client.read_deployment_by_name("pipeline/pipeline").id
        for value in range(number):
            changed = {"overrides": {"stages.train.value": first + value}}
            client.create_flow_run_from_deployment(deployment, parameters=changed)


def ended(server: Server, number: int) -> list[FlowRun]:
    """Return the runs once all `number` have ended."""

    def final() -> list[FlowRun]:
        runs = server.runs()
        return runs if len(runs) == number and all(run.state and run.state.is_final() for run in runs) else []

    return wait_until(final, "all runs have ended", pause=SERVER_PAUSE)


def most_at_once(runs: list[FlowRun]) -> int:
    times = [(run.start_time, run.end_time) for run in runs if run.start_time and run.end_time]
    return max(sum(start <= moment <= end for start, end in times) for moment, _ in times)


def all_ran(runs: list[FlowRun]) -> bool:
    """Whether each run has done its own work, and says so."""
    told = {run.state.message for run in runs if run.state and run.state_name == "Completed"}
    return len(runs) == 10 and told == {"Cached: prepare; Ran: train, evaluate"}


@pytest.mark.fault(38)
def test_ten_runs_at_once(workspace: Path, tmp_path: Path) -> None:
    """On SQLite, half of them from the page and half from terminals; six of ten were lost."""
    server = Server(tmp_path)
    server.environment |= RETRIES
    with at_work(server, workspace):
        ordered(server, 5, first=100)
        runs = [
            subprocess.Popen(
                command("--set", f"stages.train.value={200 + value}"),
                cwd=workspace,
                env=os.environ | server.environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for value in range(5)
        ]
        told = [run.communicate()[0] for run in runs]
        assert [run.returncode for run in runs] == [0] * 5
        found = ended(server, 10)
    assert all_ran(found)
    assert any(f"Waiting, since {SQLITE_RUNS} runs are in progress: process " in text for text in told)
    for kind in (False, True):
        assert most_at_once([run for run in found if (run.deployment_id is None) is kind]) <= SQLITE_RUNS


@contextmanager
def cluster(place: Path) -> Iterator[dict[str, str]]:
    """A PostgreSQL server below a directory that all may enter; yield the settings that lead to it."""
    owner = "postgres" if os.getuid() == 0 else None  # it does not run as root
    if owner is not None:
        os.chown(place, pwd.getpwnam(owner).pw_uid, -1)

    def call(program: str, *words: str) -> None:
        command = [program, "--pgdata", str(place / "data"), *words]
        subprocess.run(command, cwd="/", check=True, user=owner, stdout=subprocess.DEVNULL)

    call("initdb", "--username", "prefect", "--auth-local=trust")
    options = f"-c unix_socket_directories={place} -c listen_addresses="
    call("pg_ctl", "start", "--log", str(place / "log"), "-o", options)
    try:
        yield {"PGHOST": str(place), "PGUSER": "prefect"}
    finally:
        call("pg_ctl", "stop", "--mode", "fast")


@pytest.mark.skipif(shutil.which("initdb") is None, reason="PostgreSQL is not installed")
@pytest.mark.fault(38)
def test_runs_on_postgresql(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten, on a database that docs/operations.md makes."""
    with tempfile.TemporaryDirectory() as place, cluster(Path(place)) as settings:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        subprocess.run(["createdb", "prefect"], check=True)
        monkeypatch.setenv(URL, "postgresql+asyncpg:///prefect")
        server = Server(tmp_path)
        with at_work(server, workspace):
            ordered(server, 10, first=300)
            assert all_ran(ended(server, 10))


def test_the_limit_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It follows the database, unless it is set; a value of another form is named."""
    monkeypatch.delenv(RUNS, raising=False)
    assert most_runs() == SQLITE_RUNS
    monkeypatch.setenv(URL, "postgresql+asyncpg://server/prefect")
    assert most_runs() > SQLITE_RUNS
    monkeypatch.setenv(RUNS, "7")
    assert most_runs() == 7
    monkeypatch.setenv(RUNS, "many")
    with pytest.raises(Refusal, match="PREFECT_DVC_RUNS='many' is not a number of runs at a time; 3 suits SQLite"):
        most_runs()
