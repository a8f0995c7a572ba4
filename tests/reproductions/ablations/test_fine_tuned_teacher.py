"""Teachers that are fine-tuned on human ratings, and their embeddings of the corpus."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import spearmanr

from sentence_distillery.encoder.static_encoder import VARIANT
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from stages.ablations import fine_tuned_labels as fine_tuned_labels
from stages.ablations import fine_tuned_teacher as teacher_stage
from stages.distillation import soft_labels
from stages.params import load_params
from stages.paths import BENCHMARKS, FINE_TUNED_LABELS, FINE_TUNED_TEACHER, SOFT_LABELS
from tests.reproductions.paper1.conftest import write_corpus
from tests.reproductions.paper2.small import encoder, reference, write_encoder
from tests.sentence_distillery.distillation.conftest import DOCUMENTS, files, write_benchmarks
from tests.workspace import write_params

TUNING = {"epochs": 6, "batch_size": 4, "learning_rate": 1e-3}


def write_settings(**changes: dict[str, object]) -> None:
    """Two small teachers."""
    one, other = (reference(Path(name)).model_dump() for name in ("one", "other"))
    labels = {"additional_teachers": [other], "minimum_count": 1}
    sections: dict[str, Any] = {"teacher": one, "soft_labels": labels, "fine_tuned_teacher": TUNING} | changes
    write_params(**sections)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The current directory: a corpus, a set in the place of STS-B, and two teachers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISTILLERY_DEVICE", "cpu")
    for name, architecture in (("one", "bert"), ("other", "mpnet")):
        Path(name).mkdir()
        write_encoder(Path(name), architecture)
    write_corpus(DOCUMENTS, part=0)
    write_benchmarks(stsb=("train", "dev"))
    write_settings()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def agreement(directory: Path) -> float:
    """Spearman correlation of a teacher's cosines and the scores of dev."""
    found, pairs = encoder(directory), BenchmarkData(BENCHMARKS).pairs("stsb", "dev")
    left, right = (unit_rows(found.embed(found.tokens(side))) for side in (pairs.sentences1, pairs.sentences2))
    return float(spearmanr((left * right).sum(axis=1), pairs.scores).statistic)


@pytest.mark.fault(27)
def test_teachers_and_their_labels() -> None:
    """Each teacher agrees better, two runs write the same bytes, and the corpus has other labels of the same shape."""
    teacher_stage.main()
    assert read_unavailable(FINE_TUNED_TEACHER / VARIANT) is None
    for number, name in enumerate(("one", "other")):
        assert agreement(FINE_TUNED_TEACHER / str(number)) > agreement(Path(name))
    first = files(FINE_TUNED_TEACHER)
    teacher_stage.main()
    assert files(FINE_TUNED_TEACHER) == first
    fine_tuned_labels.main()
    soft_labels.main()
    assert read_unavailable(FINE_TUNED_LABELS / VARIANT) is None
    names = {file.name for file in FINE_TUNED_LABELS.iterdir()} - {VARIANT}
    assert names == {file.name for file in SOFT_LABELS.iterdir()}
    about = json.loads((FINE_TUNED_LABELS / "teacher.json").read_text(encoding="utf-8"))
    assert (about["reference"], about["dimension"], len(about["additional"])) == ("models/fine_tuned_teacher/0", 32, 1)
    assert (FINE_TUNED_LABELS / "part-00000.parquet").read_bytes() != (SOFT_LABELS / "part-00000.parquet").read_bytes()
    params = load_params()
    teachers = fine_tuned_labels.tuned_teachers([params.teacher, *params.soft_labels.additional_teachers])
    assert [teacher.maximum_length for teacher in teachers] == [32, 32]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"fine_tuned_student": {"enabled": False}}, "switched off in this run: fine_tuned_student.enabled is false"),
        ({"fine_tuned_teacher": {"enabled": False}}, "switched off in this run: fine_tuned_teacher.enabled is false"),
        ({}, "STS-B is absent from this run"),
    ],
)
def test_why_there_is_none(changes: dict[str, dict[str, object]], expected: str) -> None:
    write_settings(**changes)
    if not changes:
        write_benchmarks(samples=("dev",))
    teacher_stage.main()
    fine_tuned_labels.main()
    for directory in (FINE_TUNED_TEACHER, FINE_TUNED_LABELS):
        assert read_unavailable(directory / VARIANT) == Unavailable(expected)
    assert [file.name for file in FINE_TUNED_LABELS.iterdir()] == [VARIANT]


def test_a_teacher_that_is_not_a_mean_is_refused() -> None:
    """Fine-tuned as a mean it would be another encoder."""
    modules = [{"type": f"x.{name}", "path": path} for name, path in (("Transformer", ""), ("Pooling", "1_Pooling"))]
    Path("one/modules.json").write_text(json.dumps(modules), encoding="utf-8")
    Path("one/1_Pooling").mkdir()
    Path("one/1_Pooling/config.json").write_text('{"pooling_mode": "cls"}', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"one has the pooling cls, .* Set fine_tuned_teacher\.enabled to false\."):
        teacher_stage.main()
