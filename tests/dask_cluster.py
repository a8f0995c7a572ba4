"""Dask as its user starts it: `dask scheduler` and `dask worker` as processes, on loopback only."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from distributed import Client

from sentence_distillery.runtime import shards
from tests.waiting import LIMIT, wait_until
from tests.workspace import ROOT

LOOPBACK = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]


@contextmanager
def scheduler(directory: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yield the address of a scheduler without workers, and its process; it writes to `directory`."""
    file = directory / "scheduler.json"
    with _running(directory, "scheduler", "--port", "0", "--scheduler-file", str(file)) as process:
        wait_until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("}"), "a scheduler", process)
        yield str(json.loads(file.read_text(encoding="utf-8"))["address"]), process


@contextmanager
def cluster(directory: Path, code: Path = ROOT) -> Iterator[tuple[str, list[int]]]:
    """The address of a scheduler with two workers, both connected, and the ids of the processes that were started.

    The workers import what is in `code`.
    """
    with ExitStack() as stack:
        address, head = stack.enter_context(scheduler(directory))
        options = [address, "--nthreads", "1", "--nworkers", "2"]
        workers = stack.enter_context(_running(directory, "worker", *options, code=code))
        with Client(address, timeout=LIMIT) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=LIMIT)
        yield address, [head.pid, workers.pid]


@contextmanager
def patient() -> Iterator[None]:
    """Let the program wait until a killed worker has restarted, however long that takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "DASK_SECONDS", LIMIT)
        yield


@contextmanager
def _running(directory: Path, *arguments: str, code: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"PYTHONPATH": str(code), "OMP_NUM_THREADS": "1", "DISTILLERY_DEVICE": "cpu"}
    command = [sys.executable, "-m", "dask", *arguments, *LOOPBACK]
    with (directory / f"{arguments[0]}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:  # a worker in the midst of a shard that has lost its scheduler
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
