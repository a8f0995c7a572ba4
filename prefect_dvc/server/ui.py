"""`make ui`: Prefect's server with its page, the deployments of prefect.yaml, and two workers, on this machine alone.

server      127.0.0.1:4200, SQLite in .prefect, closed to everyone without the key in .prefect/key
worker      pool `dvc`: pipeline and retraining, in this clone
worker      pool `gpu`: handed-off stages, in a second clone, .prefect/gpu-clone
"""

import argparse
import os
import signal
import sys
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import httpx

from prefect_dvc.errors import Refusal
from prefect_dvc.pipeline import say
from prefect_dvc.server.children import Children
from prefect_dvc.server.database import RETRIES
from prefect_dvc.server.deploy import HEARTBEAT_SECONDS, RUNS_POOL, deploy
from prefect_dvc.server.orphans import Orphans
from prefect_dvc.server.serve import HOME, KEY, PORT, link, origin_of, read_key, refuse_taken
from prefect_dvc.workspace.git import END, git
from prefect_dvc.workspace.snapshot import refuse_read_only

CLONE = HOME / "gpu-clone"
START_SECONDS = 120.0


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


def wait_for_server(log: Path) -> None:
    url = os.environ["PREFECT_API_URL"]
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/health", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.3)
    raise Refusal(f"The server does not answer at {url} after {START_SECONDS:.0f} s; its log is {log}.")


def second_clone(root: Path) -> Path:
    """Make or update the GPU worker's clone at the workspace's last commit; they share only git's objects."""
    clone = root / CLONE
    if not clone.exists():
        git(root, "clone", "--quiet", "--no-checkout", END, str(root), str(clone))
    git(clone, "fetch", "--quiet", "origin")
    git(clone, "switch", "--quiet", "--force", "--detach", END, git(root, "rev-parse", "--verify", "HEAD"))
    return clone


def main() -> None:
    parser = argparse.ArgumentParser(description="Start Prefect's server, page and workers.")
    parser.add_argument("--port", type=int, default=PORT)
    options, root = parser.parse_args(), Path.cwd()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    refuse_read_only(root)
    refuse_taken(options.port)
    _run(root, options.port)


def _run(root: Path, port: int) -> None:
    """Start everything, and look after it until Ctrl-C."""
    key, python = read_key(root / HOME), [sys.executable, "-P", "-m"]
    os.environ.update(settings(root, port, key))
    orphans = Orphans(root, say)
    with suppress(KeyboardInterrupt), closing(Children(root / HOME)) as children:
        server = [*python, "prefect_dvc.cli", "serve", "--no-link", "--port", str(port)]
        wait_for_server(children.start("server", server, root))
        deploy()
        orphans.find(crashed=False)  # of a machine that was switched off
        worker = [*python, "prefect", "worker", "start", "--pool", RUNS_POOL, "--type", "process"]
        children.start("runs", worker, root, died=partial(orphans.find, crashed=True))
        children.start("gpu", [*python, "prefect_dvc.cli", "worker"], second_clone(root), needed=False)
        print(
            f"Prefect is at {link(origin_of(port), key)} for you alone: the link has the key, which is kept in "
            f"{HOME / KEY}. The logs are in {HOME}. Ctrl-C stops it.",
            flush=True,
        )
        children.watch(say, orphans.look)
