"""The student stage from soft labels to a model that other libraries load, and the errors that stop it."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from sentence_distillery.distillation.soft_labels import TEACHER
from sentence_distillery.distillation.student import TrainedStudent, relational_remedy
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.evaluation.protocols.similarity import cosines, similarity_figures
from sentence_distillery.evaluation.sets.data import PAIRS, BenchmarkData
from sentence_distillery.io.artifacts import InputError, write_json, write_table
from sentence_distillery.io.ragged import TokenIds
from stages.distillation import student as student_stage
from stages.distillation.student import CURVE
from stages.paper1 import paper_student
from stages.paths import BENCHMARKS, PAPER_STUDENT, SOFT_LABELS, STUDENT
from tests.halting import halted, halting_before_file
from tests.reproductions.paper1.conftest import write_corpus, write_params

from .conftest import (
    DIMENSION,
    DOCUMENTS,
    files,
    student_params,
    subprocess_environment,
    texts,
    write_benchmarks,
    write_refined,
    write_soft_labels,
)


@dataclass(frozen=True)
class Kind:
    """A kind of student, and the stage that trains it."""

    name: str
    stage: ModuleType
    directory: Path

    @property
    def curve(self) -> Path:
        return Path(self.stage.CURVE)

    def written(self) -> dict[str, bytes]:
        return files(self.directory) | {"curve": self.curve.read_bytes()}

    def counters(self) -> dict[str, object]:
        name = self.stage.__name__.rpartition(".")[2]
        return dict(json.loads(Path(f"reports/counters/{name}.json").read_text(encoding="utf-8")))


STATIC, PAPER = Kind("static", student_stage, STUDENT), Kind("paper", paper_student, PAPER_STUDENT)
both = pytest.mark.parametrize("kind", [STATIC, PAPER], ids=lambda kind: kind.name)


@both
def test_from_soft_labels_to_a_model(workspace: Path, kind: Kind) -> None:
    student_params(kind.name, epochs=20)
    kind.stage.main()
    with kind.curve.open(encoding="utf-8", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert len(losses) == 20
    assert losses[-1] < 0.7 * losses[0]
    assert kind.counters()["kept"] == kind.counters()["total"] == sum(map(len, texts()))
    config = json.loads((kind.directory / "config.json").read_text(encoding="utf-8"))
    assert (config["kind"], config["dimension"]) == (kind.name, 6 if kind is STATIC else DIMENSION)
    assert config["teacher"]["reference"] == "package:x"
    assert config.get("refined") == (None if kind is STATIC else "contrastive")
    assert f"# A {kind.name} student of package:x" in (kind.directory / "README.md").read_text(encoding="utf-8")
    sentences = [text for part in texts() for text in part]
    ours = StaticEncoder.load(kind.directory).encode(sentences)
    theirs = SentenceTransformer(str(kind.directory), device="cpu").encode(sentences)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert not kind.stage.CHECKPOINT.exists()


def test_the_curve_has_figures_on_development_pairs(workspace: Path) -> None:
    """Paper 1's figure 5: the values of the last epoch are those of the saved student."""
    student_params("static", epochs=3)
    student_stage.main()
    with CURVE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pairs = BenchmarkData(BENCHMARKS).pairs("samples", "dev")
    assert pairs.scores is not None
    left, right = (StaticEncoder.load(STUDENT).encode(side) for side in (pairs.sentences1, pairs.sentences2))
    expected = similarity_figures(cosines(left, right), pairs.scores, (0.0, 5.0))
    for name in ("pearson", "spearman", "mae"):
        assert float(rows[-1][f"dev_{name}"]) == pytest.approx(expected[name], abs=1e-6)
    assert len({row["dev_mae"] for row in rows}) == 3
    assert STATIC.counters()["details"] == {"development": "samples/dev"}


def test_without_development_pairs(workspace: Path) -> None:
    """If all of them are equal, the curve has only the losses."""
    student_params("static", epochs=2)
    write_benchmarks(lee=("test",))
    student_stage.main()
    assert CURVE.read_text(encoding="utf-8").splitlines()[0] == "epoch,loss,cosine,relational"
    write_benchmarks(samples=("dev",))
    table = pq.read_table(BENCHMARKS / "samples.parquet").cast(PAIRS)
    constant = table.set_column(3, PAIRS.field("score"), pa.array([2.5] * len(table), pa.float32()))
    write_table(BENCHMARKS / "samples.parquet", constant)
    student_stage.main()
    assert CURVE.read_text(encoding="utf-8").splitlines()[0] == "epoch,loss,cosine,relational,dev_mae"


def kill_in_training(directory: Path, kind: Kind = STATIC) -> None:
    """Start the stage in a separate process and kill it while it writes its second checkpoint."""
    halts = halting_before_file(directory, f"/{kind.stage.CHECKPOINT.name}", 2)
    process = subprocess.Popen(
        [sys.executable, "-m", kind.stage.__name__], env=subprocess_environment() | halts, stderr=subprocess.PIPE
    )
    assert halted(directory, process) == process.pid
    process.kill()
    _, stderr = process.communicate()
    assert process.returncode == -9, stderr.decode()


@both
@pytest.mark.fault(2, 27)
def test_killed_in_training(workspace: Path, tmp_path: Path, kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    """After SIGKILL a run resumes from its checkpoint and ends with the bytes of an uninterrupted run."""
    student_params(kind.name, epochs=6)
    kill_in_training(tmp_path / "halting", kind)
    assert not kind.directory.exists()
    caplog.set_level("INFO")
    kind.stage.main()
    assert "resumed after" in caplog.text
    resumed = kind.written()
    caplog.clear()
    kind.stage.main()
    assert "resumed after" not in caplog.text
    assert kind.written() == resumed


@pytest.mark.fault(2)
def test_a_checkpoint_from_other_word_vectors_is_ignored(
    workspace: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper's student starts afresh when only the refined vectors have changed."""
    student_params("paper")
    monkeypatch.setattr(paper_student, "export", lambda *_: sys.exit("killed"))
    with pytest.raises(SystemExit, match="killed"):
        paper_student.main()
    assert paper_student.CHECKPOINT.exists()
    write_refined(seed=4)
    caplog.set_level("INFO")
    with pytest.raises(SystemExit, match="killed"):
        paper_student.main()
    assert "resumed" not in caplog.text
    with pytest.raises(SystemExit, match="killed"):
        paper_student.main()
    assert "resumed after 4 of paper_student" in caplog.text


def another_dimension() -> None:
    teacher = json.loads((SOFT_LABELS / TEACHER).read_text(encoding="utf-8"))
    write_json(SOFT_LABELS / TEACHER, teacher | {"dimension": 8})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: write_corpus(DOCUMENTS[:2], part=1), r"part-00001\.parquet does not belong to .*; label the corpus"),
        ((SOFT_LABELS / "part-00001.parquet").unlink, r"soft_labels/part-00001\.parquet cannot be read: it does not"),
        (another_dimension, r"column 'embedding' is fixed_size_list<element: halffloat>\[12\], expected"),
        (lambda: student_params(dimension=13), "dimension = 13, but the teacher has only 12; lower it to 12 or less"),
    ],
)
def test_soft_labels_that_do_not_fit(workspace: Path, change: Callable[[], object], message: str) -> None:
    """Of other sentences, not there, of another dimension, or of fewer than the student has."""
    student_params()
    change()
    with pytest.raises(SystemExit, match=message):
        student_stage.main()


@pytest.mark.fault(19)
def test_sentences_without_a_known_word(workspace: Path) -> None:
    """A sentence without a known token is dropped and counted."""
    student_params("paper")
    documents = [*DOCUMENTS[4:7], ". ".join(["Qzx 77"] * 36) + "."]
    write_corpus(documents, part=1)
    paper_student.main()
    assert PAPER.counters()["dropped"] == {"no known word": 36}


@pytest.mark.parametrize(("kind", "rate"), [(STATIC, 1e38), (PAPER, 1e30)], ids=["static", "paper"])
@pytest.mark.fault(23)
def test_a_loss_that_is_not_finite(workspace: Path, kind: Kind, rate: float) -> None:
    """It ends with the step and the batch, and the earlier model stays."""
    student_params(kind.name)
    kind.stage.main()
    before = files(kind.directory)
    student_params(kind.name, learning_rate=rate)
    with pytest.raises(SystemExit, match=r"The loss is (nan|inf) at epoch 1, step \d+, on the batch of examples \["):
        kind.stage.main()
    assert files(kind.directory) == before


@pytest.mark.fault(23)
def test_a_collapsed_student() -> None:
    """Vectors that are all alike are refused with what may help."""
    table = np.ones((4, 8), np.float32)
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, "storm", "port", "gale"]), table)
    tokens = TokenIds.from_lists([[1], [2], [3], [1, 2]])
    trained = TrainedStudent(encoder, tokens, [], relational_remedy(0.01, 0.3))
    remedy = "Lower learning_rate, which is 0.01, or raise relational_weight, which is 0.3"
    with pytest.raises(InputError, match=f"The student has collapsed: .*{remedy}"):
        trained.refuse_collapsed("student")


@pytest.mark.fault(23)
def test_a_collapsed_paper_student_is_told_what_it_has(workspace: Path) -> None:
    """Paper 1's student has no relational weight that could be raised."""
    write_soft_labels(constant=True)
    write_params(paper_student={"epochs": 60, "learning_rate": 0.05})
    with pytest.raises(
        SystemExit, match=r"The paper's student has collapsed: .*Lower learning_rate, which is 0\.05"
    ) as caught:
        paper_student.main()
    assert "relational_weight" not in str(caught.value)
    assert not PAPER_STUDENT.exists()
