"""The stage `domain`, after the stages that it needs."""

import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from sentence_distillery.corpus.held_out import write_pool
from sentence_distillery.domain.measures import METRICS
from sentence_distillery.domain.pool import DRAWN, POOL
from sentence_distillery.domain.pool import METRICS as METRICS_FILE
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.evaluation.results import over_seeds, read_results
from sentence_distillery.evaluation.scoring import draws
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import read_json, write_json
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting.domain import domain_section
from stages import paths
from stages.ablations.seeds import held_out_figures
from stages.benchmarks import benchmarks
from stages.corpus import clean
from stages.distillation import soft_labels, student
from stages.evaluation import domain
from stages.params import load_params
from tests.sentence_distillery.corpus.conftest import Workspace
from tests.sentence_distillery.distillation.conftest import write_benchmarks
from tests.sentence_distillery.distillation.test_distill import SENTENCES
from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT, write_params

COUNT = len(SENTENCES) // 5
POOL_NAMES = ("random_pairs", "near_pairs", "recall_at_1", "recall_at_10")


def configure(share: float = 0.2, seed: int = 1, pool: str = "conf/held_out/none.csv", **changes: Any) -> None:
    """params.yaml for a small student; no near-duplicates are dropped, since all the sentences are alike."""
    write_params(
        clean={"near_duplicate_threshold": 1.0},
        held_out={"share": share, "seed": seed, "pool": pool},
        teacher={"reference": "./tiny", "revision": None, "sha256": None, "maximum_length": 32}
        | changes.pop("teacher", {}),
        student={"dimension": 6, "epochs": 3, "batch_size": 32},
        shards={"processes": 1},
        **changes,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run up to the student, and the two variants as stages that are switched off leave them."""
    threads = torch.get_num_threads()
    directory = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        patch.setenv("DISTILLERY_DEVICE", "cpu")
        torch.set_num_threads(1)
        write_tiny_bert(Path("tiny"))
        workspace = Workspace(directory)
        workspace.articles(SENTENCES)
        configure()
        write_benchmarks(samples=("dev", "test"))
        workspace.hold_out([])
        for stage in (clean, soft_labels, student):
            stage.main()
        for path in (paths.MLP_HEAD, paths.FINE_TUNED_STUDENT):
            write_json(path / VARIANT, {"absent": "switched off in this run"})
        shutil.copytree(ROOT / paths.RELEASED, paths.RELEASED)
        yield directory
    torch.set_num_threads(threads)


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    monkeypatch.setenv("DISTILLERY_DEVICE", "cpu")
    return Path()


def test_a_row_for_each_encoder_and_figure(run: Path) -> None:
    domain.main()
    rows = read_results(paths.DOMAIN)
    systems = ["student", "released"]
    assert [(row.system, row.protocol, row.metric) for row in rows] == [
        (name, *each) for name in systems for each in METRICS
    ]
    assert {row.n for row in rows if row.protocol == "neighbours"} == {COUNT}
    values = {(row.system, row.metric): row for row in rows}
    own, released = (values[name, "recall_at_10"] for name in ("student", "released"))
    assert own.number is not None and released.number is not None and released.high is not None
    assert own.number > released.high  # the teacher has random weights, which only its student knows
    counters = json.loads((paths.COUNTERS / "domain.json").read_text())
    assert (counters["kept"], counters["dropped"]) == (12, {f"undefined: {COUNT} texts, but recall@100 needs 101": 2})
    first = paths.DOMAIN.read_bytes()
    domain.main()
    assert paths.DOMAIN.read_bytes() == first


def test_a_fixed_pool(run: Path) -> None:
    """Its figures, their draws and its hash are what a retraining compares; without a pool there are none."""
    domain.main()
    files = {name: read_json(paths.POOL_FIGURES / name, dict[str, Any]) for name in (METRICS_FILE, DRAWN, POOL)}
    assert files == {METRICS_FILE: {}, DRAWN: {}, POOL: {"sets": {}}}
    write_pool(pq.read_table(paths.SENTENCES / "held_out.parquet"), Path("pool.csv"))
    configure(pool="pool.csv")
    for stage in (clean, soft_labels, domain):
        stage.main()
    files = {name: read_json(paths.POOL_FIGURES / name, dict[str, Any]) for name in (METRICS_FILE, DRAWN, POOL)}
    rows = {row.metric: row.number for row in read_results(paths.DOMAIN) if row.system == "student"}
    own = files[METRICS_FILE]
    assert set(own) == {f"student/held_out/{name}" for name in POOL_NAMES}
    assert own["student/held_out/recall_at_10"] == pytest.approx(rows["recall_at_10"], abs=1e-4)
    assert files[DRAWN].keys() == own.keys()
    assert {len(drawn) for drawn in files[DRAWN].values()} == {1_000}
    about = files[POOL]["sets"]["held_out"]
    assert about["rows"] == {"test": COUNT}
    configure(pool="pool.csv", teacher={"reference": "./tiny", "maximum_length": 16})
    for stage in (clean, soft_labels, domain):
        stage.main()
    other = read_json(paths.POOL_FIGURES / POOL, dict[str, Any])["sets"]["held_out"]["sha256"]
    assert other["texts"] == about["sha256"]["texts"] and other["teacher"] != about["sha256"]["teacher"]


def test_another_seed(run: Path) -> None:
    """The figures of a seed have the keys of the run's own, so that their spread is known."""
    domain.main()
    own, other = read_results(paths.DOMAIN), list(held_out_figures(load_params(), 2))
    assert {row.seed for row in other} == {2}
    assert {row.system for row in other} == {"student"}
    spreads = {row.metric: row.spread for row in over_seeds(own, [other])}
    assert spreads["recall_at_10"] == pytest.approx(0.0, abs=1e-4)  # it is the same student here


def test_nothing_held_out(run: Path) -> None:
    configure(share=0.0)
    for stage in (clean, soft_labels):
        stage.main()
    domain.main()
    assert {row.value for row in read_results(paths.DOMAIN)} == {
        Unavailable("there are no held-out texts: held_out.share is 0")
    }
    assert list(held_out_figures(load_params(), 2)) == []


@pytest.mark.fault(20)
def test_ratings_that_are_nearly_all_equal(run: Path) -> None:
    """Of 50 pairs 45 are rated 5; a draw of pairs that are all rated 5 is left out and counted."""
    paths.SAMPLES.symlink_to(ROOT / paths.SAMPLES)
    file = paths.EXTERNAL / "mine/ratings.csv"
    file.parent.mkdir(parents=True)
    pairs = pairwise(SENTENCES[:51])
    lines = [f"{one},{other},{5 if number < 45 else 1}" for number, (one, other) in enumerate(pairs)]
    file.write_text("\n".join(["question,answer,stars", *lines]), encoding="utf-8")
    columns = {"sentence1": "question", "sentence2": "answer", "score": "stars"}
    own = {"name": "ratings", "task": "sts", "files": {"test": str(file)}, "columns": columns, "scale": [1, 5]}
    configure(benchmarks={"sets": ["samples"], "own": [own]})
    benchmarks.main()
    domain.main()
    assert "nan" not in paths.DOMAIN.read_text().lower()
    rows = [row for row in read_results(paths.DOMAIN) if row.dataset == "ratings"]
    student_row = next(row for row in rows if row.system == "student")
    assert student_row.left_out and student_row.low is not None and student_row.high is not None
    assert {row.left_out for row in rows if row.number is not None} == {student_row.left_out}
    write_json(paths.DRAWS, draws("student", StaticEncoder.load(paths.STUDENT), BenchmarkData(paths.BENCHMARKS)))
    of_pearson = read_json(paths.DRAWS, dict[str, list[float | None]])["student/ratings/pearson"]
    assert 0 < of_pearson.count(None) < len(of_pearson) / 50
    assert [table.caption for table in domain_section(rows, []).labelled] == ["ratings"]


def test_labels_of_other_texts(run: Path) -> None:
    configure(seed=2)
    clean.main()
    with pytest.raises(SystemExit) as caught:
        domain.main()
    place = paths.SOFT_LABELS / "held_out.parquet"
    assert str(caught.value.code).startswith(
        f"domain: {place} does not belong to {paths.SENTENCES / 'held_out.parquet'}"
    )
