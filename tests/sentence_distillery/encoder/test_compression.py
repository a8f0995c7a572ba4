"""Fewer dimensions and fewer bits: exact and approximate results, with bounds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from sentence_distillery import load
from sentence_distillery.distillation.export import export, write_model
from sentence_distillery.distillation.sizing import fit_to_size
from sentence_distillery.encoder.compression import (
    STEP,
    Precision,
    compress,
    compressed,
    levels,
    principal_directions,
    token_counts,
    values,
    with_fewer_words,
)
from sentence_distillery.encoder.persistence.finding import model_directory
from sentence_distillery.encoder.persistence.names import TABLE, WEIGHTS
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, write_tensors
from sentence_distillery.io.ragged import TokenIds, unit_rows
from tests.sentence_distillery.distillation.conftest import CARD, deep_encoder, files, paper_encoder, static_encoder

from .test_encoder import ODD

pytestmark = pytest.mark.usefixtures("both_ways")  # native and simple

TEXTS = ["The storm closed the port.", "unknowns at the cafe, ing x", "Café 港 storm", "the " * 300 + "storm", "", "?!"]


def counts(encoder: StaticEncoder) -> np.ndarray:
    return np.arange(len(encoder.stored), 0, -1)


def small(precision: Precision, dimension: int = 8) -> StaticEncoder:
    encoder = static_encoder()
    directions = principal_directions(encoder.table, counts(encoder))
    return compressed(encoder, directions, dimension, precision)


def test_principal_directions_by_hand() -> None:
    """Two tokens on the axes: the one with the larger count times length is the first direction."""
    table = np.array([[0, 0], [1, 0], [0, 2]], dtype=np.float32)
    np.testing.assert_allclose(principal_directions(table, np.array([1, 400, 16])), [[1, 0], [0, 1]], atol=1e-6)
    np.testing.assert_allclose(principal_directions(table, np.array([1, 100, 16])), [[0, 1], [1, 0]], atol=1e-6)


def test_dropped_directions_are_the_smallest() -> None:
    """All of them are a rotation, which changes no cosine."""
    encoder = static_encoder()
    directions = principal_directions(encoder.table, counts(encoder))
    weighted = np.sqrt(np.sqrt(counts(encoder)))[:, None] * encoder.table
    sizes = np.square(weighted @ directions).sum(axis=0)
    assert (np.diff(sizes) <= 1e-3).all()
    np.testing.assert_allclose(directions.T @ directions, np.eye(8), atol=1e-5)
    assert small(Precision.FLOAT32, 3).encode(TEXTS).shape == (len(TEXTS), 3)


def test_levels_by_hand() -> None:
    table = np.array([[0.0, 2.54], [-1.27, 0.011]], dtype=np.float32)
    np.testing.assert_array_equal(levels(table), [[0, 127], [-64, 1]])
    assert not levels(np.zeros((2, 2), np.float32)).any()


@pytest.mark.parametrize("precision", list(Precision))
def test_saved_and_loaded(tmp_path: Path, precision: Precision) -> None:
    """With the same bytes again; by sentence-transformers, too: in float32, and zero for a text without a word."""
    variant = small(precision, 8)
    export(variant, CARD, tmp_path / "one")
    export(variant, CARD, tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    loaded = StaticEncoder.load(tmp_path / "one").encode(ODD[:-1])
    np.testing.assert_array_equal(loaded, variant.encode(ODD[:-1]))
    np.testing.assert_allclose(loaded, static_encoder().encode(ODD[:-1]), atol=2e-2)
    theirs = SentenceTransformer(str(tmp_path / "one"), device="cpu").encode(ODD[:-1])
    assert theirs.dtype == np.float32
    np.testing.assert_allclose(theirs, loaded, atol=1e-5)


def test_int8_and_levels_are_the_same_vectors() -> None:
    np.testing.assert_array_equal(small(Precision.INT8).encode(TEXTS), small(Precision.LEVELS).encode(TEXTS))


def test_sums_of_levels_are_exact() -> None:
    """The longest text whose sums fit in 16 bits, one token more, and many more, of the largest levels."""
    encoder = static_encoder()
    stored = np.zeros(encoder.stored.shape, dtype=np.int8)
    vocabulary = encoder.tokenizer.get_vocab()
    storm, port = vocabulary["storm"], vocabulary["port"]
    stored[storm], stored[storm, 1], stored[port, 0] = 127, -128, -100
    integers = StaticEncoder(encoder.tokenizer, stored)
    counts = [(255, 0), (256, 0), (255, 1), (510, 0), (511, 0), (40_000, 0), (0, 1)]
    texts = ["storm " * storms + "port " * ports for storms, ports in counts]
    tokens = TokenIds.from_lists([[storm] * storms + [port] * ports for storms, ports in counts])
    expected = tokens.sums(stored.astype(np.int64))
    np.testing.assert_allclose(integers.embed(tokens), unit_rows(expected.astype(np.float32)), atol=1e-7)
    np.testing.assert_allclose(integers.encode(texts), unit_rows(expected.astype(np.float32)), atol=1e-7)
    means = (expected / tokens.lengths[:, None]).astype(np.float32)
    np.testing.assert_allclose(integers.encode(texts, normalize_embeddings=False), means, rtol=1e-6)


@pytest.mark.parametrize("damage", [0.3, 300.0, float("nan")])
@pytest.mark.fault(22)
def test_values_between_the_levels(tmp_path: Path, damage: float) -> None:
    """A table with values outside its stated 255 levels is refused."""
    write_model(small(Precision.LEVELS), {}, tmp_path)
    broken = small(Precision.LEVELS).stored.copy()
    broken[3, 1] = damage * STEP
    write_tensors(tmp_path / WEIGHTS, {TABLE: broken})
    with pytest.raises(InputError, match="levels"):
        StaticEncoder.load(tmp_path)


def test_compress_keeps_the_directions_of_the_texts() -> None:
    """Those of the words that occur; without texts every token counts once."""
    encoder = static_encoder()
    occurring = np.bincount(encoder.token_ids(TEXTS).ids, minlength=len(encoder.table))
    for texts, counted in ((iter(TEXTS), occurring), (None, np.ones(len(encoder.table), dtype=np.int64))):
        expected = compressed(encoder, principal_directions(encoder.table, counted), 4, Precision.INT8)
        found = compress(encoder, dimension=4, texts=texts)
        assert found.stored.dtype == np.int8 and found.dimension == 4
        np.testing.assert_array_equal(found.stored, expected.stored)
    whole = compress(encoder, precision="float32")
    np.testing.assert_array_equal(whole.stored, encoder.stored)


@pytest.mark.parametrize("dimension", [0, 9, 4.0, True, "4"])
def test_compress_names_the_dimensions_that_there_are(dimension: Any) -> None:
    with pytest.raises(InputError, match=rf"dimension = {dimension}; the token vectors have 8, so give 1 to 8\."):
        compress(static_encoder(), dimension=dimension)


def test_compress_names_the_precisions_that_there_are() -> None:
    precision: Any = "int4"
    with pytest.raises(InputError, match="precision = int4; it is one of float32, float16, int8, levels"):
        compress(static_encoder(), precision=precision)


def test_compress_refuses_texts_without_a_known_word() -> None:
    with pytest.raises(InputError, match="texts: the encoder knows no word of them; give other texts, or none"):
        compress(static_encoder(), dimension=4, texts=["", "?!"])


def test_texts_in_other_containers() -> None:
    """regression: of a path, the letters were taken for texts, and of a table the names of its columns."""
    encoder = static_encoder()
    np.testing.assert_array_equal(
        compress(encoder, dimension=4, texts=pa.array(TEXTS)).stored, compress(encoder, dimension=4, texts=TEXTS).stored
    )
    texts: Any
    for texts in ("corpus.txt", Path("corpus.txt"), np.array([TEXTS]), {"text": TEXTS}, b"storm", [1]):
        with pytest.raises(TypeError, match="texts"):
            compress(encoder, dimension=4, texts=texts)
        with pytest.raises(TypeError, match="texts"):
            fit_to_size(encoder, 1.0, texts, [])


@pytest.mark.parametrize("layered", [deep_encoder, paper_encoder])
def test_compress_refuses_layers(layered: Callable[[], StaticEncoder]) -> None:
    with pytest.raises(InputError, match=r"has layers after the sum of its token vectors; only one without layers"):
        compress(layered())


def vocabulary(encoder: StaticEncoder) -> set[str]:
    return set(encoder.tokenizer.get_vocab())


def test_fewer_words() -> None:
    """The rarest words go, and are cut into pieces; texts without them keep their vectors."""
    encoder = load()
    texts = ["The storm closed the port.", "Ships wait for the storm to pass."]
    smaller = with_fewer_words(encoder, 30_000, token_counts(encoder, texts))
    assert len(smaller.stored) == smaller.tokenizer.get_vocab_size() == 30_000
    np.testing.assert_allclose(smaller.encode(texts), encoder.encode(texts), atol=1e-6)
    gone = next(word for word in vocabulary(encoder) - vocabulary(smaller) if len(word) > 8)
    assert len(smaller.tokenizer.encode(gone).ids) > 1 and smaller.encode([gone]).any()
    kept = next(word for word in vocabulary(smaller) if len(word) > 8 and word.isalpha())
    np.testing.assert_allclose(smaller.encode([kept]), encoder.encode([kept]), atol=1e-6)


def test_a_vocabulary_of_pieces_is_the_smallest() -> None:
    encoder = load()
    most = len(encoder.stored)
    with pytest.raises(InputError, match=rf"give \d+, which are pieces of words, to {most}\.") as caught:
        compress(encoder, vocabulary=5)
    with pytest.raises(InputError, match="pieces of words"):
        compress(encoder, vocabulary=most - 0.5)  # type: ignore[arg-type]
    least = int(str(caught.value).split("give ")[1].split(",")[0])
    smaller = compress(encoder, vocabulary=least, precision="float32")
    assert not [token for token in vocabulary(smaller) if len(token) > 1 and not token.startswith(("##", "[UNK]"))]
    assert smaller.encode(["The storm closed the port."]).any()


def test_fewer_words_in_other_libraries(tmp_path: Path) -> None:
    smaller = compress(load(), vocabulary=25_000, dimension=64, precision="float32", texts=TEXTS)
    smaller.save_pretrained(tmp_path / "smaller")
    ours = load(tmp_path / "smaller").encode(ODD + TEXTS)
    theirs = SentenceTransformer(str(tmp_path / "smaller"), device="cpu").encode(ODD + TEXTS)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    static = StaticModel.from_pretrained(tmp_path / "smaller")
    np.testing.assert_allclose(unit_rows(static.encode(ODD + TEXTS)), ours, atol=1e-5)


def test_dimensions_that_are_cut_off_stay_off() -> None:
    """Of the table, and of the lexical channel behind it."""
    for cut, dimension, expected in ((300, None, 300), (300, 64, 108), (100, None, 100), (100, 32, 32), (256, 64, 64)):
        encoder = load("released-search", truncate_dim=cut)
        smaller = compress(encoder, dimension=dimension)
        assert smaller.dimension == expected
        if dimension is None:
            np.testing.assert_allclose(smaller.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


def test_the_model_card_stays(tmp_path: Path) -> None:
    """With one line on what is smaller, after the metadata; the origin stays in config.json, and other figures go."""
    encoder = load()
    twice = compress(compress(encoder, dimension=128), dimension=64, vocabulary=30_000, precision="float16")
    twice.save_pretrained(tmp_path / "small")
    before, after = (load(path).card or "" for path in (model_directory("released"), tmp_path / "small"))
    size = "64 dimensions, 30,000 tokens, float16"
    note = f"> Made smaller by sentence-distillery: {size}; the rest describes it before."
    assert after.count("Made smaller by") == 1 and f"---\n\n{note}\n\n# " in after
    assert after.replace(f"{note}\n\n", "") == before
    made_from = load(tmp_path / "small").made_from
    assert made_from["teacher"] == encoder.made_from["teacher"] and "figures" not in made_from
    encoder.save_pretrained(tmp_path / "same")
    assert not (tmp_path / "same" / "README.md").exists()


def test_levels_of_int8_become_values_of_a_few_units() -> None:
    """A learning rate is for such values; a table of other numbers stays as it is."""
    encoder = static_encoder()
    small = compress(encoder, precision="int8")
    np.testing.assert_allclose(values(small), small.stored * np.float32(STEP), rtol=1e-6)
    np.testing.assert_array_equal(values(encoder), encoder.table)
