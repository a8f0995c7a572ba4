"""The lexical channel of an encoder: its vectors by hand, its weight, its files, and what is refused."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from sentence_distillery import compress, fit_to_size, load
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.encoder.lexical import PLACES, LexicalChannel, stem_hash
from sentence_distillery.encoder.persistence.names import CONFIG, IDF, STEMS, WEIGHTS
from sentence_distillery.encoder.persistence.onnx_files import onnx_bytes
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError, read_tensors, write_tensors
from sentence_distillery.io.ragged import TokenIds

pytestmark = pytest.mark.usefixtures("both_ways")  # native and simple

WORDS = ["the", "storm", "storms", "closed", "port", "gale", "bank", "rates"]
TEXTS = ["the storm closed the port", "the bank closed", "storms", "the rates", "gale the gale gale", "", "the qzx"]
WEIGHT = 1.5


@pytest.fixture
def plain() -> StaticEncoder:
    table = np.random.default_rng(1).normal(size=(len(WORDS) + 1, 8)).astype(np.float32)
    table[0] = 0
    return StaticEncoder(static_tokenizer([UNKNOWN, *WORDS]), table)


@pytest.fixture
def encoder(plain: StaticEncoder) -> StaticEncoder:
    return with_lexical_channel(plain, plain.token_ids(TEXTS), 64, WEIGHT, "en")


@pytest.fixture
def model(encoder: StaticEncoder, tmp_path: Path) -> Path:
    """The directory of the encoder."""
    encoder.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def channel(encoder: StaticEncoder) -> LexicalChannel:
    assert encoder.lexical is not None
    return encoder.lexical


def test_a_stem_has_one_place_in_each_block() -> None:
    """The same ones in every encoder, with signs; the idf does not matter for a single stem."""
    stems = np.array([0, stem_hash("storm"), stem_hash("port")], np.int32)
    one = LexicalChannel(stems, np.array([0, 2, 2], np.float32), 64)
    other = LexicalChannel(stems[[0, 2, 1]], np.array([0, 1, 5], np.float32), 64)
    storm, port, none = one.vectors(TokenIds.from_lists([[1], [2], [0]]))
    for vector in (storm, port):
        assert (np.count_nonzero(vector.reshape(PLACES, -1), axis=1) == 1).all()
        np.testing.assert_allclose(vector[vector != 0] ** 2, 1 / PLACES, rtol=1e-6)
    assert {*np.sign(np.concatenate([storm, port]))} == {-1, 0, 1} and not none.any()
    np.testing.assert_allclose(other.vectors(TokenIds.from_lists([[2], [1]])), [storm, port], rtol=1e-6)

    # Vectors that somebody has stored rest on these.
    assert np.flatnonzero(storm).tolist() == [2, 15, 17, 27, 36, 42, 52, 60]
    assert np.sign(storm[storm != 0]).tolist() == [-1, -1, -1, 1, 1, 1, -1, 1]


def test_different_stems_are_nearly_orthogonal() -> None:
    """Products of 4,000 pairs of stems: mean 0, standard deviation the root of 1 / dimension."""
    stems = np.array([stem_hash(f"stem {number}") for number in range(8_000)], np.int32)
    found = LexicalChannel(stems, np.ones(8_000, np.float32), 256).vectors(
        TokenIds.from_lists([[n] for n in range(8_000)])
    )
    products = np.einsum("nd,nd->n", found[::2], found[1::2])
    assert abs(products.mean()) < 0.005
    assert products.std() == pytest.approx(1 / 16, rel=0.05)


def test_repeated_words_count_by_their_logarithm(encoder: StaticEncoder) -> None:
    """By hand: (1 + log n) idf for each stem; gale is in one text, closed in two, the in five."""
    found = channel(encoder)
    gale, closed, the = (WORDS.index(word) + 1 for word in ("gale", "closed", "the"))
    by_stem = {token: found.vectors(TokenIds.from_lists([[token]]))[0] for token in (gale, closed, the)}
    counted = {gale: 3, closed: 1, the: 2}
    expected = sum(by_stem[token] * found.idf[token] * (1 + np.log(count)) for token, count in counted.items())
    tokens = [token for token, count in counted.items() for _ in range(count)]
    vector = found.vectors(TokenIds.from_lists([[*tokens, 0]]))[0]
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert found.idf[gale] > found.idf[closed] > found.idf[the] > found.idf[0] == 0


def test_a_cosine_is_the_mean_of_both_parts(plain: StaticEncoder, encoder: StaticEncoder) -> None:
    """The channel counts by the square of its weight, however long the texts are."""
    words, found = plain.encode(TEXTS), encoder.encode(TEXTS)
    lexical = channel(encoder).vectors(encoder.token_ids(TEXTS))
    expected = (words @ words.T + WEIGHT**2 * lexical @ lexical.T) / (1 + WEIGHT**2)
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 1, 1, 1, 0, 1], atol=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_weight_of_short_and_one_of_long_texts(plain: StaticEncoder, encoder: StaticEncoder, normalize: bool) -> None:
    """By hand; unknown words do not make a text long, and more tokens than the core reads at once do."""
    texts = ["storm " * 12, "storm " * 17, "storm port " * 16, "qzx " * 40 + "storm", "storm gale " * 3_000]
    expected = [0.5, 0.75, 1.5, 0.5, 1.5]
    found = StaticEncoder(encoder.model, lexical_weight=(0.5, 1.5)).encode(texts, normalize_embeddings=normalize)
    parts = np.linalg.norm(found[:, 8:], axis=1) / np.linalg.norm(found[:, :8], axis=1)
    np.testing.assert_allclose(parts, expected, rtol=1e-5)
    for vector, text, weight in zip(found, texts, expected, strict=True):
        one = StaticEncoder(encoder.model, lexical_weight=weight).encode(text, normalize_embeddings=normalize)
        np.testing.assert_allclose(vector, one, atol=1e-6)


def test_in_a_search_all_texts_have_the_weight_of_long_ones(encoder: StaticEncoder) -> None:
    both = StaticEncoder(encoder.model, lexical_weight=(0.5, 1.5), truncate_dim=70)
    expected = StaticEncoder(encoder.model, lexical_weight=1.5, truncate_dim=70).encode(TEXTS)
    for encode in (both.encode_query, both.encode_document):
        np.testing.assert_array_equal(encode(TEXTS), expected)
    assert np.abs(both.encode(TEXTS) - expected).max() > 0.01
    np.testing.assert_array_equal(encoder.encode_query(TEXTS), encoder.encode(TEXTS))


def test_means_have_the_same_direction(plain: StaticEncoder, encoder: StaticEncoder) -> None:
    means = encoder.encode(TEXTS, normalize_embeddings=False)
    np.testing.assert_array_equal(means[:, :8], plain.encode(TEXTS, normalize_embeddings=False))
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(means, encoder.encode(TEXTS) * lengths, atol=1e-6)
    pooled = encoder.pool(encoder.token_ids(TEXTS[:5]))
    np.testing.assert_allclose(pooled, means[:5], atol=1e-6)


def test_batches_change_nothing(encoder: StaticEncoder) -> None:
    np.testing.assert_array_equal(encoder.encode(TEXTS * 400, batch_size=3)[-7:], encoder.encode(TEXTS))
    np.testing.assert_array_equal(np.stack([encoder.encode(text) for text in TEXTS]), encoder.encode(TEXTS))


def test_the_first_dimensions_are_those_of_the_table(plain: StaticEncoder, encoder: StaticEncoder) -> None:
    np.testing.assert_array_equal(encoder.encode(TEXTS, truncate_dim=8), plain.encode(TEXTS))
    np.testing.assert_array_equal(encoder.encode(TEXTS, truncate_dim=5), plain.encode(TEXTS, truncate_dim=5))
    beyond = encoder.encode(TEXTS, truncate_dim=20)
    expected = encoder.encode(TEXTS)[:, :20]
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(beyond, expected / np.where(norms > 0, norms, 1), atol=1e-6)


Same = Callable[[StaticEncoder, Path], StaticEncoder]


def saved(encoder: StaticEncoder, directory: Path) -> StaticEncoder:
    encoder.save_pretrained(directory)
    return load(directory)


@pytest.mark.parametrize(
    "again",
    [saved, lambda encoder, _: pickle.loads(pickle.dumps(encoder)), lambda encoder, _: encoder.__sklearn_clone__()],
    ids=["saved", "pickled", "cloned"],
)
def test_it_stays(encoder: StaticEncoder, tmp_path: Path, again: Same) -> None:
    size = len(pickle.dumps(encoder))
    found = again(encoder, tmp_path / "model")
    assert (found.kind, found.dimension) == ("lexical", 72)
    np.testing.assert_array_equal(found.encode(TEXTS), encoder.encode(TEXTS))
    assert len(pickle.dumps(encoder)) == size  # nothing derived


def test_the_weight_is_chosen_when_it_is_loaded(
    plain: StaticEncoder, encoder: StaticEncoder, model: Path, tmp_path: Path
) -> None:
    """0 leaves the channel out; a model may be saved so, and loaded with it."""
    without = load(model, lexical_weight=0)
    assert (without.kind, without.dimension) == ("static", 8)
    np.testing.assert_array_equal(without.encode(TEXTS), plain.encode(TEXTS))
    without.save_pretrained(tmp_path / "without")
    assert load(tmp_path / "without").kind == "static"
    again = load(tmp_path / "without", lexical_weight=(WEIGHT, WEIGHT))
    assert again.lexical_weight == WEIGHT  # one of both
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    load(model, lexical_weight=(0, WEIGHT)).save_pretrained(tmp_path / "pair")
    assert load(tmp_path / "pair").lexical_weight == (0, WEIGHT)


def test_the_dimension_is_chosen_when_it_is_loaded(encoder: StaticEncoder, model: Path) -> None:
    """As if it had been made so."""
    found = load(model, lexical_dimension=256)
    expected = with_lexical_channel(load(model), encoder.token_ids(TEXTS), 256, WEIGHT, "en")
    assert found.dimension == 8 + 256
    np.testing.assert_array_equal(found.encode(TEXTS), expected.encode(TEXTS))


def test_a_saved_cut_gives_way(model: Path, tmp_path: Path) -> None:
    """A model that was cut within its channel loads without the channel, or with a smaller one."""
    load(model, truncate_dim=30).save_pretrained(tmp_path / "cut")
    assert load(tmp_path / "cut").dimension == 30
    assert load(tmp_path / "cut", lexical_weight=0).dimension == 8
    assert load(tmp_path / "cut", lexical_dimension=16).dimension == 24
    assert load(tmp_path / "cut", lexical_dimension=128).dimension == 30


def test_figures_of_the_table_alone_are_not_saved_with_it(plain: StaticEncoder, tmp_path: Path) -> None:
    scored = StaticEncoder(plain.tokenizer, plain.stored, made_from={"figures": {"stsb": 0.5}, "seed": 1})
    encoder = with_lexical_channel(scored, plain.token_ids(TEXTS), 64, WEIGHT, "en")
    assert saved(encoder, tmp_path / "with").made_from == {"seed": 1}
    assert saved(scored, tmp_path / "without").made_from == {"figures": {"stsb": 0.5}, "seed": 1}


@pytest.mark.parametrize("cut", [5, 8, 20])
def test_a_cut_one_is_saved_as_it_is(encoder: StaticEncoder, model: Path, tmp_path: Path, cut: int) -> None:
    """Cut within the table, the channel is out; the table is no wider than needed."""
    load(model, truncate_dim=cut).save_pretrained(tmp_path / "cut")
    found = load(tmp_path / "cut")
    assert found.stored.shape[1] == min(cut, 8) and found.kind == ("static" if cut <= 8 else "lexical")
    np.testing.assert_array_equal(found.encode(TEXTS), encoder.encode(TEXTS, truncate_dim=cut))


def test_other_libraries_load_what_comes_before_it(plain: StaticEncoder, model: Path, tmp_path: Path) -> None:
    expected = plain.encode(TEXTS[:5])
    theirs = SentenceTransformer(str(model), device="cpu").encode(TEXTS[:5])
    np.testing.assert_allclose(theirs, expected, atol=1e-6)
    np.testing.assert_allclose(StaticModel.from_pretrained(model).encode(TEXTS[:5]), expected, atol=1e-6)
    StaticModel.from_pretrained(model).save_pretrained(tmp_path / "theirs")
    np.testing.assert_allclose(load(tmp_path / "theirs").encode(TEXTS[:5]), expected, atol=1e-6)


def test_a_smaller_student_keeps_it(encoder: StaticEncoder) -> None:
    tokens = len(WORDS) + 1
    small = compress(encoder, dimension=4, vocabulary=tokens - 2, texts=TEXTS)
    assert (small.dimension, len(small.stored)) == (4 + 64, tokens - 2)
    assert small.stored.dtype == np.int8
    known = [text for text in TEXTS if set(text.split()) <= set(small.tokenizer.get_vocab())]
    assert len(known) > 3
    before, after = (channel(each).vectors(each.token_ids(known)) for each in (encoder, small))
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_it_counts_in_the_size(tmp_path: Path) -> None:
    """The directory has no more bytes than asked for, and little less than the trial says."""
    words = [f"word{number}" for number in range(3_000)]
    table = np.random.default_rng(1).normal(size=(3_001, 64)).astype(np.float32)
    table[0] = 0
    texts = [" ".join(words[start : start + 6]) for start in range(0, 3_000, 3)]
    plain = StaticEncoder(static_tokenizer([UNKNOWN, *words]), table)
    encoder = with_lexical_channel(plain, plain.token_ids(texts), 64, 1.0, "en")
    small, trials = fit_to_size(encoder, 0.2, texts)
    small.save_pretrained(tmp_path / "model")
    size = sum(file.stat().st_size for file in (tmp_path / "model").rglob("*") if file.is_file()) / 1e6
    assert 0.19 < trials[0].megabytes <= 0.2 and trials[0].megabytes - 0.012 < size <= trials[0].megabytes
    assert small.dimension == trials[0].dimension + 64


@pytest.mark.parametrize(
    ("option", "values", "message"),
    [
        ("dimension", [0, -8, 12, 2**40, 8.0, True, "8"], "it is a multiple of 8 up to 65,536, such as 64"),
        ("weight", [-1, 1001, float("nan"), True, "1", (1,), (1, -1), ((1, 2), 1)], "it is a number from 0 to 1,000"),
    ],
)
def test_a_wrong_option(model: Path, option: str, values: list[Any], message: str) -> None:
    for value in values:
        options: Any = {f"lexical_{option}": value}
        with pytest.raises(ValueError, match=f"lexical_{option} is .*; {message}"):
            load(model, **options)


def test_a_model_whose_channel_is_missing_or_left_out(plain: StaticEncoder, tmp_path: Path) -> None:
    plain.save_pretrained(tmp_path / "model")
    assert load(tmp_path / "model", lexical_weight=0).kind == "static"
    with pytest.raises(ValueError, match=r"lexical_weight is 1.0, but this model has no lexical channel"):
        load(tmp_path / "model", lexical_weight=1.0)
    with pytest.raises(ValueError, match="lexical_dimension is 64, but this model has no lexical channel"):
        load(tmp_path / "model", lexical_dimension=64)
    with_lexical_channel(plain, plain.token_ids(TEXTS), 64, 0, "en").save_pretrained(tmp_path / "left_out")
    with pytest.raises(ValueError, match=r"is left out: give a lexical_weight, too, such as \(0\.5, 1\.2\)"):
        load(tmp_path / "left_out", lexical_dimension=128)


def test_no_onnx_file_has_it(plain: StaticEncoder, encoder: StaticEncoder, model: Path, tmp_path: Path) -> None:
    """Unless the vectors are cut before it."""
    with pytest.raises(InputError, match="lexical_weight=0"):
        encoder.save_onnx(tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()
    for cut in (8, 5):
        before = StaticEncoder(plain.tokenizer, plain.stored, truncate_dim=cut)
        assert onnx_bytes(load(model, truncate_dim=cut)) == onnx_bytes(before)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (7, "the dimension of lexical is None; it is a multiple of 8"),
        ({"dimension": 12, "weight": 1.0}, "the dimension of lexical is 12"),
        ({"dimension": 0, "weight": 1.0}, "the dimension of lexical is 0"),
        ({"dimension": 2**40, "weight": 1.0}, "the dimension of lexical is 1099511627776"),
        ({"dimension": True, "weight": 1.0}, "the dimension of lexical is True"),
        ({"dimension": 64, "weight": -1.0}, "the weight of lexical is -1.0; it is a number from 0 to 1,000"),
        ({"dimension": 64, "weight": [1.0, "1"]}, r"the weight of lexical is \[1.0, '1'\]"),
        ({"dimension": 64}, "the weight of lexical is None"),
        ({"dimension": 32, "weight": 1.0}, "dimension is 72, and the model has 40"),
        ({"dimension": 64, "weight": 0.0}, "kind is 'lexical', and the model has 'static'"),
    ],
)
def test_a_damaged_configuration(model: Path, entry: object, message: str) -> None:
    file = model / CONFIG
    file.write_text(json.dumps(json.loads(file.read_text()) | {"lexical": entry}))
    with pytest.raises(InputError, match=message):
        load(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({STEMS: np.zeros(9, np.float32)}, "are int32"),
        ({IDF: np.zeros(9, np.float16)}, "'lexical.idf' float32 from 0"),
        ({IDF: np.full(9, -1, np.float32)}, "float32 from 0"),
        ({IDF: np.full(9, np.nan, np.float32)}, "float32 from 0"),
        ({IDF: np.zeros(8, np.float32)}, r"has shape \(8,\), expected \(9,\)"),
        ({IDF: None}, "has no tensor 'lexical.idf'"),
    ],
)
def test_damaged_weights(model: Path, change: dict[str, np.ndarray | None], message: str) -> None:
    config, weights = model / CONFIG, model / WEIGHTS
    tensors = read_tensors(weights, {"embeddings": (None, None), STEMS: (None,), IDF: (None,)}) | change
    write_tensors(weights, {name: array for name, array in tensors.items() if array is not None})
    content = json.loads(config.read_text())
    del content["weights_sha256"]
    config.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        load(model)
