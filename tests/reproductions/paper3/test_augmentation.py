"""More pairs for a task of paper 3's grid: which sentences are paired, their scores, and the cells that use them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reproductions.grid.cell import read_cell
from reproductions.grid.guard import pair_keys
from reproductions.paper3.component_focus.augmentation import neighbours
from reproductions.paper3.component_focus.cells import (
    AUGMENTED_ABOUT,
    AUGMENTED_TABLE,
    SPLITS,
    TRAINING,
    Inputs,
    task_pairs,
)
from reproductions.paper3.syntax.trees import to_table
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import read_json, read_table, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.benchmarks.benchmarks import main as make_benchmarks
from stages.paper3 import augmented_pairs
from stages.paper3 import component_focus as component_focus_stage
from tests.reproductions.paper2.small import reference, run_stage, write_encoder
from tests.sentence_distillery.distillation.conftest import files
from tests.workspace import write_params

TASK = "samples+augmented"
INPUTS = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)


def settings(enabled: bool = True, **changes: object) -> None:
    encoders = {"small": reference(Path("small")).model_dump()}
    encoders["away"] = encoders["small"] | {"reference": "./nowhere"}
    given = {"teacher": "small", "pairs": 50, "nearest": 8} | changes
    training = {"enabled": enabled}
    benchmarks = {"sets": ["samples"]}
    write_params(encoders=encoders, benchmarks=benchmarks, augmented_pairs=given, component_training=training)


@pytest.fixture
def workspace(samples: None) -> None:
    """Prepare a demo run up to this stage, with a small teacher."""
    Path("small").mkdir()
    write_encoder(Path("small"), "bert")
    settings()
    make_benchmarks()
    write_table(paths.TREES / "part-00000.parquet", to_table([], []))


def make(task: str = TASK) -> pa.Table:
    run_stage(augmented_pairs, task)
    return read_table(paths.AUGMENTED_PAIRS / task / AUGMENTED_TABLE, TRAINING)


def run_cell(task: str) -> Path:
    run_stage(component_focus_stage, "small", task, "0.0")
    return paths.COMPONENT_FOCUS / f"small-{task}-0.0"


def test_a_sentence_is_paired_with_one_of_the_nearest() -> None:
    """Places on a circle: at a distance of up to two on either side, with four neighbours, and all such pairs once."""
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    pairs = neighbours(circle, draws=3_000, nearest=4, seed=1)
    apart = (pairs[:, 1] - pairs[:, 0]) % 12
    assert set(np.minimum(apart, 12 - apart).tolist()) == {1, 2}
    assert len(pairs) == len(set(map(tuple, pairs.tolist()))) == 24
    assert (neighbours(circle, draws=3_000, nearest=4, seed=1) == pairs).all()
    assert (neighbours(circle, draws=3_000, nearest=4, seed=2) != pairs).any()


def test_near_ranks_are_drawn_more_often() -> None:
    """Log-uniform: rank 1 as often as 2 and 3, or 4 to 7, together."""
    vectors = unit_rows(np.random.default_rng(0).standard_normal((2_000, 16), dtype=np.float32))
    order = np.argsort(-vectors @ vectors.T, axis=1, kind="stable")
    pairs = neighbours(vectors, draws=2_000, nearest=7, seed=1)
    ranks = np.array([min((order[a] == b).argmax(), (order[b] == a).argmax()) for a, b in pairs])
    assert ranks.max() <= 7
    assert (ranks == 1).mean() > 0.25
    assert (ranks >= 4).mean() > 0.2


def test_the_same_vector_twice_is_no_pair_with_itself() -> None:
    pairs = neighbours(np.ones((3, 2), dtype=np.float32), draws=100, nearest=64, seed=1)
    assert sorted(map(tuple, pairs.tolist())) == [(0, 1), (0, 2), (1, 2)]


def test_people_first_then_the_teacher(workspace: None) -> None:
    """share = 0 keeps the human ratings, 1 the teacher's scores; between them the result is linear."""
    train = task_pairs("samples", INPUTS, Counters("pairs"))["train"]
    tables = {}
    for share in (0.0, 0.25, 1.0):
        settings(share=share)
        tables[share] = make()
    alone, quarter, teacher = (table["score"].to_numpy() for table in tables.values())
    count = len(train.sentences1)
    table = tables[0.0]
    assert table.num_rows == count + 50
    assert table["sentence1"].to_pylist()[:count] == train.sentences1
    assert table["sentence2"].to_pylist()[:count] == train.sentences2
    assert alone[:count] == pytest.approx(train.unit_scores(), abs=1e-6)
    assert quarter[:count] == pytest.approx(0.75 * alone[:count] + 0.25 * teacher[:count], abs=1e-6)
    assert (alone[count:] == teacher[count:]).all()
    assert np.abs(teacher).max() <= 1 + 1e-6
    assert np.corrcoef(teacher[:count], alone[:count])[0, 1] > 0.1


@pytest.mark.fault(18)
def test_augmented_pairs_are_of_no_split(workspace: None) -> None:
    """No evaluation pair is trained on, and no training pair occurs twice."""
    settings(pairs=100_000, nearest=100_000)
    table = make()
    train = task_pairs("samples", INPUTS, Counters("pairs"))["train"]
    new = table.slice(len(train.sentences1))
    sentences = {*train.sentences1, *train.sentences2}
    sides = [new[name].to_pylist() for name in ("sentence1", "sentence2")]
    assert {*sides[0], *sides[1]} == sentences
    both = [tuple(sorted(pair)) for pair in zip(*sides, strict=True)]
    assert len(set(both)) == len(both)
    here = {key for split in SPLITS for key in pair_keys(INPUTS.benchmarks.pairs("samples", split))}
    found = task_pairs(TASK, INPUTS, Counters("pairs"))["train"]
    assert not here & set(pair_keys(found)[len(train.sentences1) :])
    counted = json.loads(Path(f"reports/counters/augmented_pairs@{TASK}.json").read_text(encoding="utf-8"))
    assert counted["dropped"]["pair of samples train"] > 0
    assert counted["kept"] == table.num_rows


def test_each_seed_of_the_teacher_has_a_say(workspace: None) -> None:
    scores = {}
    for seeds in ((1,), (2,), (1, 2)):
        settings(seeds=list(seeds), share=1.0)
        scores[seeds] = make()["score"].to_numpy()
    assert (scores[1,] != scores[2,]).any()
    assert scores[1, 2] == pytest.approx((scores[1,] + scores[2,]) / 2, abs=1e-6)


def test_a_cell_learns_from_them(workspace: None, caplog: pytest.LogCaptureFixture) -> None:
    """And the teacher, which is a cell of the grid itself, is not trained a second time there."""
    caplog.set_level("INFO")
    settings(seeds=[1])
    table = make()
    about = read_json(paths.AUGMENTED_PAIRS / TASK / AUGMENTED_ABOUT, dict[str, Any])
    assert about["rated"] + about["augmented"] == table.num_rows
    cells = [run_cell(task) for task in ("samples", TASK)]
    assert "resumed after 1 of small-samples-0.0-1" in caplog.text
    alone, more = map(read_cell, cells)
    assert {str(run.seed): run.notes for run in alone.there if run.seed == 1} == about["seeds"]
    assert alone.table.slice(0, 146) == more.table.slice(0, 146)  # before any training
    assert alone.table["score"] != more.table["score"]
    counted = json.loads(Path(f"reports/counters/component_focus@small-{TASK}-0.0.json").read_text(encoding="utf-8"))
    assert counted["kept"] == table.num_rows


@pytest.mark.fault(27)
def test_two_runs_write_the_same_bytes(workspace: None) -> None:
    """The second from the checkpoints of the first."""
    make()
    found = files(paths.AUGMENTED_PAIRS / TASK)
    make()
    assert files(paths.AUGMENTED_PAIRS / TASK) == found


@pytest.mark.parametrize(
    ("task", "teacher", "enabled", "reason"),
    [
        ("samples", "small", True, "a task without +augmented"),
        ("stsb+augmented", "small", True, "the set stsb is absent"),
        (TASK, "away", True, "weights of the teacher not available here"),
        (TASK, "small", False, "switched off in this run: component_training.enabled is false"),
    ],
)
@pytest.mark.fault(24)
def test_what_is_absent_is_said(workspace: None, task: str, teacher: str, enabled: bool, reason: str) -> None:
    """The cell of that task has the same message."""
    settings(enabled, teacher=teacher)
    assert make(task).num_rows == 0
    assert read_json(paths.AUGMENTED_PAIRS / task / AUGMENTED_ABOUT, dict[str, Any])["absent"] == reason
    if task != "samples":
        assert read_cell(run_cell(task)).unavailable == Unavailable(reason)
