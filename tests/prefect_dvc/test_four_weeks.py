"""Four weeks of somebody who distils an encoder from their own text, of which there is more each week.

The real stages benchmarks, crawl, clean, soft_labels, student and domain, with a BERT of one layer as the teacher, in a
repository of its own. The texts are generated; `stages.params new` brings each week's edition, as `make distil` does.
"""

import json
import random
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient

import sentence_distillery as sd
from prefect_dvc.pipeline import run_in_threads
from prefect_dvc.registry.promotion import Channel, assigned, promoted, registered, rollback
from prefect_dvc.retraining import Decision, RetrainSettings, Verdict, retrain_once
from prefect_dvc.server.serve import origin_of, read_key
from prefect_dvc.workspace.directory import RUNS
from stages.params import main as params_command
from tests.sockets import free_port
from tests.tiny_bert import write_tiny_bert
from tests.waiting import SERVER_PAUSE, wait_until
from tests.workspace import ROOT, demo_params

from .conftest import commit_all, dvc_, git, init_dvc, init_git, write_yaml
from .models import add_remote
from .test_ui import command_of, ui

NAME = "films"
CHANNEL = Channel("student")
FINGERPRINTS = "data/benchmarks/evaluation_fingerprints.parquet"
IGNORED = "/data/benchmarks\n/data/corpus\n/data/checkpoints\n/models\n"


def real(module: str, params: list[str], deps: list[str], outs: list[str]) -> dict[str, Any]:
    """An entry of dvc.yaml for a stage of this project."""
    counters = f"reports/counters/{module.rpartition('.')[2]}.json"
    return {"cmd": f"python -m stages.{module}", "params": params, "deps": deps, "outs": [*outs, counters]}


GRAPH: dict[str, Any] = {
    "benchmarks": real("benchmarks.benchmarks", ["benchmarks"], ["data/samples"], ["data/benchmarks"]),
    "crawl": real("corpus.crawl", ["crawl", "web"], ["${crawl.folder}"], ["data/corpus/articles"]),
    "clean": real(
        "corpus.clean",
        ["clean", "held_out"],
        ["data/corpus/articles", FINGERPRINTS, "${held_out.pool}"],
        ["data/corpus/sentences", "reports/corpus.json"],
    ),
    "soft_labels": real(
        "distillation.soft_labels", ["teacher", "soft_labels"], ["data/corpus/sentences"], ["data/soft_labels"]
    ),
    "student": real(
        "distillation.student",
        ["name", "clean", "student", "size"],
        ["data/corpus/sentences", "data/soft_labels", "data/benchmarks"],
        ["models/student", "reports/curves"],
    ),
    "domain": real(
        "evaluation.domain",
        ["held_out", "teacher", "domain"],
        ["data/corpus/sentences", "data/soft_labels", "models/student"],
        ["reports/domain.csv", "reports/held_out"],
    ),
    "paper": {"cmd": "exit 1", "deps": ["models/student"], "outs": ["paper.html"]},  # nobody promotes a paper
}
CONFIG: dict[str, Any] = {
    "params": {
        "check": "python -m stages.params",
        "use": "python -m stages.params use",
        "profiles": "conf/profile",
        "open": ["encoders"],
    },
    "paths": {"brought": ["data/texts", "data/checkpoints"], "returned": ["data/checkpoints"]},
    "registry": {
        "artifact": "student",
        "metrics": ["reports/held_out/metrics.json"],
        "benchmarks": ["reports/held_out/pool.json"],
        "draws": ["reports/held_out/draws.json"],
        "tolerances": {"student/held_out/recall_at_10": 0.01, "student/held_out/random_pairs": 0.05},
        "gains": {"student/held_out/recall_at_10": 0.01},
    },
}
WORDS = {
    "who": "captain judge doctor farmer minister teacher singer thief pilot actor dancer soldier writer baker",
    "how": "old young tired clever angry famous lonely quiet brave lost rich proud",
    "did": "met left found chased praised followed warned married forgot rescued painted betrayed",
    "where": "harbour market village hospital stadium library station museum castle forest desert island",
    "when": "winter spring summer autumn war night dawn storm wedding strike flood harvest",
}
ORDER = ("how", "who", "did", "where", "when")


def texts(number: int) -> list[str]:
    """The first so many reviews, the same ones each time."""
    generator = random.Random(7)
    found = dict[str, None]()
    while len(found) < number:
        how, who, did, where, when = (generator.choice(WORDS[name].split()) for name in ORDER)
        whom = generator.choice(WORDS["who"].split())
        found[f"The {how} {who} {did} the {whom} at the {where} in {when}."] = None
    return list(found)


def bring(number: int) -> None:
    """A week's edition: the texts so far, in another order, as an export gives them."""
    given = sorted(texts(number), key=lambda text: text[::-1])
    Path("../export.csv").write_text("\n".join(["text", *given]) + "\n", encoding="utf-8")
    params_command(["new", NAME, "--texts", "../export.csv", "--teacher", "tiny"])
    git(Path.cwd(), "checkout", "--quiet", "params.yaml")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "workspace"
    shutil.copytree(ROOT / "data/samples", root / "data/samples")
    (root / ".gitignore").write_text(f"{IGNORED}/data/texts\n/data/soft_labels\n/reports\n", encoding="utf-8")
    write_yaml(root / "dvc.yaml", {"stages": GRAPH, "artifacts": {"student": {"path": "models/student"}}})
    write_yaml(root / "flows.yaml", CONFIG)
    write_tiny_bert(root / "tiny")
    base = demo_params(
        clean={"near_duplicate_threshold": 1.0, "line_repeats": 1000},
        held_out={"share": 0.2, "maximum_sentences": 100},
        benchmarks={"sets": ["samples"]},
        student={"dimension": 16, "epochs": 8, "batch_size": 64},
        domain={"peers": []},
        shards={"processes": 1},
    )
    (root / "conf/profile").mkdir(parents=True)
    write_yaml(root / "conf/base.yaml", base)
    shutil.copytree(ROOT / "conf/held_out", root / "conf/held_out")
    write_yaml(root / "conf/profile/demo.yaml", {"name": "demo"})
    shutil.copy(root / "conf/base.yaml", root / "params.yaml")
    init_git(root)
    init_dvc(root)
    commit_all(root, "A graph")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(root)
    return root


@contextmanager
def retraining(root: Path, **fields: Any) -> Iterator[tuple[Verdict, Path]]:
    """A retraining, with the directory of its run, and a line for whoever reads the output of the test."""
    begun = time.monotonic()
    order = RetrainSettings(profile=NAME, **fields)
    verdict = retrain_once(root, order, run_in_threads, lambda line: None, "a test")
    directory = max(path for path in (root / RUNS).iterdir() if path.is_dir())
    made, kept = labels(directory)
    print(f"{verdict.decision}: {verdict.reason} ({time.monotonic() - begun:.0f} s, {made} labels made, {kept} kept)")
    yield verdict, directory


def labels(directory: Path) -> tuple[int, int]:
    """How many labels the run in this directory has made, and how many it found."""
    costs = json.loads((directory / "reports/costs/soft_labels.json").read_text(encoding="utf-8"))
    return int(costs["labels made"]), int(costs["labels kept"])


def pool(directory: Path) -> dict[str, Any]:
    """What the figures of a run were measured on."""
    sets: dict[str, Any] = json.loads((directory / "reports/held_out/pool.json").read_text(encoding="utf-8"))["sets"]
    return sets


@pytest.mark.endurance
def test_four_weeks(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Own text of 600 documents grows by 200 a week; see the comments."""
    # Week 1: promoted against a floor, since there is nothing to compare with.
    bring(600)
    commit_all(workspace, "The profile and its held-out texts")
    floors, small = {"student/held_out/recall_at_10": 0.1}, {"student.epochs": 2}
    with retraining(workspace, floors=floors, overrides=small) as (verdict, first):
        assert verdict.decision is Decision.PROMOTED, verdict.report
        everything, kept = labels(first)
        assert kept == 0

    # Week 2: 200 texts more. Only these are embedded; the figures are of the same held-out texts, and better.
    bring(800)
    assert git(workspace, "status", "--porcelain") == ""  # neither the profile nor the pool has changed
    with retraining(workspace, floors=floors) as (verdict, second):
        assert verdict.decision is Decision.PROMOTED, verdict.report
        assert pool(second) == pool(first) and pool(second)["held_out"]["rows"] == {"test": 100}
        assert 0 < labels(second)[0] <= 210 and labels(second)[1] >= everything - 10
        row = r"\| student/held_out/recall_at_10 \| 0\.\d+ \| 0\.\d+ \| \+0\.\d+, 95 % from \+"
        assert re.search(row, verdict.report), verdict.report

    # Week 3: a worse model. The agreement on the same texts refuses it.
    bring(1000)
    with retraining(workspace, overrides={"student.epochs": 1, "student.dimension": 2}) as (verdict, third):
        assert verdict.decision is Decision.NOT_PROMOTED
        assert re.search(r"student/held_out/recall_at_10: it loses 0\.\d+, but only 0\.01 are allowed", verdict.reason)
        assert pool(third) == pool(first)

    # A remote is added, and the model of week 2 turns out to be bad for another reason: back to week 1.
    add_remote(workspace, tmp_path / "store")
    assert [version.name for version in rollback(workspace, CHANNEL)] == ["v0.0.2", "v0.0.1"]

    # Week 4, by the page's deployment. The worker and the server die while the student is trained; both come back.
    bring(1200)
    port, log = free_port(), tmp_path / "ui.log"
    monkeypatch.setenv("PREFECT_DVC_RESOURCES", "gpu: 0")
    with ui(workspace, port, log) as process:
        key = read_key(workspace / ".prefect")

        def client() -> SyncPrefectClient:
            return SyncPrefectClient(f"{origin_of(port)}/api", auth_string=key)

        def order() -> UUID:
            with client() as asked:
                deployment = asked.read_deployment_by_name("retrain/retrain")
                parameters = {"profile": NAME, "overrides": {"student.epochs": 12}}
                return asked.create_flow_run_from_deployment(deployment.id, parameters=parameters).id

        def at_work() -> bool:
            with client() as asked:
                return any(task.name == "clean" for task in asked.read_task_runs())

        def end_of(number: UUID) -> str | None:
            try:
                with client() as asked:
                    state = asked.read_flow_run(number).state
            except httpx.HTTPError:  # the server is not back yet
                return None
            if state is None or not state.is_final() or state.is_crashed():  # a crashed one is scheduled again
                return None
            return str(state.name)

        first_order = order()
        wait_until(at_work, "it is at work", process, SERVER_PAUSE)
        for word in ("worker start --pool dvc", "prefect_dvc.cli serve"):
            command_of(process, word).send_signal(signal.SIGKILL)
        end = wait_until(partial(end_of, first_order), "the retraining has ended", process, SERVER_PAUSE)
        assert end == "Promoted", log.read_text(encoding="utf-8")
        said = log.read_text(encoding="utf-8")
    for name in ("runs", "server"):
        line = f"{name} has ended with status -9; its log is {workspace}/.prefect/{name}.log. It is started again."
        assert line in said
    fourth = max(path for path in (workspace / RUNS).iterdir() if path.is_dir())
    assert pool(fourth) == pool(first)
    print(f"Week 4: {labels(fourth)[0]} labels made, {labels(fourth)[1]} kept")

    # The registry: three versions, of which a rollback goes from the third to the first.
    assert [version.name for version in registered(workspace, "student")] == ["v0.0.1", "v0.0.2", "v0.0.3"]
    assert [version.name for version in assigned(workspace, CHANNEL)] == ["v0.0.1", "v0.0.3"]
    now = promoted(workspace, CHANNEL)
    assert now is not None and now.name == "v0.0.3"
    for number in (1, 2, 3):
        target = tmp_path / f"v{number}"
        get = ["artifacts", "get", str(workspace), "student", "--rev", f"v0.0.{number}", "--out", str(target)]
        dvc_(*get, cwd=tmp_path)
        vectors = sd.load(target).encode(["The tired captain left the harbour at dawn."])
        assert vectors.shape == (1, 16)
        assert len(json.loads((target / "config.json").read_text(encoding="utf-8"))["corpus_sha256"]) == 64
    counted = yaml.safe_load((workspace / "conf/profile/films.yaml").read_text(encoding="utf-8"))
    assert counted["held_out"] == {"pool": f"conf/held_out/{NAME}.csv"}
