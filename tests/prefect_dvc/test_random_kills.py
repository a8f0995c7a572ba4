"""A run that is killed and cut off again and again, at random, ends with the bytes of an uninterrupted one.

The graph is that of the project's own dvc.yaml, with stages that take no time; those for a GPU go to a worker in a
second clone. Struck are the run, its commands, the steps of a hand-off, the link to the DVC
remote, the worker, its runs and the server.

`FLOWS_KILLS=20 FLOWS_STAGES=200 FLOWS_SEED=7 pytest tests/prefect_dvc/test_random_kills.py -s` strikes as often as the
project's target, over the whole graph, and shows each strike; the suite strikes less often, over the first stages.
Moments are counted in lines that the run prints, never in seconds.
"""

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo

from prefect_dvc.execution.graph import read_graph
from tests.bound import bound
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until

from .conftest import command, git, make_repository, pipeline, set_param, stage
from .handoff_server import Server, clone_of, kill, worker

KILLS = int(os.environ.get("FLOWS_KILLS", "5"))
STAGES = int(os.environ.get("FLOWS_STAGES", "12"))
SEED = int(os.environ.get("FLOWS_SEED", "20"))
ROOT = Path(__file__).parents[2]
LINES = 24  # fewer than a run of two stages prints
LIMITS = {
    "PREFECT_DVC_SILENCE_SECONDS": "20",
    "PREFECT_DVC_ABSENCE_SECONDS": str(LIMIT),
    "PREFECT_CLIENT_MAX_RETRIES": "12",
}
Graph = dict[str, dict[str, Any]]
FAILS = ("next try in", "nothing more is pulled", "ended with status")  # of a line that tells of a cut


def demo_graph(number: int) -> Graph:
    """So many stages of the project's graph, the student's first, each with one small output."""
    with Repo(str(ROOT)) as repo:
        first = read_graph(repo, "student")
        stages = [*first, *(one for one in read_graph(repo) if one not in first)][:number]
    plain = {one.name: re.sub(r"[@.]", "_", one.name) for one in stages}  # a dot would be a section of params.yaml
    graph = {
        plain[one.name]: stage(
            plain[one.name], *sorted(plain[name] for name in one.upstream), gpu=bool(one.needs.labels)
        )
        for one in stages
    }
    assert any("meta" in entry for entry in graph.values()), "no stage goes to the worker"
    return graph


def make(root: Path, remote: Path, graph: Graph) -> Path:
    remote.mkdir()
    repository = make_repository(root, graph)
    with (repository / ".dvc/config").open("a", encoding="utf-8") as file:
        file.write(f"    remote = store\n['remote \"store\"']\n    url = {remote}\n")
    git(repository, "commit", "--quiet", "--all", "--message", "A remote")
    return repository


def results(root: Path) -> tuple[dict[str, bytes], str]:
    """The bytes of every output, and dvc.lock."""
    lock = (root / "dvc.lock").read_text(encoding="utf-8")
    return {name: (root / f"{name}.txt").read_bytes() for name in yaml.safe_load(lock)["stages"]}, lock


def below(*roots: Path) -> list[tuple[int, str]]:
    """The processes that work in a run's directory below one of `roots`, and the commands of them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            place = (entry / "cwd").readlink()
            if any(place.is_relative_to(root / ".dvc/tmp/runs") for root in roots):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


class Machines:
    """The server, and a worker in a clone of `home`, each of which can be killed and started again."""

    def __init__(self, server: Server, home: Path, stack: ExitStack) -> None:
        self.server, self.clone, self._stack = server, clone_of(home), stack
        server.start()
        stack.callback(server.stop)
        server.deploy()
        self._start_worker()

    def _start_worker(self) -> None:
        self._worker = self._stack.enter_context(worker(self.server, self.clone, **LIMITS))

    def kill_worker(self) -> bool:
        """Kill the worker with its runs, and start another."""
        kill(self._worker, signal.SIGKILL)
        self._start_worker()
        return True

    def kill_server(self) -> bool:
        kill(self.server.process, signal.SIGKILL)
        self.server.start()
        return True


class Striker:
    """Strikes a run once, after a random number of its lines, or later if there is nothing yet to strike."""

    def __init__(self, root: Path, remote: Path, machines: Machines, draw: random.Random) -> None:
        self.root, self.remote, self.machines, self.draw = root, remote, machines, draw
        self.kinds: dict[str, Callable[[subprocess.Popen[str]], bool]] = {
            "the run": lambda run: self._end(run, signal.SIGKILL),
            "the run, gently": lambda run: self._end(run, signal.SIGTERM),
            "a stage": lambda run: self._kill(" stage.py"),
            "a step of a hand-off": lambda run: self._kill("prefect_dvc.workers.handoff"),
            "a run of the worker": lambda run: self._kill("prefect.engine"),
            "the link": lambda run: self._cut(),
            "the worker": lambda run: machines.kill_worker(),
            "the server": lambda run: machines.kill_server(),
        }

    def _end(self, run: subprocess.Popen[str], number: signal.Signals) -> bool:
        run.send_signal(number)
        return True

    def _kill(self, word: str) -> bool:
        """Kill a process of the run whose command has this word; return whether there was one."""
        pids = sorted(pid for pid, line in below(self.root, self.machines.clone) if word in line)
        with suppress(ProcessLookupError):
            if pids:
                os.kill(self.draw.choice(pids), signal.SIGKILL)
                return True
        return False

    def _cut(self) -> bool:
        self.remote.rename(self.remote.with_name("away"))
        self.remote.write_text("no directory", encoding="utf-8")
        return True

    def heal(self) -> None:
        if self.remote.is_file():
            self.remote.unlink()
            self.remote.with_name("away").rename(self.remote)

    def run(self, kind: str) -> tuple[str, int, str]:
        """Start a run and strike it; return the strike, and the status and the last line of the run."""
        moment = self.draw.randrange(LINES)
        run = subprocess.Popen(
            bound(command("--apply", "--parallel", "2")),
            cwd=self.root,
            env=os.environ | self.machines.server.environment | LIMITS,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert run.stdout is not None
        at, line = None, ""
        with run.stdout as lines:
            for number, line in enumerate(lines):
                if any(text in line for text in FAILS):
                    self.heal()
                if at is None and number >= moment and self.kinds[kind](run):
                    at = number
        status = run.wait(LIMIT)
        self.heal()
        return f"{kind} at line {at}", status, line.strip()


@pytest.fixture(scope="module")
def graph() -> Graph:
    return demo_graph(STAGES)


@pytest.fixture
def machines(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """With the repository `struck` and its remote."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "prefect").mkdir()
    with ExitStack() as stack:
        yield Machines(Server(tmp_path / "prefect"), make(tmp_path / "struck", tmp_path / "remote", graph), stack)


@pytest.mark.fault(1, 3, 5, 12, 37)
def test_the_bytes_of_an_uninterrupted_run(machines: Machines, graph: Graph, tmp_path: Path) -> None:
    """After each strike the parameters change, so that the next run has work, too."""
    draw, struck = random.Random(SEED), tmp_path / "struck"
    striker = Striker(struck, tmp_path / "remote", machines, draw)
    kinds = list[str]()
    for number in range(KILLS):
        set_param(struck, draw.choice(list(graph)), value=2 + number)
        if number % len(striker.kinds) == 0:
            kinds = draw.sample(list(striker.kinds), len(striker.kinds))  # each kind as often
        told, status, last = striker.run(kinds[number % len(kinds)])
        print(f"{number + 1}: {told}, status {status}, {last}", flush=True)
    done = pipeline(struck, "--apply", **machines.server.environment, **LIMITS)
    assert done.returncode == 0, done.stdout + done.stderr
    calm = make(tmp_path / "calm", tmp_path / "calm remote", graph)
    (calm / "params.yaml").write_text((struck / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    done = pipeline(calm, "--apply", "--gpu", "local")
    assert done.returncode == 0, done.stdout + done.stderr
    assert results(struck) == results(calm)
    assert set(results(calm)[0]) == set(graph)
    wait_until(lambda: not below(struck, machines.clone), "no process is left", pause=SERVER_PAUSE)
