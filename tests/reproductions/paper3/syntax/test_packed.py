"""Stanza's models in safetensors, there and back."""

from pathlib import Path

import pytest
import torch

from reproductions.paper3.syntax.packed import pack, unpack
from sentence_distillery.io.artifacts import InputError

MODEL = {
    "model": {"emb.weight": torch.tensor([[0.5, -2.0]]), "counts": torch.tensor([1, 2])},
    "vocab": {"words": ["<PAD>", "café", "base64ed"], "numbers": {("a", "NOUN"): 3, ("b", "VERB"): 4}, "cutoff": None},
    "dicts": b"\x1f\x8b\x00binary",
    "config": {"dropout": 0.33, "lower": True, "lang": "en"},
}


def test_what_is_packed_comes_back(tmp_path: Path) -> None:
    pack(MODEL, tmp_path / "pos.safetensors")
    found = unpack(tmp_path / "pos.safetensors")
    assert torch.equal(found["model"]["emb.weight"], torch.tensor([[0.5, -2.0]]))
    assert found["model"]["emb.weight"].dtype == torch.float32
    assert found["model"]["counts"].tolist() == [1, 2]
    assert found["vocab"]["words"] == ["<PAD>", "café", "base64ed"]
    assert found["vocab"]["numbers"] == {("a", "NOUN"): 3, ("b", "VERB"): 4}
    assert found["dicts"] == b"\x1f\x8b\x00binary"
    assert found["config"] == {"dropout": 0.33, "lower": True, "lang": "en"}


def test_weights_are_kept_in_half_precision(tmp_path: Path) -> None:
    pack({"model": {"a": torch.zeros(1000)}}, tmp_path / "a.safetensors")
    pack({"model": {"a": torch.zeros(1000, dtype=torch.float64)}}, tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").stat().st_size < 2_300
    assert (tmp_path / "b.safetensors").stat().st_size < 2_300


def test_what_is_neither_tensor_nor_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="config/path of a Stanza model is PosixPath"):
        pack({"config": {"path": Path("x")}}, tmp_path / "a.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.fault(21)
def test_a_pickle(tmp_path: Path) -> None:
    """As Stanza writes its models: no fallback to `torch.load`."""
    torch.save(MODEL, tmp_path / "pos.safetensors")
    with pytest.raises(InputError, match=r"is not a packed Stanza model .*Copy the file again"):
        unpack(tmp_path / "pos.safetensors")


@pytest.mark.fault(22)
def test_a_safetensors_file_of_another_kind(tmp_path: Path) -> None:
    """Without the metadata of a packed model."""
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "pos.safetensors")
    with pytest.raises(InputError, match="is not a packed Stanza model"):
        unpack(tmp_path / "pos.safetensors")
