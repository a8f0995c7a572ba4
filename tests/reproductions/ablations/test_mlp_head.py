"""The hidden layer after the sum: its output, its training, and when there is none."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from reproductions.ablations.mlp_head import HiddenLayer
from sentence_distillery.distillation.static_student import principal_directions
from sentence_distillery.encoder.layers import Hidden
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from stages.ablations import mlp_head as mlp_head_stage
from stages.distillation import student
from stages.paths import MLP_HEAD, STUDENT
from tests.reproductions.paper1.conftest import write_params
from tests.sentence_distillery.distillation.conftest import files, student_params, texts, word_table

SENTENCES = [text for part in texts() for text in part]


def params(**changes: object) -> None:
    """params.yaml as the student had it, with a small layer."""
    trained = {"dimension": 6, "epochs": 1, "batch_size": 32, "learning_rate": 0.02}
    write_params(
        student=trained, mlp_head={"units": 4, "epochs": 10, "batch_size": 32, "learning_rate": 0.02} | changes
    )


def taught() -> Floats:
    """Return the soft labels of SENTENCES, in the student's dimensions."""
    words = word_table()
    means = np.stack([np.mean([words[word] for word in text.lower().split()], axis=0) for text in SENTENCES])
    labels = means.astype(np.float16)
    return unit_rows(labels.astype(np.float32) @ principal_directions(labels, 6))


def agreement(found: StaticEncoder) -> float:
    """Mean cosine of the student's embeddings and the teacher's."""
    return float((found.encode(SENTENCES) * taught()).sum(axis=1).mean())


def test_the_layer_by_hand() -> None:
    """s + relu(2 s A) B for four dimensions, in torch and in the encoder."""
    layer = HiddenLayer(4, 2, seed=1)
    layer.widen.data = torch.tensor([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0], [0.0, 0.0]])
    layer.narrow.data = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    sums = torch.tensor([[1.0, 2.0, 0.0, 0.0], [-1.0, -2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    expected = torch.tensor([[1.0, 2.0, 2.0, 0.0], [-1.0, -2.0, 0.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    assert torch.equal(layer(sums), expected)
    np.testing.assert_array_equal(Hidden(*layer.layer()).apply(sums.numpy()), expected.numpy())


def test_the_layer_starts_as_it_should() -> None:
    """Its first weights spread by 1, as the scaled components of a unit vector do; its second are 0."""
    widen, narrow = HiddenLayer(64, 400, seed=1).layer()
    assert abs(widen.std() - 1) < 0.02
    assert not narrow.any()


@pytest.mark.fault(27)
def test_it_learns_more_than_the_sum(workspace: Path) -> None:
    """And two runs write the same bytes, which sentence-transformers loads with equal vectors."""
    student_params("static", epochs=1)
    student.main()
    params()
    mlp_head_stage.main()
    assert read_unavailable(MLP_HEAD / VARIANT) is None
    found = StaticEncoder.load(MLP_HEAD)
    assert agreement(found) > agreement(StaticEncoder.load(STUDENT)) + 0.02
    np.testing.assert_array_equal(found.table, StaticEncoder.load(STUDENT).table)
    assert not found.encode(["qzx"]).any()
    theirs = SentenceTransformer(str(MLP_HEAD), device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(found.encode(SENTENCES), theirs, atol=1e-5)
    assert "a hidden layer" in (MLP_HEAD / "README.md").read_text(encoding="utf-8")
    assert not mlp_head_stage.CHECKPOINT.exists()
    first = files(MLP_HEAD)
    mlp_head_stage.main()
    assert files(MLP_HEAD) == first


def test_why_there_is_none(workspace: Path) -> None:
    params(enabled=False)
    mlp_head_stage.main()
    reason = "switched off in this run: mlp_head.enabled is false"
    assert read_unavailable(MLP_HEAD / VARIANT) == Unavailable(reason)
    assert [file.name for file in MLP_HEAD.iterdir()] == [VARIANT]
