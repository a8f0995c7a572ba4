"""The weight that the lexical channel has in searches, if it is another than in `encode`."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from sentence_distillery import compress, load
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError

WORDS = ["the", "storm", "storms", "closed", "port", "gale", "bank", "rates"]
TEXTS = ["the storm closed the port", "storms", "gale the gale " * 20, "", "the qzx"]
TABLE, CHANNEL, WEIGHT = 8, 64, 1.5


@pytest.fixture
def encoder() -> StaticEncoder:
    """An encoder whose searches alone have the channel."""
    table = np.random.default_rng(1).normal(size=(len(WORDS) + 1, TABLE)).astype(np.float32)
    table[0] = 0
    plain = StaticEncoder(static_tokenizer([UNKNOWN, *WORDS]), table)
    return with_lexical_channel(plain, plain.token_ids(TEXTS), CHANNEL, 0.0, "en", WEIGHT)


def saved(encoder: StaticEncoder, directory: Path) -> StaticEncoder:
    encoder.save_pretrained(directory / "model")
    return load(directory / "model")


Again = Callable[[StaticEncoder, Path], StaticEncoder]
AGAIN: dict[str, Again] = {
    "as it is": lambda encoder, _: encoder,
    "saved": saved,
    "pickled": lambda encoder, _: pickle.loads(pickle.dumps(encoder)),
    "cloned": lambda encoder, _: clone(encoder),
    "compressed": lambda encoder, _: compress(encoder, precision="float32"),
    "for searches, saved": lambda encoder, place: saved(encoder.for_search, place),
}


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_searches_have_the_channel(encoder: StaticEncoder, tmp_path: Path, again: Again) -> None:
    """By the same encoder with this weight in all texts; `compress` turns dimensions, which changes no cosine."""
    expected = StaticEncoder(encoder.model, lexical_weight=WEIGHT).encode(TEXTS)
    found = again(encoder, tmp_path)
    for encode in (found.encode_query, found.encode_document, found.for_search.encode):
        vectors = encode(TEXTS)
        assert vectors.shape == (len(TEXTS), TABLE + CHANNEL)
        np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-6)
    alone = encoder if found.kind == "static" else encoder.for_search
    np.testing.assert_allclose(
        found.encode(TEXTS) @ found.encode(TEXTS).T, alone.encode(TEXTS) @ alone.encode(TEXTS).T, atol=1e-6
    )


def test_a_weight_that_is_given_holds_for_searches(encoder: StaticEncoder, tmp_path: Path) -> None:
    encoder.save_pretrained(tmp_path)
    for weight, width in ((0, TABLE), (0.5, TABLE + CHANNEL), ((0.5, 0.0), TABLE)):
        found = load(tmp_path, lexical_weight=weight)
        assert found.encode_query(TEXTS).shape[1] == width
    found = load(tmp_path)
    for cut in (None, 4, 6):  # also after the first query
        found.truncate_dim = cut
        assert found.encode_query(TEXTS).shape[1] == (cut or TABLE + CHANNEL)
    assert load(tmp_path, lexical_dimension=16).encode_document(TEXTS).shape[1] == TABLE + 16


def test_an_encoder_that_was_cut_has_no_channel_when_it_is_loaded(encoder: StaticEncoder, tmp_path: Path) -> None:
    cut = StaticEncoder(encoder.model, truncate_dim=4)
    np.testing.assert_array_equal(saved(cut, tmp_path).encode_query(TEXTS), cut.encode_query(TEXTS))


def test_without_a_channel_nothing_differs() -> None:
    encoder = load("released", lexical_weight=0)
    assert encoder.for_search is encoder
    np.testing.assert_array_equal(encoder.encode_query(TEXTS), load("released").encode(TEXTS))


def test_the_released_encoder_searches_as_released_search() -> None:
    found, search = load(), load("released-search")
    np.testing.assert_array_equal(found.encode_query(TEXTS), search.encode_query(TEXTS))
    assert (found.dimension, found.for_search.dimension) == (256, 1024)
    assert load(lexical_dimension=2048).encode_document("storm").shape == (2304,)


@pytest.mark.parametrize("weight", [-1, "1", [1.0, 2.0], 2_000, True])
def test_a_damaged_weight(encoder: StaticEncoder, tmp_path: Path, weight: object) -> None:
    encoder.save_pretrained(tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text(encoding="utf-8"))
    config["lexical"]["search_weight"] = weight
    (tmp_path / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match="the search_weight of lexical is"):
        load(tmp_path)
