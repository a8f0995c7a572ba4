"""The server with its key, and GPU workers, as separate processes on 127.0.0.1, each worker with a real clone."""

import contextlib
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from filelock import FileLock
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, PREFECT_HOME, temporary_settings

from prefect_dvc.gpu_stage import COMMAND, gpu_stage, queue_of
from prefect_dvc.server.database import URL
from prefect_dvc.server.serve import origin_of, read_key
from prefect_dvc.workers.pool import DEPLOYMENT, PAGE, POOL
from tests.sockets import free_port
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until

from .conftest import git

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without certificates, which take 30 ms to read; all is on loopback


class Server:
    """A Prefect server with its own database, which can be stopped and started again."""

    def __init__(self, home: Path, *origins: str) -> None:
        self.origins = origins  # further ones, as of a tunnel
        self.port = free_port()
        self.origin = origin_of(self.port)
        self.api = f"{self.origin}/api"
        self.key = read_key(home)
        self.environment = {
            "PREFECT_HOME": str(home),
            "PREFECT_API_URL": self.api,
            "PREFECT_API_AUTH_STRING": self.key,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_WORKER_HEARTBEAT_SECONDS": "20",  # without three of them a worker counts as gone
            "PREFECT_SERVER_SERVICES_FOREMAN_LOOP_SECONDS": "2",
            "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "1",
            "PREFECT_SERVER_LOGGING_LEVEL": "INFO",
        }
        self.log = home / "server.log"
        self._client: SyncPrefectClient | None = None
        self._entering = threading.Lock()

    def start(self) -> None:
        if URL not in os.environ:  # SQLite
            make_database(self.log.parent)
        others = [f"--origin={origin}" for origin in self.origins]
        self.process = spawn(
            ["prefect_dvc.cli", "serve", "--port", str(self.port), *others], Path("/"), self.environment, self.log
        )
        wait_until(self.answers, f"the server answers; see {self.log}", self.process, SERVER_PAUSE)

    def answers(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.api}/health", timeout=2, verify=NO_TLS).is_success
        return False

    @contextmanager
    def client(self) -> Iterator[SyncPrefectClient]:
        """The one client of all threads: tests ask all the time, and a new one takes 40 ms of CPU time."""
        with self._entering:
            if self._client is None:
                self._client = SyncPrefectClient(self.api, auth_string=self.key, httpx_settings={"verify": NO_TLS})
                self._client.__enter__()
        yield self._client

    @property
    def auth(self) -> tuple[str, str]:
        """The key, as user and password."""
        user, _, secret = self.key.partition(":")
        return user, secret

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def stop(self) -> None:
        if self._client is not None:
            self._client.__exit__(None, None, None)
            self._client = None
        kill(self.process, signal.SIGTERM)

    def deploy(self, pool: str = POOL) -> None:
        """The work pool and the deployment, as prefect.yaml has them."""
        with self.client() as client:
            client.create_work_pool(WorkPoolCreate(name=pool, type="process"), overwrite=True)
            client.create_deployment(
                flow_id=client.create_flow(gpu_stage),
                name=DEPLOYMENT.partition("/")[2],
                entrypoint="prefect_dvc.gpu_stage.gpu_stage",
                work_pool_name=pool,
                job_variables={"command": COMMAND},
                enforce_parameter_schema=False,
            )

    def runs(self) -> list[FlowRun]:
        """The flow runs of the worker's flow, the latest last."""
        with self.client() as client:
            return client.read_flow_runs(limit=PAGE, sort=FlowRunSort.EXPECTED_START_TIME_ASC)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Start a server with its work pool and deployment; this process has its address and its key meanwhile."""
    settings = {PREFECT_API_URL: server.api, PREFECT_API_AUTH_STRING: server.key, PREFECT_HOME: server.log.parent}
    with temporary_settings(settings):
        server.start()
        try:
            server.deploy()
            yield server
        finally:
            server.stop()


def make_database(home: Path) -> None:
    """Copy the database of a new server, one for all processes of a test run: making its tables takes six seconds."""
    shared = home.parents[1] if "PYTEST_XDIST_WORKER" in os.environ else home.parent
    ready = shared / "prefect-tables"
    with FileLock(shared / "prefect-tables.lock"):
        if not ready.exists():
            upgrade = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
            environment = os.environ | {"PREFECT_HOME": str(shared / "prefect-making"), "DO_NOT_TRACK": "1"}
            subprocess.run(upgrade, env=environment, capture_output=True, check=True)
            (shared / "prefect-making").rename(ready)
    if not (home / "prefect.db").exists():
        shutil.copy(ready / "prefect.db", home)


@contextmanager
def worker(
    server: Server, clone: Path, inside: Sequence[str] = (), **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker of the pool in `clone`, by the command `inside` if there is one; wait until it is online."""
    card = {"PREFECT_DVC_RESOURCES": "gpu: 1"}  # a card that no torch has to be asked for
    settings = server.environment | card | environment
    process = spawn(["prefect_dvc.cli", "worker"], clone, settings, clone.parent / "worker.log", inside)
    name = f"{queue_of(clone)}-{process.pid}"

    def online() -> bool:
        with server.client() as client:
            return any(worker.name == name for worker in client.read_workers_for_work_pool(POOL, limit=PAGE, offset=0))

    try:
        wait_until(online, f"{name} is online", process, SERVER_PAUSE)
        yield process
    finally:
        kill(process, signal.SIGKILL)
        httpx.delete(
            f"{server.api}/work_pools/{POOL}/workers/{name}", auth=server.auth, timeout=LIMIT
        )  # or it counts as online for a while


def clone_of(workspace: Path) -> Path:
    """Make a second clone on the same host, with its own DVC cache."""
    clone = workspace.parent / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    git(workspace, "clone", "--quiet", str(workspace), str(clone))
    return clone


def spawn(
    command: list[str], directory: Path, environment: dict[str, str], log: Path, inside: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start a process that leads its own group, with its children in it."""
    with log.open("ab") as file:
        return subprocess.Popen(
            [*inside, sys.executable, "-m", *command],
            cwd=directory,
            env=os.environ | environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send `number` to the process and its children, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
