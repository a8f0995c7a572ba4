"""The trainable encoder: pooling by hand, padding without effect, cross-encoders, all architectures."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper2.pairs.export import read_model, write_model
from reproductions.paper2.pairs.heads import LogisticHead
from reproductions.paper2.pairs.options import Combination
from reproductions.paper2.pairs.training import PairModel
from tests.reproductions.paper2.small import SENTENCES, encoder, write_encoder

ARCHITECTURES = ("bert", "roberta", "albert", "mpnet")


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {name: tmp_path_factory.mktemp(name) for name in ARCHITECTURES}
    for name, directory in found.items():
        write_encoder(directory, name)
    return found


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("pooling", list(Pooling))
def test_company_does_not_matter(
    directories: dict[str, Path], architecture: str, pooling: Pooling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence has the same vector with any padding and in any batch."""
    found = encoder(directories[architecture], pooling)
    together = found.embed(found.tokens(SENTENCES))
    alone = np.concatenate([found.embed(found.tokens([text])) for text in SENTENCES])
    monkeypatch.setattr("reproductions.encoders.trainable.CPU_TOKENS", 12)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(found.embed(found.tokens(SENTENCES)), alone, atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_joined_pairs(directories: dict[str, Path], architecture: str) -> None:
    """The order matters in a cross-encoder; BERT and ALBERT mark the second sentence by its token type."""
    found = encoder(directories[architecture])
    there, back = found.tokens(["the dog"], ["a woman"]), found.tokens(["a woman"], ["the dog"])
    assert (there.types is not None) == (architecture in ("bert", "albert"))
    assert len(there.ids[0]) > len(found.tokens(["the dog"]).ids[0])
    assert not np.allclose(found.embed(there), found.embed(back), atol=1e-4)


def test_nothing_to_encode(directories: dict[str, Path]) -> None:
    found = encoder(directories["bert"])
    assert found.embed(found.tokens([])).shape == (0, 16)


def test_dropout_in_training_alone(directories: dict[str, Path]) -> None:
    found = encoder(directories["bert"]).train()
    tokens = found.tokens(SENTENCES)
    assert not torch.allclose(found(tokens), found(tokens))
    np.testing.assert_array_equal(found.embed(tokens), found.embed(tokens))
    assert found.training


def test_bfloat16(directories: dict[str, Path]) -> None:
    """Its vectors are off in the third digit, and float32, as the gradients are."""
    found = encoder(directories["bert"])
    for part in found.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    tokens = found.tokens(SENTENCES)
    exact = found.train()(tokens)
    found.precision = "bfloat16"
    rough = found(tokens)
    rough.sum().backward()
    assert not torch.equal(rough, exact)
    torch.testing.assert_close(rough, exact, atol=0.03, rtol=0.0)
    assert {weight.grad.dtype for weight in found.parameters() if weight.grad is not None} == {torch.float32}
    assert rough.dtype == torch.float32


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_cut_table_of_tokens(directories: dict[str, Path], architecture: str) -> None:
    """Adam updates its rows, and all other weights, as in the full table, whose other rows do not change."""
    whole, cut = encoder(directories[architecture]), encoder(directories[architecture])
    tokens = whole.tokens(SENTENCES)
    cut.keep_only(tokens)
    before = whole.table.weight.detach().clone()
    for found in (whole, cut):
        optimizer = torch.optim.Adam(found.parameters(), lr=1e-3)
        for rows in ([0, 1], [1, 2]):
            optimizer.zero_grad()
            found(tokens.take(rows)).square().sum().backward()
            optimizer.step()
    assert len(cut.table.weight) < len(before)
    torch.testing.assert_close(cut.embed(tokens), whole.embed(tokens))
    assert cut.places is not None
    assert torch.equal(whole.table.weight[cut.places < 0], before[cut.places < 0])


@pytest.mark.parametrize("pooling", list(Pooling))
def test_sentence_transformers_loads_it(directories: dict[str, Path], tmp_path: Path, pooling: Pooling) -> None:
    found = encoder(directories["bert"], pooling)
    write_model(PairModel(found, None), {"threshold": 0.5, "strategy": "siamese"}, tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu")
    assert theirs.max_seq_length == 32
    np.testing.assert_allclose(theirs.encode(list(SENTENCES)), found.embed(found.tokens(SENTENCES)), atol=1e-5)


def test_a_model_comes_back(directories: dict[str, Path], tmp_path: Path) -> None:
    """With its head, its pooling and its metadata."""
    found: PairEncoder = encoder(directories["bert"], Pooling.MAX)
    model = PairModel(found, LogisticHead(16, Combination.ALL, seed=3))
    write_model(model, {"threshold": 0.5, "strategy": "logistic"}, tmp_path)
    again, about = read_model(tmp_path)
    vectors = found.embed(found.tokens(SENTENCES))
    np.testing.assert_array_equal(again.encoder.embed(again.encoder.tokens(SENTENCES)), vectors)
    np.testing.assert_array_equal(again.scores(vectors, vectors[::-1]), model.scores(vectors, vectors[::-1]))
    assert about["threshold"] == 0.5 and again.encoder.pooling is Pooling.MAX
