"""Packed sequences: the same vectors and gradients as padded ones, for every architecture that packs."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from reproductions.encoders.packing import ARCHITECTURES, MPNET, packed_attention, runs_of, split
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


def test_runs() -> None:
    assert runs_of([4, 4, 2, 1, 1, 1]) == [(2, 4), (1, 2), (3, 1)]
    parts = split(torch.arange(13 * 2).view(13, 2), [(2, 4), (1, 2), (3, 1)])
    assert [tuple(part.shape) for part in parts] == [(2, 4, 2), (1, 2, 2), (3, 1, 2)]
    assert torch.equal(torch.cat([part.flatten(0, 1) for part in parts]), torch.arange(26).view(13, 2))


def test_no_token_sees_another_sequence() -> None:
    """Two runs of two heads, compared with attention over each sequence by itself."""
    made = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn(1, 2, 7, 4, generator=made) for _ in range(3))
    found, _ = packed_attention(torch.nn.Module(), query, key, value, None, runs=[(2, 2), (1, 3)])
    assert found.shape == (1, 7, 2, 4)
    for place in (slice(0, 2), slice(2, 4), slice(4, 7)):
        alone = F.scaled_dot_product_attention(query[:, :, place], key[:, :, place], value[:, :, place])
        torch.testing.assert_close(found[:, place], alone.transpose(1, 2))


def test_dropout_in_attention() -> None:
    query = torch.ones(1, 1, 4, 2)
    torch.manual_seed(1)
    found, _ = packed_attention(torch.nn.Module(), query, query, query, None, runs=[(2, 2)], dropout=0.5)
    assert found.min() < found.max()
