"""Packed sequences: the same vectors and gradients as padded ones, for every architecture that packs."""

from pathlib import Path

import pytest
import torch

from reproductions.encoders.packing import ARCHITECTURES, MPNET, packed_attention
from reproductions.encoders.trainable import PairEncoder, Pooling
from tests.reproductions.paper2.small import SENTENCES, encoder, write_encoder


def unpacked(found: PairEncoder) -> PairEncoder:
    found.packs = False
    if found.transformer.config.model_type != MPNET:  # whose own attention is the only one that it has
        found.transformer.set_attn_implementation("eager")
    return found


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("pooling", list(Pooling))
@pytest.mark.parametrize("joined", [False, True])
def test_as_padded(tmp_path: Path, architecture: str, pooling: Pooling, joined: bool) -> None:
    write_encoder(tmp_path, architecture)
    one, other = encoder(tmp_path, pooling), unpacked(encoder(tmp_path, pooling))
    assert one.packs
    sentences = [*SENTENCES, *SENTENCES[:2], "a b c d e f g h", "x"]
    tokens = one.tokens(sentences, sentences[::-1] if joined else None)
    vectors = [each.eval()(tokens) for each in (one, other)]
    torch.testing.assert_close(*vectors, atol=1e-5, rtol=1e-4)
    for found in vectors:
        (found**3).sum().backward()
    for (name, here), (_, there) in zip(one.named_parameters(), other.named_parameters(), strict=True):
        assert (here.grad is None) == (there.grad is None), name
        if here.grad is not None:
            torch.testing.assert_close(here.grad, there.grad, atol=1e-4, rtol=1e-3, msg=name)


def test_dropout_in_attention() -> None:
    query = torch.ones(1, 1, 4, 2)
    torch.manual_seed(1)
    found, _ = packed_attention(torch.nn.Module(), query, query, query, None, runs=[(2, 2)], dropout=0.5)
    assert found.min() < found.max()
