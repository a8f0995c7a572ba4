"""Retraining with real runs of DVC, and `dvc artifacts get` from a clone; without a Prefect server."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml

from prefect_dvc.errors import SettingsError
from prefect_dvc.pipeline import run_in_threads
from prefect_dvc.registry import promotion
from prefect_dvc.registry.comparison import ToleranceError
from prefect_dvc.registry.promotion import Channel, PromotionError, promoted, registered, rollback
from prefect_dvc.retraining import Decision, RetrainSettings, Verdict, day_in, retrain_once
from prefect_dvc.workspace.directory import RUNS
from prefect_dvc.workspace.git import git
from tests.bound import bound
from tests.waiting import FOREVER, LIMIT

from .conftest import cli, commit_all, dvc_
from .models import LEE, add_remote, change

CHANNEL = Channel("student")
ORDER = RetrainSettings(artifact="student", snapshot=date(2026, 11, 21))


@pytest.fixture
def stored(models: Path) -> Path:
    """With a remote of DVC's."""
    add_remote(models, models.parent / "store")
    return models


def retrain(root: Path, order: RetrainSettings = ORDER, **overrides: object) -> Verdict:
    nested = {key.replace("__", "."): value for key, value in overrides.items()}
    return retrain_once(root, replace(order, overrides=nested), run_in_threads, print, "a test")


def start(root: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "prefect_dvc.cli", "retrain", *options]
    # It ends with pytest, however that ends: its stage would wait for an hour.
    return subprocess.Popen(bound(command), cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def fetched(url: Path, target: Path) -> str:
    """Fetch the model at the stage, knowing only the repository's URL."""
    get = ["artifacts", "get", str(url), "student", "--stage", "production", "--out", str(target)]
    dvc_(*get, cwd=target.parent)
    return (target / "model.txt").read_text(encoding="utf-8")


def test_from_the_first_model_to_a_rollback(stored: Path, tmp_path: Path) -> None:
    """A promoted model can be fetched from a clone, with only the remote's data; a worse model is not promoted."""
    (stored / "mine.txt").write_text("uncommitted\n", encoding="utf-8")
    first = retrain(stored)
    assert (first.decision, first.reason) == (
        Decision.PROMOTED,
        "v0.0.1 is at production. production had no version to compare with. Back: prefect-dvc rollback",
    )
    assert (
        git(stored, "ls-tree", "--name-only", "promoted", "mine.txt", "reports/promotion.md") == "reports/promotion.md"
    )
    assert "snapshot: '2026-11-21'" in git(stored, "show", "promoted:params.yaml")

    again = retrain(stored)
    assert again.decision is Decision.NOT_PROMOTED
    assert "The model is the same as that of v0.0.1, which is already at production." in again.reason

    worse = retrain(stored, replace(ORDER, snapshot=date(2026, 11, 22)), student__spearman=0.49)
    assert worse.decision is Decision.NOT_PROMOTED
    assert "student/lee/spearman: it loses 0.01, but only 0.005 are allowed." in worse.reason
    run = worse.reason.rpartition(" ")[2]
    assert "| student/lee/spearman | 0.5000 | 0.4900 | -0.01 |" in git(
        stored, "show", f"refs/tags/prefect-dvc/runs/{run}:reports/promotion.md"
    )

    better = retrain(stored, replace(ORDER, snapshot=date(2026, 11, 22)), student__spearman=0.496)
    assert better.decision is Decision.PROMOTED
    assert "Each of 2 metrics is within its tolerance of v0.0.1." in better.reason
    assert git(stored, "status", "--porcelain") == "?? mine.txt"
    assert git(stored, "branch", "--show-current") == "main"

    git(tmp_path, "clone", "--quiet", str(stored), "clone")
    assert fetched(tmp_path / "clone", tmp_path / "two") == "2026-11-22: 0.496\n"
    rollback(stored, CHANNEL)
    git(tmp_path / "clone", "fetch", "--quiet", "--tags")
    assert fetched(tmp_path / "clone", tmp_path / "one") == "2026-11-21: 0.5\n"


@pytest.mark.fault(13)
def test_refused_before_and_after_the_run(stored: Path) -> None:
    """Another benchmark refuses the comparison, however good the figures are; `promote` by hand remains.

    a tolerance for no metric, and a branch that is checked out, are reported before the run.
    """
    retrain(stored)
    runs = len(list((stored / RUNS).glob("*.lock")))
    with pytest.raises(ToleranceError, match=r"'student/sick/\*' fits none of the metrics"):
        retrain(stored, replace(ORDER, tolerances={"student/sick/*": 0.1}))
    with pytest.raises(PromotionError, match=r"Branch 'main' is checked out"):
        retrain(stored, replace(ORDER, branch="main"))
    with pytest.raises(SettingsError, match=r"params.yaml has no 'crawl.snapshot', so the snapshot 2026-11-21 would"):
        retrain(stored, replace(ORDER, snapshot_key="crawl.snapshot"))
    assert len(list((stored / RUNS).glob("*.lock"))) == runs

    change(stored, "benchmarks", lee=LEE | {"sha256": {"lee.cor": "ffff"}})
    verdict = retrain(stored, student__spearman=0.9)
    assert verdict.decision is Decision.NOT_PROMOTED
    assert "student/lee/spearman: benchmark 'lee' has changed: sha256 differ." in verdict.reason
    assert "To promote it anyway: prefect-dvc promote 20" in verdict.reason


def test_a_revision_that_does_not_exist(stored: Path) -> None:
    """It is named, and nobody is told to make the first commit."""
    with pytest.raises(SettingsError, match=r"'nosuch' is not a commit or a branch of this clone; `git branch` lists"):
        retrain(stored, replace(ORDER, revision="nosuch"))


def test_only_what_the_artifact_and_its_figures_need(stored: Path, tmp_path: Path) -> None:
    """A stage of the graph that neither the model nor a figure nor the report depends on does not run."""
    graph = yaml.safe_load((stored / "dvc.yaml").read_text(encoding="utf-8"))
    graph["stages"]["paper"] = {"cmd": "exit 1", "deps": ["models/student"], "outs": ["paper.html"]}
    (stored / "dvc.yaml").write_text(yaml.safe_dump(graph), encoding="utf-8")
    commit_all(stored, "A paper that cannot be made")
    assert retrain(stored).decision is Decision.PROMOTED


def test_cached_throughout(stored: Path) -> None:
    """Nothing is promoted, though nothing is at the stage and the figures are good.

    A default day that no parameter takes is left out.
    """
    told: list[str] = []
    order = RetrainSettings(artifact="student", snapshot_key="crawl.snapshot", promote=False)
    assert retrain_once(stored, order, run_in_threads, told.append, "a test").decision is Decision.GOOD
    assert told == ["params.yaml has no 'crawl.snapshot': the data stays as it is."]
    (run,) = git(stored, "for-each-ref", "--format=%(refname:short)", "refs/tags/prefect-dvc/runs").split()
    git(stored, "merge", "--quiet", run)
    verdict = retrain(stored, replace(ORDER, snapshot=None, snapshot_key="crawl.snapshot"))
    assert verdict.decision is Decision.CACHED
    assert "All stages were up to date, so there is no new model. To promote the existing model:" in verdict.reason
    assert registered(stored, "student") == []


def test_the_day_of_a_schedule() -> None:
    """An hour before midnight in London is the next day in Tokyo."""
    moment = datetime(2026, 11, 21, 23, tzinfo=UTC)
    assert day_in("Europe/London", moment) == date(2026, 11, 21)
    assert day_in("Asia/Tokyo", moment) == date(2026, 11, 22)
    with pytest.raises(SettingsError, match=r"'Tokio' is not a timezone; write it as in 'Europe/Berlin'"):
        day_in("Tokio")


def test_the_data_remote_is_gone(stored: Path, tmp_path: Path) -> None:
    """A model that cannot be fetched is not promoted; the run is kept, and promoted by hand once the remote is back."""
    (tmp_path / "store").rmdir()
    (tmp_path / "store").touch()
    with pytest.raises(PromotionError, match=r"did not reach DVC's remote, so nothing was changed") as caught:
        # pulling fails as well, so the remote breaks when the stages are done
        retrain(stored, ORDER)
    assert promoted(stored, CHANNEL) is None
    assert git(stored, "branch", "--list", "promoted") == ""
    (tmp_path / "store").unlink()
    remedy = str(caught.value).rpartition("prefect-dvc ")[2].split()
    done = cli(stored, *remedy)
    assert done.stdout == "student at production: v0.0.1\n", done.stderr


def test_a_remote_that_came_later(models: Path, tmp_path: Path) -> None:
    """A rollback pushes what the new remote lacks, and a run that was kept before it is promoted to it."""
    root, kept = models, replace(ORDER, promote=False)
    for number, order in enumerate((ORDER, ORDER, kept)):
        retrain(root, replace(order, tolerances={"*/spearman": 0.5}), student__spearman=0.5 + number / 100)
    run = git(root, "for-each-ref", "--format=%(refname:lstrip=-1)", "refs/tags/prefect-dvc/runs").split()[-1]
    store = tmp_path / "store"
    dvc_("remote", "add", "--quiet", "--local", "--default", "store", str(store), cwd=root)
    assert [version.name for version in rollback(root, CHANNEL)] == ["v0.0.2", "v0.0.1"]
    assert promotion.promote(root, run, CHANNEL, instead_of=promoted(root, CHANNEL)).name == "v0.0.3"
    for text in ("2026-11-21: 0.5\n", "2026-11-21: 0.52\n"):
        name = hashlib.md5(text.encode()).hexdigest()
        assert (store / "files/md5" / name[:2] / name[2:]).exists()


@contextmanager
def at_work(root: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A retraining whose student is being trained."""
    process = start(root, "--set", f"student.seconds={FOREVER}", *options)
    assert process.stdout is not None
    with process, process.stdout as output:
        assert any("at work" in line for line in output)
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.fault(4, 5)
def test_a_schedule_fires_while_a_run_is_under_way(stored: Path) -> None:
    """The second names the first and does nothing; one waits at most, and a killed one blocks nobody."""
    with at_work(stored) as process:
        runs = sorted((stored / RUNS).iterdir())
        second = start(stored)
        third = start(stored, "--wait")
        assert third.stdout is not None
        assert "This one waits." in third.stdout.readline()
        fourth = start(stored, "--wait").communicate(timeout=LIMIT)[0]
        assert f"prefect-dvc retrain (process {third.pid}, since 20" in fourth
        assert "already waits. This one ends without doing anything." in fourth
        output = second.communicate(timeout=LIMIT)[0]
        assert second.returncode == 1
        assert "Skipped" in output
        assert f"Another retraining is in progress: prefect-dvc retrain (process {process.pid}, since 20" in output
        assert sorted((stored / RUNS).iterdir()) == runs
        os.kill(process.pid, signal.SIGKILL)
        process.wait(LIMIT)
        output = third.communicate(timeout=LIMIT)[0]
    assert third.returncode == 0, output
    assert "# Promoted" in output


@pytest.mark.fault(3)
def test_a_stop(stored: Path) -> None:
    """SIGTERM ends the stage with the run; nothing is promoted."""
    with at_work(stored) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 128 + signal.SIGTERM
    assert promoted(stored, CHANNEL) is None
