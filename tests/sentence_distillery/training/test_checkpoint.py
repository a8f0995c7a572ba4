"""Checkpoints that cannot be used; the tests of each training show that it resumes to the uninterrupted result."""

import logging
from pathlib import Path

import pytest
import torch
from torch import nn

from sentence_distillery.training.checkpoint import Checkpoint, has_weights, save_weights


def checkpoint(path: Path, value: float, key: str = "key") -> Checkpoint:
    model = nn.Linear(3, 2)
    nn.init.constant_(model.weight, value)
    return Checkpoint(path, key, model, torch.optim.Adam(model.parameters()))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "epoch.safetensors"
    checkpoint(path, 1.0).save([{"loss": 0.5}])
    return path


def test_one_of_something_else_is_passed_over_silently(saved: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And one of the same training gives its notes and weights back."""
    assert checkpoint(saved, 0.0, "other").resume() == []
    assert checkpoint(saved.with_name("none"), 0.0).resume() == []
    assert not caplog.messages
    found = checkpoint(saved, 0.0)
    assert found.resume() == [{"loss": 0.5}]
    assert (found.model.state_dict()["weight"] == 1).all()


@pytest.mark.parametrize("place", [-1, -20, 300, 5])
@pytest.mark.fault(2)
def test_a_changed_byte(saved: Path, place: int, caplog: pytest.LogCaptureFixture) -> None:
    """No part of a damaged checkpoint is used, and the log says why training starts again."""
    content = bytearray(saved.read_bytes())
    content[place] ^= 0x40
    saved.write_bytes(content)
    found = checkpoint(saved, 0.0)
    with caplog.at_level(logging.WARNING):
        assert found.resume() == []
    assert (found.model.state_dict()["weight"] == 0).all()
    assert f"{saved} is damaged" in caplog.text


@pytest.mark.parametrize("place", [-1, 5])
def test_best_weights_with_a_changed_byte(tmp_path: Path, place: int, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "epoch.best"
    save_weights(path, "key", nn.Linear(3, 2))
    assert has_weights(path, "key")
    assert not has_weights(path, "other")
    assert not has_weights(tmp_path / "none", "key")
    assert not caplog.messages
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)
    assert not has_weights(path, "key")
    assert f"{path} is damaged" in caplog.text
