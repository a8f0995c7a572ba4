"""A run that was killed leaves nothing that works on, and the next one waits for it; any other holder is named."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from dvc.repo import Repo

from prefect_dvc import dvc_private
from prefect_dvc.system.process import SUPERVISOR
from tests.waiting import FOREVER, LIMIT, wait_until

from .conftest import command, make_repository, stage
from .forked import pipeline

pytestmark = pytest.mark.usefixtures("imported")

# The first time it never ends by itself, not even when its parent does; once asked to, it takes a while.
SLOW = f"""
import signal, sys, time
from pathlib import Path

begun, output = map(Path, sys.argv[1:])
output.write_text("half")

def end(number, frame):
    time.sleep(1)
    output.write_text("late")
    sys.exit(1)

if not begun.exists():
    signal.signal(signal.SIGTERM, end)
    begun.touch()
    time.sleep({FOREVER})
output.write_text("whole")
"""
HOLDER = """
import sys
from dvc.lock import make_lock

with make_lock(".dvc/tmp/lock"):
    print("held", flush=True)
    sys.stdin.readline()
"""
HERE = command("--here", "--target", "b")


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The file that shows that stage a is at work."""
    return tmp_path / "begun"


@pytest.fixture
def workspace(tmp_path: Path, begun: Path) -> Path:
    """a, which is slow the first time, then b."""
    slow = {"cmd": f"python slow.py {begun} a.txt", "deps": ["slow.py"], "outs": ["a.txt"], "meta": {"retries": 1}}
    root = make_repository(tmp_path / "workspace", {"a": slow, "b": stage("b", "a")})
    (root / "slow.py").write_text(SLOW, encoding="utf-8")
    return root


@contextmanager
def at_work(words: list[str], root: Path, begun: Path) -> Iterator[psutil.Popen]:
    """Start a run, and wait until stage a is at work; all its processes end with the block."""
    with (root / ".dvc/tmp/log").open("w") as log:
        run = psutil.Popen(words, cwd=root, stdout=log, stderr=log)
    wait_until(begun.exists, "stage a is at work", run)
    family = [run, *run.children(recursive=True)]
    try:
        yield run
    finally:
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        run.wait()


def supervisor(run: psutil.Popen) -> psutil.Process:
    """The process between a run and the command of stage a."""
    (found,) = [child for child in run.children() if SUPERVISOR in child.cmdline()]
    return found


def has_ended(process: psutil.Process) -> bool:
    """Whether a process does nothing any more; who has adopted it may not have noticed yet."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.fault(1, 5)
def test_a_killed_run_and_the_next(stopped: bool, workspace: Path, begun: Path) -> None:
    """The command of a killed run writes on until it has ended; the next run waits for that.

    A supervisor that is stopped ends it only once it goes on.
    """
    with at_work(HERE, workspace, begun) as run:
        between = supervisor(run)
        work = between.children(recursive=True)[-1]
        if stopped:
            between.suspend()
            wait_until(lambda: between.status() == psutil.STATUS_STOPPED, "it has stopped")
        run.kill()
        run.wait()
        with subprocess.Popen(HERE, cwd=workspace, stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout is not None
            if stopped:
                waiting = f"Waiting for prefect-dvc --here --target b (process {run.pid}), which works in"
                assert following.stdout.readline().startswith(waiting)
                between.resume()
            assert following.wait(LIMIT) == 0
        assert has_ended(work)
    assert (workspace / "b.txt").read_text(encoding="utf-8") == "wholeb 1\n"


@pytest.mark.fault(1)
def test_a_killed_command(workspace: Path, begun: Path) -> None:
    """The next attempt begins."""
    with at_work(HERE, workspace, begun) as run:
        supervisor(run).children(recursive=True)[-1].kill()
        assert run.wait(LIMIT) == 0, (workspace / ".dvc/tmp/log").read_text(encoding="utf-8")
    assert "Attempt 1 of 2 of a has failed" in (workspace / ".dvc/tmp/log").read_text(encoding="utf-8")
    assert (workspace / "b.txt").read_text(encoding="utf-8") == "wholeb 1\n"


@pytest.mark.fault(4)
def test_two_runs_in_one_workspace(workspace: Path, begun: Path) -> None:
    """The second waits, and takes the result of the first."""
    with (
        at_work(HERE, workspace, begun) as run,
        subprocess.Popen(HERE, cwd=workspace, stdout=subprocess.PIPE, text=True) as second,
    ):
        assert second.stdout is not None
        assert f"(process {run.pid})" in second.stdout.readline()
        supervisor(run).children(recursive=True)[-1].kill()  # so that the first makes its second attempt
        assert run.wait(LIMIT) == 0
        assert second.wait(LIMIT) == 0
        assert second.stdout.read() == "2 of 2 stages were up to date.\n"


@pytest.mark.fault(4)
def test_another_process_has_the_files(workspace: Path, begun: Path) -> None:
    """A `dvc repro` of the user is at work: it goes on, and one line names it."""
    with at_work([sys.executable, "-m", "dvc", "repro", "a"], workspace, begun) as other:
        done = pipeline(workspace, "--here", "--target", "b")
        assert done.returncode == 1
        assert re.search(rf"is busy, it is being blocked by: \(PID {other.pid}\): .*dvc.* repro a", done.stderr)
        assert "Traceback" not in done.stderr
        assert other.is_running()


@pytest.mark.fault(4)
def test_another_process_has_the_lock(workspace: Path, begun: Path) -> None:
    """It is named, and waited for."""
    begun.touch()
    words = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(words, cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for options in (["--here"], []):
            with subprocess.Popen(command(*options), cwd=workspace, stdout=subprocess.PIPE, text=True) as run:
                assert run.stdout is not None
                assert run.stdout.readline().startswith(f"Waiting for process {holder.pid} ({words[0]} -c")
                run.send_signal(signal.SIGINT)
        holder.communicate("\n")
    assert pipeline(workspace, "--here").returncode == 0


def note(root: Path, pid: int) -> Path:
    """Have the file rwlock say that a process writes a.txt."""
    file = root / ".dvc/tmp/rwlock"
    file.parent.mkdir(exist_ok=True)
    entry = {str(root / "a.txt"): {"pid": pid, "cmd": f"{dvc_private.OWN} a"}}
    file.write_text(json.dumps({"write": entry, "read": {}}), encoding="utf-8")
    return file


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.fault(5)
def test_entries_of_nobody(half: bool, pair: Path) -> None:
    """Of a killed run, whose number another process has now; and half a file, which DVC cannot read."""
    file = note(pair, os.getpid())
    if half:
        file.write_text('{"write": {', encoding="utf-8")
    assert pipeline(pair, "--here").returncode == 0


def test_locks_of_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """regression: "We already had the lock" (core.hardlink_lock)."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    root = make_repository(tmp_path / "workspace", {f"s{number}": stage(f"s{number}") for number in range(8)})
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n    hardlink_lock = true\n", encoding="utf-8")
    done = pipeline(root, "--apply", "--parallel", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    with Repo(str(root)) as repo:
        assert repo.status() == {}
