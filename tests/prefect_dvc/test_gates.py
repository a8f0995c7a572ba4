"""The two gates of a retraining: the edition of the corpus before any training, and the least gain after it."""

import json
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from prefect_dvc.errors import SettingsError
from prefect_dvc.execution.run import PipelineError
from prefect_dvc.pipeline import run_in_threads
from prefect_dvc.registry.comparison import ToleranceError
from prefect_dvc.registry.data_gate import Edition, problems, read_edition
from prefect_dvc.retraining import Decision, RetrainSettings, Verdict, retrain_once
from prefect_dvc.settings.flows_yaml import EditionFiles
from prefect_dvc.settings.yaml_reader import read_yaml

from .conftest import CONFIG, commit_all, git, write_yaml
from .models import EDITION_CONFIG, MODEL_CONFIG, change, make_models

COUNTERS, OVERVIEW = EDITION_CONFIG["counters"], EDITION_CONFIG["overview"]
LIMITS: dict[str, Any] = EDITION_CONFIG["limits"]

CLEAN = '''\
"""Counts an edition of the corpus as params.yaml describes it."""
import json
from pathlib import Path
import yaml

kept = yaml.safe_load(Path("params.yaml").read_text())["clean"]["kept"]
Path("reports/counters").mkdir(parents=True, exist_ok=True)
counters = {"kept": kept, "total": 100, "details": {"documents kept": 10}} if kept else {}
Path("reports/counters/clean.json").write_text(json.dumps(counters))
Path("reports/corpus.json").write_text(json.dumps({"growth": [[0, 0], [1000, 300]]}))
'''
EDITION = Edition(kept=80, total=100, documents=10, foreign=1, growth=((0, 0), (1000, 300), (2000, 500)))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, []),
        ({"kept": 56, "total": 70}, []),
        ({"kept": 40, "total": 50}, ["rows: 40 kept sentences, 80 before: 50 % fewer, 30 % are allowed"]),
        ({"total": 120}, ["dropped: 40 of 120 sentences are dropped: 13 % more, 10 % are allowed"]),
        ({"foreign": 2}, ["language: 2 of 10 documents are in another language: 10 % more, 5 % are allowed"]),
        (
            {"growth": ((0, 0), (1500, 600))},
            ["vocabulary: 600 distinct among the first 1,500 words, 400 before: 50 % different, 20 % are allowed"],
        ),
    ],
)
def test_what_the_data_gate_refuses(fields: dict[str, Any], told: list[str]) -> None:
    assert problems(EDITION, replace(EDITION, **fields), LIMITS) == told
    assert problems(EDITION, replace(EDITION, **fields), {}) == []


def test_limits_of_the_data_gate() -> None:
    with pytest.raises(
        ToleranceError, match="'row' is not a data gate; the gates are rows, dropped, language, vocabulary"
    ):
        problems(EDITION, EDITION, {"row": 1})
    with pytest.raises(ToleranceError, match="'much' is not a tolerance"):
        problems(EDITION, replace(EDITION, kept=1), {"rows": "much"})


def test_an_edition_is_read() -> None:
    """The form that the cleaner writes; documents that are held out count, too."""
    details = {"documents kept": 7, "documents held out": 1, "documents dropped: language": 2, "held out": 128}
    counters = json.dumps({"kept": 80, "total": 100, "details": details})
    files = EditionFiles()
    assert read_edition(files, counters, '{"growth": [[0, 0], [9, 5]]}') == Edition(80, 100, 10, 2, ((0, 0), (9, 5)))
    assert read_edition(files, counters, None) == Edition(80, 100, 10, 2)


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A clone that retrains, and the repository that its colleagues push to; its corpus has a cleaner."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    root = make_models(tmp_path / "origin")
    (root / "clean.py").write_text(CLEAN, encoding="utf-8")
    graph, params = (read_yaml((root / name).read_text(encoding="utf-8")) for name in ("dvc.yaml", "params.yaml"))
    graph["stages"]["clean"] = {"cmd": "python clean.py", "params": ["clean"], "outs": [COUNTERS, OVERVIEW]}
    graph["stages"]["student"]["deps"].append(COUNTERS)
    write_yaml(root / "dvc.yaml", graph)
    write_yaml(root / "params.yaml", params | {"clean": {"kept": 80}})
    write_yaml(root / "flows.yaml", CONFIG | MODEL_CONFIG | {"edition": EDITION_CONFIG})
    (root / ".gitignore").write_text(
        f"{(root / '.gitignore').read_text(encoding='utf-8')}/{COUNTERS}\n/{OVERVIEW}\n", encoding="utf-8"
    )
    commit_all(root, "A cleaner")
    git(tmp_path, "clone", "--quiet", str(root), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone", root


def retrain_in(clone: Path, **fields: Any) -> Verdict:
    order = RetrainSettings(artifact="student", source="origin", revision="main", snapshot=date(2026, 11, 21))
    return retrain_once(clone, replace(order, **fields), run_in_threads, print, "a test")


def test_the_first_model(origin: tuple[Path, Path]) -> None:
    """A misspelt tolerance, a figure below its floor and a floor of no figure keep also the first model back."""
    retrain = partial(retrain_in, origin[0])
    misspelt = retrain(tolerances={"students/*/spearman": 0.1})
    assert misspelt.decision is Decision.NOT_PROMOTED
    assert misspelt.reason.startswith(
        "'students/*/spearman' fits none of the metrics; did you mean 'student/lee/spearman'? To promote it anyway"
    )
    low = retrain(floors={"student/lee/spearman": 0.6, "student/lee/mae": 1.5})
    assert low.decision is Decision.NOT_PROMOTED
    assert low.reason.startswith("student/lee/spearman is 0.5, but must be 0.6 or more. To promote it anyway:")
    unmeasured = retrain(floors={"student/lee/accuracy": 0.6})
    assert "'student/lee/accuracy' fits none of the metrics" in unmeasured.reason
    assert retrain(floors={"student/*/spearman": 0.5, "student/lee/mae": 1.0}).decision is Decision.PROMOTED


@pytest.mark.fault(39)
def test_an_edition_and_a_gain(origin: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A bad edition is refused before any training. What colleagues have pushed is fetched first."""
    clone, hub = origin
    retrain = partial(retrain_in, clone)
    assert retrain().decision is Decision.PROMOTED
    assert "student: at work" in capsys.readouterr().out
    message = git(clone, "log", "-1", "--format=%B", "promoted")
    assert "student/lee/spearman: 0.5\n" in message
    assert "web.snapshot: 2026-11-21" in message
    assert "student/lee/spearman: 0.5" in git(clone, "tag", "--list", "--format=%(contents)", "student@v0.0.1")

    change(hub, "clean", kept=40)
    refused = retrain()
    assert refused.decision is Decision.REFUSED
    assert refused.reason.startswith(
        "The data gate refuses this edition. rows: 40 kept sentences, 80 before: 50 % fewer"
    )
    assert "student: at work" not in capsys.readouterr().out

    change(hub, "student", spearman=0.501)
    small = retrain(data={}, gains={"student/lee/spearman": 0.01})
    capsys.readouterr()
    assert small.decision is Decision.NOT_PROMOTED
    assert small.reason == "No metric gains enough: student/lee/spearman gains 0.001, but 0.01 are required."
    with pytest.raises(ToleranceError, match="fits the least gains: student/sentences_per_second"):
        retrain(gains={"student/sentences_per_second": 1})
    assert "student: at work" not in capsys.readouterr().out
    assert git(clone, "for-each-ref", "refs/prefect-dvc/fetched") == ""
    with pytest.raises(SettingsError, match="git has no remote 'upstream' to fetch from; it has origin"):
        retrain(source="upstream")
    with pytest.raises(ToleranceError, match="'row' is not a data gate; the gates are rows"):
        retrain(data={"row": 0.1})
    with pytest.raises(ToleranceError, match="'student/sick/\\*' fits none of the metrics"):
        retrain(gains={"student/sick/*": 0.1})
    with pytest.raises(SettingsError, match="A site needs a profile: name the profile that goes with 'x'"):
        retrain(site="x")


def test_a_gate_that_cannot_read(origin: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """It stays shut: no training, no promotion. regression: the run went on as if the stage had been up to date."""
    clone, hub = origin
    for section, key in (("edition", "counters"), ("registry", "metrics")):
        config = read_yaml((hub / "flows.yaml").read_text(encoding="utf-8"))
        config[section][key] = "reports/none.json"
        write_yaml(clone / "flows.yaml", config)
        with pytest.raises(SettingsError, match=rf"{section}.{key} is 'reports/none.json', which no stage of dvc.yaml"):
            retrain_in(clone)
    git(clone, "checkout", "--quiet", "flows.yaml")
    assert retrain_in(clone).decision is Decision.PROMOTED
    capsys.readouterr()
    change(hub, "clean", kept=0)
    with pytest.raises(PipelineError, match=r"reports/counters/clean.json .* lacks counts that the data gate compares"):
        retrain_in(clone)
    assert "student: at work" not in capsys.readouterr().out
