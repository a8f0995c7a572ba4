"""The time that a hand-off adds to a tiny stage, and the processor time of everything that takes part.

    python -m measurements.handoff --times 5

A server, a worker in a clone of its own, and a workspace whose one stage takes no time, all on this machine. Each time
the stage gets another parameter and runs once here and once on the worker. The difference is the overhead. Seconds of
the clock depend on what else the machine does, so the load before each hand-off stands beside them; seconds of the
processor do not. A worker and a server also work between hand-offs: their idle rate is measured first.
"""

import argparse
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from dvc.repo import Repo

from prefect_dvc.server.serve import origin_of, read_key
from prefect_dvc.system.process import supervised
from sentence_distillery.io.artifacts import write_json

RESULT = Path("reports/handoff_bench.json")
IDLE_SECONDS = 20.0
TICK = os.sysconf("SC_CLK_TCK")
Row = dict[str, Any]


def make_workspace(root: Path) -> None:
    """Make a repository with one stage for a worker, and a clone of it next to it."""
    root.mkdir()
    stage = {"cmd": "echo ${value} > out.txt", "outs": ["out.txt"], "meta": {"resources": "gpu"}}
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"g": {**stage, "deps": ["input.txt"]}}}))
    (root / "params.yaml").write_text("value: 0\n")
    (root / "input.txt").write_text("input\n")
    (root / ".gitignore").write_text("/out.txt\n")
    for command in (["init"], ["config", "user.name", "Bench"], ["config", "user.email", "bench@localhost"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    Repo.init(str(root)).close()
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n")
    for command in (["add", "--all"], ["commit", "--quiet", "--message", "One tiny stage"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    subprocess.run(["git", "clone", "--quiet", str(root), str(root.with_name("clone"))], check=True)


@contextmanager
def started(name: str, *command: str, directory: Path, log: Path) -> Iterator[int]:
    """Run a module of Python until the block ends; yield its process id."""
    with log.joinpath(f"{name}.log").open("wb") as file:
        process = subprocess.Popen(
            supervised([sys.executable, "-m", *command]),
            cwd=directory,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def processor_seconds(root: int) -> float:
    """Return the seconds of a process, of all below it, and of those below it that have ended."""
    times, parents = dict[int, int](), dict[int, int]()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = sum(map(int, fields[11:15]))  # own and awaited children, user and system

    def below(pid: int | None) -> bool:
        while pid is not None and pid != root:
            pid = parents.get(pid)
        return pid == root

    return sum(ticks for pid, ticks in times.items() if below(pid)) / TICK


def own_seconds() -> float:
    """Return the seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def stage_seconds(root: Path, value: int, gpu: Any) -> float:
    """Run the stage with a new parameter; return the seconds that the run spent on it."""
    from prefect_dvc.execution.outcome import Outcome
    from prefect_dvc.execution.run import open_run
    from prefect_dvc.workers.handoff import hand_off

    options: dict[str, Any] = {"target": None, "profile": None, "force": False, "parallel": 1, "hand_off": hand_off}
    with open_run(root, overrides={"value": value}, gpu=gpu, log=print, **options) as run:
        outcome = run.bring_up_to_date(run.stages[0], print)
    if outcome is not (Outcome.RAN if gpu == "local" else Outcome.RAN_ON_GPU):
        sys.exit(f"The stage was {outcome}; there is nothing to measure.")
    return run.seconds["g"]


def measure(root: Path, number: int, processes: dict[str, int], idle: dict[str, float]) -> Row:
    """Measure one stage here and on the worker."""
    here = stage_seconds(root, 2 * number + 1, "local")
    load, before, own = os.getloadavg()[0], {n: processor_seconds(pid) for n, pid in processes.items()}, own_seconds()
    begun = time.monotonic()
    there = stage_seconds(root, 2 * number + 2, "require")
    whole = time.monotonic() - begun
    cpu = {"home": own_seconds() - own}
    cpu |= {name: processor_seconds(pid) - before[name] - idle[name] * whole for name, pid in processes.items()}
    row = {"here": here, "there": there, "overhead": there - here, "load": load}
    return {n: round(s, 2) for n, s in row.items()} | {"cpu_seconds": {n: round(s, 2) for n, s in cpu.items()}}


def wait_for(pids: list[int], ready: Any) -> None:
    while not ready():
        for pid in pids:
            os.kill(pid, 0)  # raises if it has ended
        time.sleep(0.5)


def bench(place: Path, times: int) -> Row:
    """Start everything in `place`, and measure so many hand-offs."""
    root, log = place / "workspace", place
    make_workspace(root)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.environ |= {
        "PREFECT_HOME": str(place / "prefect"),
        "PREFECT_API_URL": f"{origin_of(port)}/api",
        "PREFECT_API_AUTH_STRING": read_key(place / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_DVC_RESOURCES": "gpu: 1",
    }
    from prefect_dvc.server.ui import wait_for_server
    from prefect_dvc.workers.pool import obstacle

    with ExitStack() as stack:
        options = ["--no-link", "--port", str(port)]
        server = stack.enter_context(started("server", "prefect_dvc.cli", "serve", *options, directory=root, log=log))
        wait_for_server(log / "server.log")
        subprocess.run(
            [sys.executable, "-m", "prefect_dvc.cli", "deploy"], cwd=root, check=True, stdout=subprocess.DEVNULL
        )
        worker = stack.enter_context(
            started("worker", "prefect_dvc.cli", "worker", directory=root.with_name("clone"), log=log)
        )
        wait_for([server, worker], lambda: obstacle({"gpu": 1}) is None)
        processes = {"worker": worker, "server": server}
        before = {name: processor_seconds(pid) for name, pid in processes.items()}
        time.sleep(IDLE_SECONDS)
        idle = {n: (processor_seconds(pid) - before[n]) / IDLE_SECONDS for n, pid in processes.items()}
        rows = [measure(root, number, processes, idle) for number in range(times)]
    median = statistics.median(row["overhead"] for row in rows)
    cores = {name: round(rate, 3) for name, rate in idle.items()}
    return {"processors": os.cpu_count(), "idle_cores": cores, "median_overhead": median, "handoffs": rows}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m measurements.handoff", description="The cost of a hand-off.")
    parser.add_argument("--times", type=int, default=5, help="number of hand-offs")
    with tempfile.TemporaryDirectory() as place:
        result = bench(Path(place), parser.parse_args().times)
    for row in result["handoffs"]:
        print(row)
    print({name: value for name, value in result.items() if name != "handoffs"})
    write_json(RESULT, result)


if __name__ == "__main__":
    main()
