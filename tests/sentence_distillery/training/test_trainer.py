"""The training loop: its order, its checkpoint, and when it stops."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.schedules import linear
from sentence_distillery.training.trainer import Best, Curve, DivergedError, Hooks, Saving, Trainer

EPOCHS = 4
COUNT = 10
TARGETS = torch.from_numpy(np.random.default_rng(0).normal(size=(COUNT, 2)).astype(np.float32))


class StoppedError(Exception):
    """An exception in the place of a kill without warning."""


def trained(checkpoint: Path, kind: str, stop: int | None = None, key: str = "k") -> tuple[Tensor, Curve, int]:
    """Weights, curve and steps of a run, which stops before step `stop`."""
    sparse = kind == "sparse"
    start = torch.zeros(COUNT, 2)
    model = nn.Embedding.from_pretrained(start, freeze=False, sparse=sparse)  # type: ignore[no-untyped-call]
    optimizer = (torch.optim.SparseAdam if sparse else torch.optim.Adam)(model.parameters(), lr=0.1)
    steps = 0

    def loss(rows: Rows) -> dict[str, Tensor]:
        nonlocal steps
        if steps == stop:
            raise StoppedError
        steps += 1
        index = torch.from_numpy(rows)
        return {"loss": (model(index) - TARGETS[index]).square().mean()}

    batches = Batches(np.arange(COUNT), size=4, seed=1)
    schedule = linear(EPOCHS, batches.steps)
    curve = Trainer(model, optimizer, batches, EPOCHS, schedule, Saving(checkpoint, key)).run(loss)
    return model.weight.detach(), curve, steps


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.fault(2, 27)
def test_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, kind: str) -> None:
    """Stopped in the third epoch, it resumes from the end of the second; the loss falls."""
    whole, curve, steps = trained(tmp_path / "whole", kind)
    assert steps == 12 and curve[-1]["loss"] < curve[0]["loss"]
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
@pytest.mark.fault(2)
def test_another_checkpoint_is_ignored(tmp_path: Path, leave: Callable[[Path], None]) -> None:
    """A checkpoint of other data, or a truncated one, is not used."""
    leave(tmp_path / "checkpoint")
    weights, _, steps = trained(tmp_path / "checkpoint", "dense")
    assert steps == 12
    assert torch.equal(weights, trained(tmp_path / "fresh", "dense")[0])


@pytest.mark.fault(23)
def test_a_loss_that_is_not_finite(tmp_path: Path) -> None:
    """Training stops with the step and the batch, and the model keeps its last finite weights."""
    model = nn.Linear(1, 1)
    seen: list[Rows] = []

    def loss(rows: Rows) -> dict[str, Tensor]:
        seen.append(rows)
        return {"loss": model.weight.sum() * (torch.nan if len(seen) == 5 else 1.0)}

    batches = Batches(np.arange(COUNT), size=4, seed=1)
    trainer = Trainer(model, torch.optim.Adam(model.parameters()), batches, EPOCHS, remedy="Lower learning_rate.")
    with pytest.raises(DivergedError) as caught:
        trainer.run(loss)
    assert str(caught.value) == (
        f"The loss is nan at epoch 2, step 2, on the batch of examples {seen[-1].tolist()}. Lower learning_rate."
    )
    assert isinstance(caught.value, InputError)
    assert torch.isfinite(model.weight).all()


def falling(figures: list[float], best: Best, checkpoint: Path | None = None) -> tuple[float, Curve]:
    """Train a number that falls by 1 each epoch, and return it; `figures` are what the epochs are judged by."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    marks = iter(figures)
    trainer = Trainer(
        model,
        torch.optim.SGD(model.parameters(), lr=1.0),
        Batches(np.arange(1), size=1, seed=1, smallest=1),
        len(figures),
        saving=None if checkpoint is None else Saving(checkpoint, "k"),
        best=best,
        hooks=Hooks(after=lambda means: {"figure": next(marks)}),
    )
    curve = trainer.run(lambda rows: {"loss": model.weight.sum()})
    return model.weight.item(), curve


@pytest.mark.parametrize("saved", [True, False])
def test_the_best_epoch_is_kept(tmp_path: Path, saved: bool) -> None:
    """The first of equal ones, whether its weights are on disk or in memory."""
    checkpoint = tmp_path / "checkpoint" if saved else None
    assert falling([0.1, 0.7, 0.7, 0.2], Best("figure"), checkpoint)[0] == -2
    assert falling([0.1, 0.2], Best("figure"), tmp_path / "other" if saved else None)[0] == -2
    weight, curve = falling([0.1, 0.7, 0.7, 0.2, 0.9], Best("figure", patience=2))
    assert (weight, len(curve)) == (-2, 4)


@pytest.mark.fault(2)
def test_without_its_best_weights_a_training_begins_anew(tmp_path: Path) -> None:
    """The checkpoint alone cannot give the weights of an earlier epoch back."""
    falling([0.9, 0.1, 0.1], Best("figure"), tmp_path / "checkpoint")
    assert falling([0.1, 0.1, 0.9], Best("figure"), tmp_path / "checkpoint")[1][0]["figure"] == 0.9  # nothing to do
    (tmp_path / "checkpoint.best").unlink()
    assert falling([0.1, 0.1, 0.9], Best("figure"), tmp_path / "checkpoint")[0] == -3


def test_each_step_has_its_own_dropout() -> None:
    """The draws depend on the seed and the step, and torch's own generator goes on as if nothing had been drawn."""

    model = nn.Linear(1, 1)

    def draws(seed: int) -> list[float]:
        drawn: list[float] = []

        def loss(rows: Rows) -> dict[str, Tensor]:
            drawn.append(torch.rand(1).item())
            return {"loss": model.weight.sum()}

        batches = Batches(np.arange(4), size=2, seed=1)
        Trainer(model, torch.optim.Adam(model.parameters()), batches, 2, dropout_seed=seed).run(loss)
        return drawn

    torch.manual_seed(5)
    expected = torch.rand(2)[1].item()
    torch.manual_seed(5)
    torch.rand(1)
    first = draws(1)
    assert torch.rand(1).item() == expected
    assert first == draws(1) != draws(2)
    assert len(set(first)) == 4
