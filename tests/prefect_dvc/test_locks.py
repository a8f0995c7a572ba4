"""DVC's locks after a run that was killed: whoever it has left is ended, and any other holder is named."""

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

from prefect_dvc.execution.locks import locked
from prefect_dvc.system.process import HOST, PARENT, STAGE
from tests.waiting import FOREVER, LIMIT, wait_until

from .conftest import make_repository, pipeline, stage

# The first time it never ends by itself, not even when its parent does.
SLOW = f"""
import sys, time
from pathlib import Path

begun, output = map(Path, sys.argv[1:])
output.write_text("half")
if not begun.exists():
    begun.touch()
    time.sleep({FOREVER})
output.write_text("whole")
"""
HOLDER = f"""
import sys, time
from dvc.lock import make_lock

with make_lock(".dvc/tmp/lock"):
    print("held", flush=True)
    time.sleep({FOREVER})
"""
COMMAND = [sys.executable, "-m", "prefect_dvc.terminal", "b"]


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


def terminal(root: Path) -> subprocess.CompletedProcess[str]:
    """A run in the workspace itself, as of `make run`."""
    return subprocess.run(COMMAND, cwd=root, capture_output=True, text=True, check=False, timeout=LIMIT)


@contextmanager
def at_work(command: list[str], root: Path, begun: Path) -> Iterator[psutil.Popen]:
    """Start a run, and wait until stage a is at work; all its processes end with the block."""
    with (root / ".dvc/tmp/log").open("w") as log:
        run = psutil.Popen(command, cwd=root, stdout=log, stderr=log)
    wait_until(begun.exists, "stage a is at work", run)
    family = [run, *run.children(recursive=True)]
    try:
        yield run
    finally:
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        run.wait()


def processes(run: psutil.Popen) -> dict[str, psutil.Process]:
    """The host of a run, the fork of it for stage a, and the stage's command."""
    (host,) = [child for child in run.children() if HOST in child.cmdline()]
    (fork,) = [child for child in host.children() if child.children()]
    return {"host": host, "fork": fork, "command": fork.children(recursive=True)[-1]}


def has_ended(process: psutil.Process) -> bool:
    """Whether a process does nothing any more; who has adopted it may not have noticed yet."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def is_whole(root: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "busy" not in done.stdout + done.stderr
    assert "Process '" not in done.stdout + done.stderr  # as DVC's warnings begin
    assert (root / "b.txt").read_text(encoding="utf-8") == "wholeb 1\n"


@pytest.mark.parametrize("stopped", ["fork", "host", "both killed"])
def test_a_killed_run_and_the_next(stopped: str, workspace: Path, begun: Path) -> None:
    """fault 5: processes of a killed run end after it; until then DVC refused their files to the next run.

    A process that is stopped does so late. If the fork is killed, too, the command of the stage is left, and writes on.
    """
    with at_work(COMMAND, workspace, begun) as run:
        family = processes(run)
        late = family["host" if stopped == "host" else "fork"]
        late.suspend()
        wait_until(lambda: late.status() == psutil.STATUS_STOPPED, "it has stopped")  # else a SIGTERM overtakes it
        run.kill()
        run.wait()
        if stopped == "both killed":
            family["fork"].kill()
            wait_until(lambda: has_ended(family["fork"]), "the fork has ended")
        done = terminal(workspace)
        is_whole(workspace, done)
        line = rf"Ended process {family['fork'].pid} \({STAGE} a\), which an interrupted run had left\."
        assert re.search(line, done.stdout)
        wait_until(lambda: has_ended(family["command"]), "the command has ended")


def test_the_command_of_a_killed_run_ends(workspace: Path, begun: Path) -> None:
    """regression: the shell of a command did not tell it of the end, so a retraining's stage went on for hours."""
    with at_work(COMMAND, workspace, begun) as run:
        family = processes(run)
        run.kill()
        wait_until(lambda: has_ended(family["command"]), "the command has ended")


@pytest.mark.parametrize("struck", ["fork", "host"])
def test_a_killed_process_within_a_run(struck: str, workspace: Path, begun: Path) -> None:
    """fault 1: the command of a killed process went on, and the run waited for it; the next attempt begins now."""
    with at_work(COMMAND, workspace, begun) as run:
        family = processes(run)
        family[struck].kill()
        assert run.wait(LIMIT) == 0, (workspace / ".dvc/tmp/log").read_text(encoding="utf-8")
        wait_until(lambda: has_ended(family["command"]), "the command has ended")
    log = (workspace / ".dvc/tmp/log").read_text(encoding="utf-8")
    assert "Attempt 1 of 2 of a has failed" in log
    assert (workspace / "b.txt").read_text(encoding="utf-8") == "wholeb 1\n"


def test_another_process_has_the_files(workspace: Path, begun: Path) -> None:
    """fault 4: a `dvc repro` of the user is at work: it goes on, and one line names it."""
    with at_work([sys.executable, "-m", "dvc", "repro", "a"], workspace, begun) as other:
        done = terminal(workspace)
        assert done.returncode == 1
        assert re.fullmatch(
            rf"terminal: Process {other.pid} \(.*dvc.* repro a\) holds a\.txt, slow\.py: wait for its end, or end it "
            rf"with `kill {other.pid}`\.\n",
            done.stderr,
        )
        assert other.is_running()


@contextmanager
def holding(root: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds DVC's lock, with these words in its command line."""
    command = [sys.executable, "-c", HOLDER, *words]
    holder = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert holder.stdout is not None
    with holder:
        try:
            assert holder.stdout.readline() == "held\n"
            yield holder
        finally:
            holder.kill()


def test_another_process_has_the_lock(workspace: Path, begun: Path) -> None:
    """fault 4: it is named; in the process of a stage, which waits for it, too."""
    begun.touch()
    with holding(workspace) as other:
        done = terminal(workspace)
        assert done.returncode == 1
        assert "Unable to acquire lock" not in done.stderr
        assert done.stderr.startswith(f"terminal: Process {other.pid} (")
        assert done.stderr.endswith(f"holds DVC's lock: wait for its end, or end it with `kill {other.pid}`.\n")
        assert f"Waiting for process {other.pid} (" in done.stdout


def test_an_orphan_has_the_lock(workspace: Path, begun: Path) -> None:
    """fault 5: one of a stage, whose parent has ended; it is stopped, so that it cannot end by itself."""
    begun.touch()
    with holding(workspace, STAGE, PARENT, "1000000000") as orphan:
        os.kill(orphan.pid, signal.SIGSTOP)
        done = terminal(workspace)
        is_whole(workspace, done)
        assert f"Ended process {orphan.pid}, which an interrupted run had left with DVC's lock." in done.stdout
        assert orphan.wait(LIMIT) == -signal.SIGTERM


def note(root: Path, pid: int) -> Path:
    """Have the file rwlock say that a process writes a.txt."""
    file = root / ".dvc/tmp/rwlock"
    file.parent.mkdir(exist_ok=True)
    entry = {str(root / "a.txt"): {"pid": pid, "cmd": f"{STAGE} a"}}
    file.write_text(json.dumps({"write": entry, "read": {}}), encoding="utf-8")
    return file


def test_entries_of_nobody(pair: Path) -> None:
    """A process that nobody has waited for, a number that a younger process has, and half a file hold nothing."""
    with Repo(str(pair)) as repo:
        with subprocess.Popen(["true"]) as ended:
            os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
            note(pair, ended.pid)
            with locked(repo):
                repo.status()
        with subprocess.Popen(["sleep", str(FOREVER)], start_new_session=True) as younger:
            os.utime(note(pair, younger.pid), (1e9, 1e9))
            with locked(repo):
                repo.status()
            assert younger.poll() is None
            younger.kill()
        note(pair, 1).write_text('{"write": {', encoding="utf-8")
        with locked(repo):
            repo.status()
    assert pipeline(pair).returncode == 0


def test_locks_of_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """regression: the forks of a run had one such lock together, "We already had the lock" (core.hardlink_lock)."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    root = make_repository(tmp_path / "workspace", {f"s{number}": stage(f"s{number}") for number in range(8)})
    (root / ".dvc/config").write_text("[core]\n    analytics = false\n    hardlink_lock = true\n", encoding="utf-8")
    done = pipeline(root, "--apply", "--parallel", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    with Repo(str(root)) as repo:
        assert repo.status() == {}
