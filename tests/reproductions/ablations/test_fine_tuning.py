"""The student that is fine-tuned on human ratings: the loss by hand, the learning, and the decontamination."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.stats import pearsonr

from reproductions.ablations.fine_tuning import MappedStudent, RatedPairs, pearson_loss, tune
from reproductions.ablations.options import FineTunedStudent
from sentence_distillery.distillation.soft_labels import TEACHER
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.evaluation.sets.data import PAIRS, BenchmarkData
from sentence_distillery.io.artifacts import InputError, read_json, write_json, write_table
from sentence_distillery.io.ragged import TokenIds, unit_rows
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from stages.ablations import fine_tuned_student as stage
from stages.distillation import student
from stages.paths import BENCHMARKS, FINE_TUNED_LABELS, FINE_TUNED_STUDENT, MODEL_CHECKPOINTS, STUDENT
from tests.sentence_distillery.distillation.conftest import files, table, write_benchmarks, write_fine_tuned_labels
from tests.workspace import demo_params, write_params

PARAMS = FineTunedStudent(**demo_params()["fine_tuned_student"] | {"batch_size": 16, "epochs": 20})
SECTIONS: dict[str, Any] = {
    "student": {"dimension": 6, "epochs": 4, "batch_size": 32, "learning_rate": 0.02},
    "mlp_head": {"enabled": False},
    "fine_tuned_student": {"batch_size": 16, "epochs": 20},
}


@pytest.fixture
def place(workspace: Path) -> None:
    """The labels of fine-tuned teachers, a student trained without them, and a set in the place of STS-B."""
    write_params(**SECTIONS)
    write_fine_tuned_labels()
    teacher = read_json(FINE_TUNED_LABELS / TEACHER, dict[str, Any])
    write_json(FINE_TUNED_LABELS / TEACHER, teacher | {"reference": "models/fine_tuned_teacher/0"})
    student.main()
    write_benchmarks(stsb=("train", "dev"))


def agreement(found: StaticEncoder) -> float:
    """Pearson correlation of cosines and scores on the training pairs."""
    pairs = BenchmarkData(BENCHMARKS).pairs("stsb", "train")
    left, right = (found.encode(side) for side in (pairs.sentences1, pairs.sentences2))
    return float(pearsonr((left * right).sum(axis=1), pairs.scores).statistic)


def test_loss_by_hand() -> None:
    line, scores = torch.tensor([0.1, 0.5, 0.9]), torch.tensor([1.0, 3.0, 5.0])
    assert pearson_loss(line, scores).item() == pytest.approx(-1.0)
    assert pearson_loss(line, scores.flip(0)).item() == pytest.approx(1.0)
    some = torch.tensor([0.3, 0.2, 0.9])
    assert pearson_loss(some, scores).item() == pytest.approx(-pearsonr(some, scores).statistic)
    assert pearson_loss(torch.ones(3), scores).item() == 0.0


@pytest.mark.parametrize("deep", [False, True])
def test_weights_and_map_fold_into_the_student(deep: bool) -> None:
    """v(S) by loops over tokens, and as the folded student has it."""
    hidden = (table(4, 2)[1:], table(3, 3)[1:]) if deep else None
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, *"abcd"]), table(5, 3), hidden=hidden)
    model = MappedStudent(encoder)
    model.turn.data = torch.randn(3, 3, generator=torch.Generator().manual_seed(1))
    model.weights.data = torch.arange(5) / 10
    model.direction.data = torch.tensor([0.5, -1.0, 2.0])
    tokens = TokenIds.from_lists([[1, 2, 2], [], [4]])
    turn, vectors = model.turn.detach().numpy(), table(5, 3)
    expected = np.zeros((3, 3))
    for row, ids in enumerate(([1, 2, 2], [], [4])):
        for token in ids:
            share = (vectors[token] / np.linalg.norm(vectors[token])) @ [0.5, -1.0, 2.0]
            expected[row] += np.exp(token / 10 + share) * vectors[token]
    if hidden:
        expected += np.maximum(expected @ hidden[0], 0.0) @ hidden[1]
    units = unit_rows((expected @ turn).astype(np.float32))
    np.testing.assert_allclose(unit_rows(model(tokens).detach().numpy()), units, atol=1e-5)
    np.testing.assert_allclose(model.folded(encoder.tokenizer).embed(tokens), units, atol=1e-5)
    same = MappedStudent(encoder).folded(encoder.tokenizer)
    np.testing.assert_allclose(same.table, vectors, atol=1e-7)
    np.testing.assert_allclose(same.embed(tokens), encoder.embed(tokens), atol=1e-6)


@pytest.mark.fault(27)
def test_the_tuned_student_agrees_better(place: None) -> None:
    """And two runs write the same bytes."""
    stage.main()
    assert read_unavailable(FINE_TUNED_STUDENT / VARIANT) is None
    before, after = agreement(StaticEncoder.load(STUDENT)), agreement(StaticEncoder.load(FINE_TUNED_STUDENT))
    assert after > before + 0.1
    assert StaticEncoder.load(FINE_TUNED_STUDENT).encode(["qzx"]).any() == False  # noqa: E712 (an unknown word stays zero)
    assert "human ratings of 30 pairs of STS-B train" in (FINE_TUNED_STUDENT / "README.md").read_text(encoding="utf-8")
    taught = read_json(FINE_TUNED_STUDENT / CONFIG, dict[str, Any])["teacher"]
    assert taught == read_json(FINE_TUNED_LABELS / TEACHER, dict[str, Any])
    first = files(FINE_TUNED_STUDENT)
    stage.main()
    assert files(FINE_TUNED_STUDENT) == first


def test_it_is_deep_where_the_run_has_a_deep_student(place: None) -> None:
    stage.main()
    static = agreement(StaticEncoder.load(FINE_TUNED_STUDENT))
    write_params(**SECTIONS | {"mlp_head": {"units": 8, "epochs": 3, "batch_size": 32}})
    stage.main()
    found = StaticEncoder.load(FINE_TUNED_STUDENT)
    assert found.kind == "deep"
    assert agreement(found) > static - 0.05
    assert not list((MODEL_CHECKPOINTS / "fine_tuned_student").iterdir())


@pytest.mark.fault(18)
def test_pairs_that_are_scored_on_are_left_out(place: None) -> None:
    """A dev pair among the training pairs, its sides swapped, is found, counted and not learnt."""
    stage.main()
    clean = files(FINE_TUNED_STUDENT)
    path = BENCHMARKS / "stsb.parquet"
    rows = pq.read_table(path).to_pylist()
    dev = next(row for row in rows if row["split"] == "dev")
    leaked = dev | {"split": "train", "sentence1": dev["sentence2"].upper(), "sentence2": dev["sentence1"]}
    write_table(path, pa.Table.from_pylist([*rows, leaked], schema=PAIRS))
    stage.main()
    counted = json.loads(Path("reports/counters/fine_tuned_student.json").read_text())
    assert (counted["kept"], counted["dropped"]) == (30, {"sentence in an evaluation set": 1})
    assert files(FINE_TUNED_STUDENT) == clean


def test_why_there_is_none(place: None) -> None:
    """The reason of stage `fine_tuned_teacher` is passed on."""
    write_json(FINE_TUNED_LABELS / VARIANT, {"absent": "STS-B is absent from this run"})
    stage.main()
    assert read_unavailable(FINE_TUNED_STUDENT / VARIANT) == Unavailable("STS-B is absent from this run")
    assert [file.name for file in FINE_TUNED_STUDENT.iterdir()] == [VARIANT]


@pytest.mark.fault(23)
def test_a_rate_that_is_too_high() -> None:
    """The error says which parameter to lower."""
    scores = np.array([1, 2, 5], np.float32)
    pairs = RatedPairs(TokenIds.from_lists([[1], [2], [3]]), TokenIds.from_lists([[2], [3], [3]]), scores)
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, *"abc"]), table(4, 3))
    with pytest.raises(
        InputError, match=r"The loss is nan at .* Lower map_learning_rate, token_weight_learning_rate or"
    ):
        tune(encoder, pairs, PARAMS.model_copy(update={"token_weight_learning_rate": 1e4}))
