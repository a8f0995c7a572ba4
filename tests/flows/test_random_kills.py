"""A run that is killed and cut off again and again, at random, ends with the bytes of an uninterrupted one.

`FLOWS_KILLS=20 FLOWS_SEED=7 pytest tests/flows/test_random_kills.py -s` strikes as often as the project's target and
shows each strike; the suite strikes less often. Moments are counted in lines that the run prints, never in seconds.
"""

import os
import random
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.execution.process import bound
from tests.waiting import LIMIT

from .conftest import command, git, make_repository, pipeline, set_param, stage

KILLS = int(os.environ.get("FLOWS_KILLS", "5"))
SEED = int(os.environ.get("FLOWS_SEED", "20"))
GRAPH = {
    "a": stage("a"),
    "b": stage("b", "a"),
    "c": stage("c", "a"),
    "d": stage("d", "b", "c"),
    "e": stage("e"),
    "f": stage("f", "d", "e"),
}
LINES = 24  # fewer than a run of two stages prints


def make(root: Path, remote: Path) -> Path:
    remote.mkdir()
    repository = make_repository(root, GRAPH)
    with (repository / ".dvc/config").open("a", encoding="utf-8") as file:
        file.write(f"    remote = store\n['remote \"store\"']\n    url = {remote}\n")
    git(repository, "commit", "--quiet", "--all", "--message", "A remote")
    return repository


def results(root: Path) -> tuple[dict[str, bytes], Any]:
    """The bytes of every output, and dvc.lock, in which stages stand in the order in which they ended."""
    lock = yaml.safe_load((root / "dvc.lock").read_text(encoding="utf-8"))
    return {name: (root / f"{name}.txt").read_bytes() for name in GRAPH}, lock


def below(root: Path) -> list[tuple[int, str]]:
    """The processes that work in a run's directory below `root`, and the commands of them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if (entry / "cwd").readlink().is_relative_to(root / ".dvc/tmp/runs"):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


class Striker:
    """Strikes a run once, after a random number of its lines, or later if there is nothing yet to strike."""

    def __init__(self, root: Path, remote: Path, draw: random.Random) -> None:
        self.root, self.remote, self.draw = root, remote, draw
        self.kinds: dict[str, Callable[[subprocess.Popen[str]], bool]] = {
            "the run": lambda run: self._end(run, signal.SIGKILL),
            "the run, gently": lambda run: self._end(run, signal.SIGTERM),
            "the host or a fork of it": lambda run: self._kill("flows.execution.host"),
            "a stage": lambda run: self._kill("stage.py"),
            "the link": lambda run: self._cut(),
        }

    def _end(self, run: subprocess.Popen[str], number: signal.Signals) -> bool:
        run.send_signal(number)
        return True

    def _kill(self, word: str) -> bool:
        """Kill a process of the run whose command has this word; return whether there was one."""
        pids = sorted(pid for pid, line in below(self.root) if word in line)
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

    def run(self, kind: str) -> tuple[str, int]:
        """Start a run and strike it; return the strike and the status of the run."""
        moment = self.draw.randrange(LINES)
        run = subprocess.Popen(
            bound(command("--apply", "--parallel", "2")),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert run.stdout is not None
        at = None
        with run.stdout as lines:
            for number, _ in enumerate(lines):
                if at is None and number >= moment and self.kinds[kind](run):
                    at = number
        status = run.wait(LIMIT)
        self.heal()
        return f"{kind} at line {at}", status


def test_the_bytes_of_an_uninterrupted_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fault 1, 3 and 5: after each strike the parameters change, so that the next run has work, too."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    draw = random.Random(SEED)
    struck = make(tmp_path / "struck", tmp_path / "remote")
    striker = Striker(struck, tmp_path / "remote", draw)
    kinds = list[str]()
    for number in range(KILLS):
        set_param(struck, draw.choice(list(GRAPH)), value=2 + number)
        if number % len(striker.kinds) == 0:
            kinds = draw.sample(list(striker.kinds), len(striker.kinds))  # each kind as often
        told, status = striker.run(kinds[number % len(kinds)])
        print(f"{number + 1}: {told}, status {status}")
    calm = make(tmp_path / "calm", tmp_path / "calm remote")
    for root in (struck, calm):
        (root / "params.yaml").write_text((struck / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        done = pipeline(root, "--apply")
        assert done.returncode == 0, done.stdout + done.stderr
    assert results(struck) == results(calm)
    assert below(struck) == []
