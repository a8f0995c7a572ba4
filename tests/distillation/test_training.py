"""The training loop: its order, its checkpoint, and when it stops."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sentence_distillery.distillation.options import Student
from sentence_distillery.distillation.training import Batch, Curve, Schedule, Training, refuse_collapsed
from sentence_distillery.io.artifacts import InputError

PARAMS = Student(
    kind="static",
    dimension=2,
    epochs=4,
    batch_size=4,
    learning_rate=0.1,
    relational_weight=0.0,
    temperature=1.0,
    seed=1,
)
COUNT = 10
REMEDY = "Lower learning_rate"
TARGETS = torch.from_numpy(np.random.default_rng(0).normal(size=(COUNT, 2)).astype(np.float32))


class StoppedError(Exception):
    """An exception in the place of a kill without warning."""


def trained(checkpoint: Path, kind: str, stop: int | None = None, key: str = "k") -> tuple[Tensor, Curve, int]:
    """Weights, curve and steps of a run, which stops before step `stop`."""
    sparse = kind == "sparse"
    start = torch.zeros(COUNT, 2)
    model = nn.Embedding.from_pretrained(start, freeze=False, sparse=sparse)  # type: ignore[no-untyped-call]
    optimizer = torch.optim.SparseAdam(model.parameters()) if sparse else torch.optim.Adam(model.parameters())
    steps = 0

    def loss(rows: Batch) -> dict[str, Tensor]:
        nonlocal steps
        if steps == stop:
            raise StoppedError
        steps += 1
        index = torch.from_numpy(rows)
        return {"loss": (model(index) - TARGETS[index]).square().mean()}

    curve = Training(model, optimizer, checkpoint, key, decay=True).run(loss, COUNT, PARAMS)
    return model.weight.detach(), curve, steps


def test_schedule_by_hand() -> None:
    schedule = Schedule(count=9, batch_size=4, seed=1)
    epochs = [[batch.tolist() for batch in schedule.batches(epoch)] for epoch in (0, 0, 1)]
    assert [len(batch) for batch in epochs[0]] == [4, 4]  # the ninth has no neighbour
    assert schedule.steps == 2
    assert epochs[0] == epochs[1] != epochs[2]
    assert len({row for batch in epochs[0] for row in batch}) == 8


@pytest.mark.parametrize("count", range(2, 12))
def test_steps_are_counted(count: int) -> None:
    schedule = Schedule(count, batch_size=4, seed=1)
    assert schedule.steps == len(list(schedule.batches(0)))


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_learning_and_the_same_weights(tmp_path: Path, kind: str) -> None:
    """fault 27: the same seed gives the same weights; and the loss falls."""
    first, curve, steps = trained(tmp_path / "a", kind)
    second, again, _ = trained(tmp_path / "b", kind)
    assert torch.equal(first, second)
    assert curve == again
    assert curve[-1]["loss"] < curve[0]["loss"]
    assert steps == 12


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, kind: str) -> None:
    """fault 2: stopped in the third epoch, it resumes from the end of the second."""
    whole, curve, _ = trained(tmp_path / "whole", kind)
    with pytest.raises(StoppedError):
        trained(tmp_path / "halves", kind, stop=7)
    resumed, resumed_curve, steps = trained(tmp_path / "halves", kind)
    assert steps == 6
    assert torch.equal(whole, resumed)
    assert curve == resumed_curve


def other_key(checkpoint: Path) -> None:
    with pytest.raises(StoppedError):
        trained(checkpoint, "dense", stop=7, key="other")


def truncated(checkpoint: Path) -> None:
    with pytest.raises(StoppedError):
        trained(checkpoint, "dense", stop=7)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-20])


def garbage(checkpoint: Path) -> None:
    checkpoint.write_bytes(b"\x80\x04 no checkpoint")


@pytest.mark.parametrize("leave", [other_key, truncated, garbage])
def test_another_checkpoint_is_ignored(tmp_path: Path, leave: Callable[[Path], None]) -> None:
    """fault 2: a checkpoint of other data, or a truncated one, is not used."""
    leave(tmp_path / "checkpoint")
    weights, _, steps = trained(tmp_path / "checkpoint", "dense")
    assert steps == 12
    assert torch.equal(weights, trained(tmp_path / "fresh", "dense")[0])


def test_a_loss_that_is_not_finite(tmp_path: Path) -> None:
    """fault 23: training stops with the step and the batch, and the model keeps its last finite weights."""
    model = nn.Linear(1, 1)
    seen: list[Batch] = []

    def loss(rows: Batch) -> dict[str, Tensor]:
        seen.append(rows)
        return {"loss": model.weight.sum() * (torch.nan if len(seen) == 5 else 1.0)}

    training = Training(model, torch.optim.Adam(model.parameters()), tmp_path / "checkpoint", "k", decay=False)
    with pytest.raises(InputError) as caught:
        training.run(loss, COUNT, PARAMS)
    assert "The loss is nan at epoch 2, step 2" in str(caught.value)
    assert f"on the batch of sentences {seen[-1].tolist()} and 0 more" in str(caught.value)
    assert "Lower learning_rate, which is 0.1" in str(caught.value)
    assert torch.isfinite(model.weight).all()


def test_collapse() -> None:
    """fault 23: a mean cosine of 1 is refused, orthogonal sentences are not."""
    with pytest.raises(
        InputError, match=r"The student has collapsed: the mean cosine of 5 different sentences is 1\.0"
    ):
        refuse_collapsed(np.tile(np.array([[0.6, 0.8]], dtype=np.float32), (5, 1)), "student", REMEDY)
    with pytest.raises(InputError, match=rf"all its vectors are zero\. {REMEDY}"):
        refuse_collapsed(np.zeros((5, 2), dtype=np.float32), "student", REMEDY)
    refuse_collapsed(np.eye(5, dtype=np.float32), "student", REMEDY)
    refuse_collapsed(np.ones((1, 1), dtype=np.float32), "student", REMEDY)


def test_collapse_by_hand() -> None:
    """Cosines 1, 0.6 and 0.6: their mean is 2.2 / 3, below the limit."""
    refuse_collapsed(np.array([[1, 0], [1, 0], [0.6, 0.8]], dtype=np.float32), "student", REMEDY)
