"""A command of a stage: all its lines, and the end of all that it has started."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from prefect_dvc.execution.commands import Commands
from prefect_dvc.execution.run import open_in_place, open_run
from prefect_dvc.system.process import held, locks, supervised
from tests.waiting import FOREVER, LIMIT, wait_until

from .conftest import make_repository, stage

BLOCKED = 10**6  # bytes, more than a pipe holds
# Says its number, and once asked to end, takes a while.
CHILD = f"""
import os, signal, sys, time
from pathlib import Path

def end(number, frame):
    time.sleep(1)
    Path("ended").touch()
    sys.exit()

signal.signal(signal.SIGTERM, end)
Path("new").write_text(str(os.getpid()))
Path("new").rename("child")
time.sleep({FOREVER})
"""


# Kills the supervisor of the child: the leader of its group.
KILL_SUPERVISOR = """
import os, signal, sys, time
from pathlib import Path

path = Path(sys.argv[1]) / "child"
while not path.exists():
    time.sleep(0.02)
os.kill(os.getpgid(int(path.read_text())), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A working directory with child.py, which ends with the test."""
    (tmp_path / "child.py").write_text(CHILD, encoding="utf-8")
    yield tmp_path
    if (tmp_path / "child").exists() and is_at_work(tmp_path):
        os.kill(child(tmp_path), signal.SIGKILL)


def child(place: Path) -> int:
    return int((place / "child").read_text(encoding="utf-8"))


def is_at_work(place: Path) -> bool:
    try:
        return bool(psutil.Process(child(place)).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def run(line: str, place: Path, log: Callable[[str], Any] = print) -> tuple[int, list[str]]:
    return Commands().run(["sh", "-c", line], place, os.environ, log)


def test_what_a_shell_has_started_has_time_to_end(place: Path) -> None:
    """regression: the shell ends at SIGTERM at once, and its children were then killed."""
    words = supervised(["sh", "-c", f"{sys.executable} child.py; true"])
    with subprocess.Popen(words, cwd=place, start_new_session=True) as process:
        wait_until((place / "child").exists, "the child is at work", process)
        process.terminate()
        process.wait(LIMIT)
    assert (place / "ended").exists()


@pytest.mark.parametrize("line", ["exec {python} child.py", "{python} child.py; true"])
def test_a_killed_supervisor(line: str, place: Path) -> None:
    """regression: its command went on, while the next attempt began."""
    commands = Commands()
    with subprocess.Popen([sys.executable, "-c", KILL_SUPERVISOR, str(place)]):
        status, _ = commands.run(["sh", "-c", line.format(python=sys.executable)], place, os.environ, print)
    assert status == -signal.SIGKILL
    wait_until(lambda: not is_at_work(place), "the command has ended")


def test_what_stays_in_the_background_holds_no_lock(place: Path) -> None:
    """regression: the next run in this workspace waited for a server that a stage had left."""
    lock = place / "lock"
    with held(lock, "first"):
        line = f"{sys.executable} child.py >child.log 2>&1 & until [ -e child ]; do sleep 0.05; done"
        assert run(line, place)[0] == 0
    with held(lock, "second"):
        assert is_at_work(place)


def test_a_slow_log_gets_every_line(place: Path) -> None:
    """regression: what was not logged a second after the end was lost, the last lines of an error among them."""
    logged: list[str] = []

    def log(line: str) -> None:
        time.sleep(0.02)
        logged.append(line)

    status, last = run("seq 100; echo wrong; exit 3", place, log)
    assert (status, last[-1]) == (3, "wrong")
    assert logged == [*map(str, range(1, 101)), "wrong"]


def test_a_background_process_that_prints_on(place: Path) -> None:
    """The command has ended, although its output is open: the run goes on."""
    status, last = run(f"({sys.executable} child.py & yes) & until [ -e child ]; do sleep 0.05; done; exit 4", place)
    assert status == 4
    assert set(last) == {"y"}
    os.killpg(os.getpgid(child(place)), signal.SIGKILL)


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        (r"a\r\nb\rc\n\n  d", ["a", "b", "c", "  d"]),
        (r"\303\251\n\377\n", ["é", "\N{REPLACEMENT CHARACTER}"]),
        ("", []),
    ],
)
def test_lines(printed: str, lines: list[str], place: Path) -> None:
    assert run(f"printf '{printed}'", place) == (0, lines)


def test_much_output_at_once(place: Path) -> None:
    """A letter of several bytes may be divided between two reads; SIGPIPE ends `yes` in silence, as under a shell."""
    logged: list[str] = []
    assert run(f"yes 'é1€' | head -n {BLOCKED // 7}", place, logged.append)[0] == 0
    assert logged == ["é1€"] * (BLOCKED // 7)


@pytest.mark.parametrize("line", [f"sleep {FOREVER}", f"exec >&- 2>&-; sleep {FOREVER}", "yes"])
def test_a_timeout(line: str, place: Path) -> None:
    """Of a command that says nothing, that has closed its output, and that never stops to print."""
    with pytest.raises(TimeoutError):
        Commands().run(["sh", "-c", line], place, os.environ, lambda _: None, until=time.monotonic() + 0.5)


def test_errors_of_the_block_stay_as_they_are(tmp_path: Path) -> None:
    """regression: every error while a run was open, of Prefect too, became a refusal of DVC in one line."""
    root = make_repository(tmp_path / "workspace", {"a": stage("a")})
    options: dict[str, Any] = {"target": None, "force": False, "parallel": 1, "log": print}
    with pytest.raises(ZeroDivisionError), open_in_place(root, **options):
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), open_run(root, profile=None, gpu="local", overrides={}, **options):
        raise ZeroDivisionError


def test_no_lock_is_closed_while_a_command_starts(tmp_path: Path) -> None:
    """The end of one stage closed its lock while the command of another was started with it: it did not start."""
    held_now, over = threading.Event(), threading.Event()

    def hold() -> None:
        with held(tmp_path / "lock", "another stage"):
            held_now.set()
            over.wait(LIMIT)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held_now.wait(LIMIT)
    with locks() as descriptors:
        over.set()
        thread.join(0.5)
        assert thread.is_alive()
        assert all(os.fstat(descriptor) for descriptor in descriptors)
    thread.join()
    with locks() as descriptors:
        assert descriptors == []
