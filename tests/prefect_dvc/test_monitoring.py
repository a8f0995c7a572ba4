"""What production asks of the server: its metrics, and what it forgets."""

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from prefect import State
from prefect.states import Completed, Failed

from prefect_dvc.charts import draw, history, panels
from prefect_dvc.pipeline import run_in_threads
from prefect_dvc.registry.promotion import Channel, PromotionError, promoted, trace
from prefect_dvc.retrain_flow import SHOWN, given_to_flow, retrain
from prefect_dvc.retraining import RetrainSettings, retrain_once
from prefect_dvc.server.reports import KEPT, KEPT_DAYS, Reports
from tests.waiting import LIMIT, SERVER_PAUSE, wait_until

from .conftest import dvc_
from .handoff_server import Server, spawn
from .models import make_models

CHANNEL = Channel("student")


@pytest.fixture(scope="module")
def promotions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two promoted versions."""
    root = make_models(tmp_path_factory.mktemp("models") / "workspace")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        patch.chdir(root)
        for number in range(2):
            order = RetrainSettings(
                artifact="student",
                snapshot=date(2026, 11, 21 + number),
                overrides={"student.spearman": 0.5 + number / 100},
            )
            retrain_once(root, order, run_in_threads, print, "a test")
    return root


@pytest.fixture(scope="module")
def server(promotions: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server in this repository that looks every second for history to remove."""
    server = Server(tmp_path_factory.mktemp("prefect"))
    server.environment |= {"PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS": "1"}
    command = ["prefect_dvc.cli", "serve", "--port", str(server.port)]
    server.process = spawn(command, promotions, server.environment, server.log)
    wait_until(server.answers, "the server answers", server.process, SERVER_PAUSE)
    yield server
    server.stop()


def test_metrics(server: Server, promotions: Path) -> None:
    """Without the key there are none. The last failure is a decision among others."""
    with server.client() as client:
        states: list[State[None]] = [Failed(message="x"), Completed(name="Promoted"), Completed(name="Promoted")]
        for state in states:
            client.create_flow_run(retrain, state=state)
    assert httpx.get(f"{server.origin}/metrics").status_code == 401
    told = httpx.get(f"{server.origin}/metrics", auth=server.auth)
    assert told.status_code == 200 and told.headers["content-type"].startswith("text/plain")
    found = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in told.text.splitlines())}
    labels = '{artifact="student",stage="production"}'
    assert time.time() - 3600 < found[f"prefect_dvc_last_promotion_timestamp_seconds{labels}"] <= time.time() + 5
    day = datetime(2026, 11, 22, tzinfo=UTC).timestamp()
    assert found[f"prefect_dvc_data_timestamp_seconds{labels}"] == day
    assert found['prefect_dvc_flow_runs{state="Running"}'] == 0
    for decision in ("Failed", "Promoted"):
        moment = found[f'prefect_dvc_last_retraining_timestamp_seconds{{decision="{decision}"}}']
        assert time.time() - 3600 < moment <= time.time() + 5


def test_old_runs_are_forgotten(server: Server) -> None:
    """A run that ended a hundred days ago leaves Prefect's database; one of today stays."""
    with server.client() as client:
        for name in ("old", "new"):
            client.create_flow_run(retrain, name=name, state=Completed())
        long_ago = (datetime.now(UTC) - timedelta(days=100)).strftime("%Y-%m-%d %H:%M:%S.%f")
        with closing(sqlite3.connect(server.log.parent / "prefect.db", timeout=LIMIT)) as database, database:
            database.execute("UPDATE flow_run SET end_time = ? WHERE name = 'old'", (long_ago,))

        def names() -> set[str]:
            return {run.name for run in client.read_flow_runs()}

        wait_until(lambda: "old" not in names(), "the old run is removed", server.process, SERVER_PAUSE)
        assert "new" in names()


def test_old_reports_are_forgotten(tmp_path: Path) -> None:
    """Of those that are older than the newest hundred."""
    reports = Reports(tmp_path, "a:b")
    for number in range(KEPT + 20):
        file = tmp_path / f"20260101-{number:06d}-0000"
        file.touch()
        if number < 10:
            moment = time.time() - (KEPT_DAYS + 1) * 86_400
            os.utime(file, (moment, moment))
    reports._forget()
    assert len(list(tmp_path.iterdir())) == KEPT + 10


def test_the_figures_of_all_versions(promotions: Path) -> None:
    """From the tags, and as a chart of those that count."""
    versions = history(promotions, CHANNEL)
    assert [name for name, _ in versions] == ["v0.0.1", "v0.0.2"]
    assert [known["student/lee/spearman"] for _, known in versions] == [0.5, 0.51]
    (panel,) = [each for each in panels(versions, lambda name: name.endswith("spearman")) if "lee" in each.title]
    assert (panel.xs, panel.ys) == (("v0.0.1", "v0.0.2"), (0.5, 0.51))
    assert draw([panel]).startswith(b"\x89PNG")
    assert panels(versions[:1], lambda name: True) == []


def test_a_copied_model_is_traced_back(promotions: Path, tmp_path: Path) -> None:
    """By its files alone: the version, the commit, the run, the figures, and the hash of each input."""
    dvc_("artifacts", "get", str(promotions), "student", "--out", "model", "--rev", "v0.0.1", cwd=tmp_path)
    told = trace(promotions, CHANNEL, tmp_path / "model")
    assert told.startswith("student@v0.0.1  ") and "Promote the student of run 20" in told
    assert "student/lee/spearman: 0.5\n" in told and "web.snapshot: 2026-11-21" in told
    assert re.search(r"^made of data/benchmarks: md5 [0-9a-f]{32}\.dir$", told, re.M)
    (tmp_path / "model/model.txt").write_text("another", encoding="utf-8")
    with pytest.raises(PromotionError, match="is not a registered version of 'student': its hash is"):
        trace(promotions, CHANNEL, tmp_path / "model")


def test_the_form(promotions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the parameters that matter; the others are one field, which takes their names alone."""
    schema = retrain.parameters.model_dump()["properties"]
    assert set(schema) == {*SHOWN, "further"}
    assert "keep_runs" in schema["further"]["propertyNames"]["enum"]
    assert "keep_days" in schema["further"]["description"]
    settings = RetrainSettings(artifact="student", keep_runs=7)
    given = given_to_flow(settings)
    assert RetrainSettings(**{name: given[name] for name in SHOWN}, **given["further"]) == settings
    assert promoted(promotions, CHANNEL) is not None
