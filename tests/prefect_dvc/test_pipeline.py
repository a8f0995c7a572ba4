"""Full runs without a server, in separate processes, with real faults."""

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from prefect_dvc.execution.outcome import Outcome
from prefect_dvc.execution.run import open_run
from prefect_dvc.execution.stages import Stages
from prefect_dvc.settings.parameters import assignments
from prefect_dvc.workspace.directory import RUNS
from tests.waiting import LIMIT, wait_until

from .conftest import cli, command, git, make_repository, run_at_work, set_param, stage
from .forked import pipeline
from .test_cache import damage

pytestmark = pytest.mark.usefixtures("imported")

B = "a 1\nb 1\n"


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_ran_cached_restored(pair: Path) -> None:
    """A run does not change the workspace; later ones find its results in the cache."""
    assert last_line(pipeline(pair)) == "Ran: a, b"
    assert git(pair, "status", "--porcelain") == ""
    assert not (pair / "b.txt").exists()
    assert last_line(pipeline(pair)) == "Restored: a, b"
    assert last_line(pipeline(pair, "--apply")) == "Restored: a, b"
    assert (pair / "b.txt").read_text(encoding="utf-8") == B
    assert last_line(pipeline(pair)) == "Cached: a, b"
    assert last_line(pipeline(pair, "--force")) == "Ran: a, b"


def test_a_lock_from_elsewhere(pair: Path) -> None:
    """dvc.lock lists an output of another machine, as in a clone; an output made here later still counts."""
    pipeline(pair, "--apply")
    lock, (output,) = pair / "dvc.lock", _lock(pair)["b"]["outs"]
    lock.write_text(lock.read_text(encoding="utf-8").replace(output["md5"], "f" * 32), encoding="utf-8")
    assert last_line(pipeline(pair)) == "Cached: a; Restored: b"


@pytest.mark.fault(14)
def test_only_what_depends_runs(chain: Path) -> None:
    """A changed parameter of b runs b and d; the target c alone would run nothing."""
    pipeline(chain, "--apply")
    changed = pipeline(chain, "--set", "stages.b.value=2", "--apply")
    assert last_line(changed) == "Cached: a, c; Ran: b, d"
    assert "b 2" in (chain / "d.txt").read_text(encoding="utf-8")
    assert git(chain, "diff", "--name-only").splitlines() == ["params.yaml"]
    assert last_line(pipeline(chain, "--target", "c")) == "Cached: a, c"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--set", "stages.a.valeu=2"], "params.yaml has unknown keys: valeu"),
        (["--set", "profile.x=2"], "'profile.x': profile is a value, not a section"),
        (["--set", "stages.a.value=[1"], "'stages.a.value=[1': [1 is not YAML; put a text in quotes"),
        (["--set", "stages.a.value"], "'stages.a.value' is not of the form KEY=VALUE"),
        (["--parallel", "0"], "parallel is 0; let at least 1 stage run at a time"),
        (["--profile", "bset"], "'bset' is not a profile"),
        (["--target", "e"], "dvc.yaml has no stage 'e'; the stages are a, b, c, d"),
    ],
)
@pytest.mark.fault(13)
def test_bad_settings(chain: Path, option: list[str], message: str) -> None:
    """Found before the first stage starts."""
    done = pipeline(chain, *option)
    assert done.returncode == 1
    assert message in done.stderr
    assert "at work" not in done.stdout


def test_a_day_is_a_text() -> None:
    given = assignments(["web.since=2024-05-01", "student.epochs=3", "clean.language=no", "student.rate=1e-05"])
    assert given == {"web.since": "2024-05-01", "student.epochs": 3, "clean.language": "no", "student.rate": 1e-05}


@pytest.mark.fault(9)
def test_a_failed_stage(chain: Path) -> None:
    """The independent branch goes on, stages that did not run are listed, and the next run resumes there."""
    set_param(chain, "b", fails=True)
    done = pipeline(chain)
    assert done.returncode == 1
    assert "b: told to fail" in done.stderr
    assert "Not up to date: b, d." in done.stderr
    assert "c: Ran" in done.stdout
    set_param(chain, "b", fails=False)
    assert last_line(pipeline(chain)) == "Restored: a, c; Ran: b, d"


def test_two_equal_runs_at_once(chain: Path, tmp_path: Path) -> None:
    """One works, the other waits and takes its result, not what dvc.lock has for other inputs."""
    pipeline(chain, "--apply")
    go, ran = tmp_path / "go", tmp_path / "ran.log"
    set_param(chain, "a", until=str(go), value=2)
    environment = os.environ | {"STAGE_LOG": str(ran)}
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    runs = []
    for log, sign in zip(logs, ("a: at work", "Waiting for the same work in another run"), strict=True):
        with log.open("w") as file:
            runs.append(subprocess.Popen(command("--apply"), cwd=chain, env=environment, stdout=file, stderr=file))
        wait_until(partial(_says, log, sign), sign, runs[-1])
    go.touch()
    assert [run.wait(LIMIT) for run in runs] == [0, 0]
    assert sorted(ran.read_text(encoding="utf-8").split()) == list("abcd")
    ends = [log.read_text(encoding="utf-8").splitlines()[-1] for log in logs]
    assert ends[0].startswith("Ran: a") or "; Ran: a" in ends[0]
    assert ends[1].startswith("Restored: a")
    assert (chain / "d.txt").read_text(encoding="utf-8").startswith("a 2\n")


def test_an_equal_run_that_ends_between(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """regression: if another run ended after the look into the run-cache and before the lock, the stage ran again."""
    alone = Stages._alone

    def late(*arguments: Any) -> AbstractContextManager[None]:
        assert last_line(cli(pair, "run")) == "Ran: a, b"
        return alone(*arguments)

    options: dict[str, Any] = {"profile": None, "overrides": {}, "target": "a", "parallel": 1, "force": False}
    with open_run(pair, **options, gpu="local", log=print) as run:
        monkeypatch.setattr(Stages, "_alone", late)
        assert run.bring_up_to_date(run.stages[0], print) is Outcome.RESTORED


def test_an_entry_that_another_run_writes_now(pair: Path) -> None:
    """regression: DVC took the unfinished file for a damaged entry and deleted it, so that the other run failed."""
    pipeline(pair, "--apply")
    halves = [place / ".half.tmp" for place in (pair / ".dvc/cache/runs").glob("*/*")]
    for half in halves:
        half.write_text("cmd: [", encoding="utf-8")
    (pair / "dvc.lock").unlink()
    assert last_line(pipeline(pair)) == "Restored: a, b"
    assert halves and all(half.exists() for half in halves)


def _says(log: Path, text: str) -> bool:
    return text in log.read_text(encoding="utf-8")


@pytest.mark.fault(7)
def test_a_damaged_object(pair: Path) -> None:
    """It is made again, whether dvc.lock or the run-cache would have led to it."""
    pipeline(pair, "--apply")
    cache = pair / ".dvc/cache"
    (name,) = [out["md5"] for out in _lock(pair)["b"]["outs"]]
    damage(cache, name)
    done = pipeline(pair)
    assert f"Object {name} of DVC's cache was damaged" in done.stdout
    assert last_line(done) == "Cached: a; Ran: b"
    (pair / "dvc.lock").unlink()
    damage(cache, name)
    done = pipeline(pair)
    assert "1 objects of b in DVC's cache were damaged" in done.stdout
    path = cache / "files/md5" / name[:2] / name[2:]
    assert path.read_text(encoding="utf-8") == B


def _lock(root: Path) -> dict[str, dict[str, list[dict[str, str]]]]:
    stages: dict[str, dict[str, list[dict[str, str]]]] = yaml.safe_load((root / "dvc.lock").read_text())["stages"]
    return stages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.fault(3)
def test_signals(chain: Path, number: signal.Signals, tmp_path: Path) -> None:
    """The stage that runs ends with its run, and the status is not 0."""
    set_param(chain, "a", until=str(tmp_path / "never"))
    process = run_at_work(chain, tmp_path / "log")
    process.send_signal(number)
    assert process.wait(LIMIT) != 0
    assert not _at_work(chain)


def _at_work(root: Path) -> list[str]:
    """Commands of living processes in a worktree of `root`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(root / RUNS) in str((entry / "cwd").readlink()):
                found.append((entry / "cmdline").read_text())
        except OSError:  # it has ended meanwhile
            continue
    return found


@pytest.mark.fault(4)
def test_two_runs_and_a_developer(pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs and a `dvc repro` in the workspace do not disturb each other.

    One run and the developer are at stage a at once; the other run waits for the first one's result.
    """
    monkeypatch.setenv("STAGES_AT_WORK", str(tmp_path / "at work"))
    (tmp_path / "at work").mkdir()
    set_param(pair, "a", beside=2)
    runs = [
        subprocess.Popen(command("--set", f"stages.b.value={value}"), cwd=pair, stdout=subprocess.PIPE, text=True)
        for value in (2, 3)  # not the developer's, whose result they could take over
    ]
    here = subprocess.run([*command()[:2], "dvc", "repro", "--quiet"], cwd=pair, check=False)
    outputs = [run.communicate(timeout=LIMIT)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert here.returncode == 0
    assert all("b: Ran" in output for output in outputs)
    assert (pair / "b.txt").read_text(encoding="utf-8") == B


def test_independent_stages_overlap(tmp_path: Path) -> None:
    """Eight stages run in parallel, none of which ends before all have started; dvc.lock has the entry of each."""
    names = [f"s{number}" for number in range(8)]
    root = make_repository(tmp_path / "workspace", {name: stage(name) for name in names})
    at_work = tmp_path / "at work"
    at_work.mkdir()
    for name in names:
        set_param(root, name, beside=len(names))
    done = pipeline(root, "--parallel", "8", "--apply", STAGES_AT_WORK=str(at_work))
    assert last_line(done) == f"Ran: {', '.join(names)}"
    assert sorted(_lock(root)) == names


AWAY = '''\
"""Stands for the plugin dvc-ssh: a file system whose host refuses each connection."""
import socket
from dvc_objects.fs.base import FileSystem

class SSHFileSystem(FileSystem):
    protocol = "ssh"

    @property
    def fs(self):
        socket.create_connection(("127.0.0.1", 9))
'''


def test_a_plugin_that_is_missing(pair: Path) -> None:
    """One line with the remedy; the run needs no remote, as `dvc repro` does not."""
    with (pair / ".dvc/config").open("a", encoding="utf-8") as file:
        file.write("    remote = store\n['remote \"store\"']\n    url = gs://bucket/store\n")
    done = pipeline(pair)
    assert done.returncode == 0, done.stderr
    assert last_line(done) == "Ran: a, b"
    assert "Warning: the DVC remote 'store' cannot be used, so nothing is pulled. " in done.stdout
    assert "Install it: pip install dvc-gs" in done.stdout


@pytest.mark.fault(37)
def test_a_remote_that_cannot_be_reached(pair: Path, tmp_path: Path) -> None:
    """Each stage that was not cached failed. Now it is one warning, and an earlier run's work counts."""
    pipeline(pair, "--apply")
    lock = pair / "dvc.lock"
    lock.write_text(lock.read_text(encoding="utf-8").replace(_lock(pair)["b"]["outs"][0]["md5"], "f" * 32), "utf-8")
    with (pair / ".dvc/config").open("a", encoding="utf-8") as file:
        file.write("    remote = away\n['remote \"away\"']\n    url = ssh://127.0.0.1:9/store\n")
    (tmp_path / "dvc_ssh.py").write_text(AWAY, encoding="utf-8")
    modules = os.pathsep.join([str(tmp_path), *sys.path])
    done = cli(pair, "run", PYTHONPATH=modules)
    assert "Connection refused" in done.stdout
    assert last_line(done) == "Cached: a; Restored: b"
    done = cli(pair, "run", "--set", "stages.a.value=2", PYTHONPATH=modules)
    assert last_line(done) == "Ran: a, b"
    assert done.stdout.count("Warning: nothing more is pulled in this run") == 1
