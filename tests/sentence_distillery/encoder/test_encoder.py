"""The encoder without a neural network library equals sentence-transformers, whatever the text."""

import json
import pickle
import struct
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from reproductions.paper1.word_vectors.tokenizer import content_tokenizer
from sentence_distillery.encoder import core, threads
from sentence_distillery.encoder.persistence.names import TABLE, WEIGHTS
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, write_tensors
from sentence_distillery.io.errors import POINTER
from sentence_distillery.io.ragged import Floats
from tests.sentence_distillery.distillation.conftest import static_encoder, table

pytestmark = pytest.mark.usefixtures("both_ways")  # native and simple

TOLERANCE = 1e-5
ODD = [
    "",
    " ",
    "\t\r\n",
    "\x00",
    "sto\x00rm",
    "the storm\x0bclosed\x7f port\x85x",
    "The STORM closed, the port!",
    "[UNK]",
    "##ing",
    "unknowns 2024 qq",
    "港が 港、漢字",
    "❤️ 👍🏽 storm🏽 x",
    "Café cafe\u0301 CAFÉ ﬁx",
    "«the» “storm” the—port don’t the…",
    "the⹒storm ᙭ x᙭x ½ x½",
    "\u2028the\u3000storm\u00a0x\u200bx",
    "\ufffd storm",
    "İΣ ẞ Å ;",
    "a" * 101,
    "x" * 5_000,
    "é" * 200,
    "the storm " * 100_000,
]


@cache
def reference(directory: Path) -> SentenceTransformer:
    return SentenceTransformer(str(directory), device="cpu")


def assert_equal_to_reference(directory: Path, sentences: list[str]) -> None:
    ours = StaticEncoder.load(directory).encode(sentences)
    theirs = reference(directory).encode(sentences)
    assert np.isfinite(ours).all()
    np.testing.assert_allclose(ours, theirs, atol=TOLERANCE)


@pytest.mark.fault(19)
def test_odd_texts(student: Path) -> None:
    """Empty, blank, unknown, NUL and 1 MB sentences have finite vectors, as in sentence-transformers."""
    assert len(ODD[-1]) == 1_000_000
    assert_equal_to_reference(student, ODD)


NEAR = st.text(st.sampled_from("theSTORMunks #[].,'’–—é\u0301\x00\x1f\u200b港❤𝟙ß\t⹒᙭;"))  # the vocabulary


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text() | NEAR, min_size=1, max_size=4))
@example(["the ⹒", "a⹒a", "a᙭a"])
def test_any_text(student: Path, sentences: list[str]) -> None:
    assert_equal_to_reference(student, sentences)


@pytest.mark.fault(19)
def test_lone_surrogates_are_left_out(student: Path) -> None:
    """Sentence-transformers fails on a lone surrogate; here it is read as U+FFFD, which is in no word."""
    encoder = StaticEncoder.load(student)
    vectors = encoder.encode(["storm \ud800 closed", "storm \ufffd closed", "\ud83d\udc4d storm", "👍 storm"])
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(vectors[2], vectors[3])
    with pytest.raises(TypeError):
        reference(student).encode(["storm \ud800"])


def test_the_table_is_a_view_of_the_file(static_student: Path) -> None:
    encoder = StaticEncoder.load(static_student)
    assert not encoder.table.flags.owndata and not encoder.table.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        encoder.table[0, 0] = 1.0


def test_more_batches_than_threads(static_student: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a batch land in their place, whatever the sizes of batches and chunks."""
    texts = ODD[:-1] * 20
    expected = StaticEncoder.load(static_student).encode(texts)
    for smallest, chunk in ((7, 3), (100, 1_000)):
        monkeypatch.setattr(threads, "SMALLEST_BATCH", smallest)
        monkeypatch.setattr(threads, "BATCH", smallest)
        monkeypatch.setattr(core, "CHUNK", chunk)
        np.testing.assert_array_equal(StaticEncoder.load(static_student).encode(texts), expected)


def test_an_error_ends_the_other_batches() -> None:
    begun = []

    def fail(span: slice) -> None:
        begun.append(span)
        time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        threads.in_batches(fail, 1_000_000, 1_000, None, False)
    assert len(begun) < 500


def test_weights_before_a_layer_with_a_bias() -> None:
    """They are scaled to sum to the tokens that have one: (2 x 3 + 4 x 1) / (2 + 4) x 2 / 3 of three tokens."""
    table = np.array([[0.0], [3.0], [1.0]], np.float32)
    layer = np.array([[2.0], [0.0]], np.float32), np.array([10.0, 1.0], np.float32)
    encoder = StaticEncoder(content_tokenizer(["[UNK]", "storm", "port"], frozenset()), table, layer)
    tokens = encoder.token_ids(["storm qwxz port", "qwxz", ""])
    by_hand = np.array([[2 * (10 / 6) * 2 / 3 + 10, 1], [10, 1], [10, 1]])
    for scale in (1.0, 100.0):
        weights = np.array([0.0, 2.0, 4.0], np.float32) * np.float32(scale)
        np.testing.assert_allclose(encoder.pool(tokens, weights), by_hand, rtol=1e-6)
    known = np.array([0.0, 0.5, 0.5], np.float32)
    np.testing.assert_allclose(encoder.pool(tokens, known), encoder.pool(tokens), rtol=1e-6)


def header(content: Mapping[str, object], size: int | None = None) -> bytes:
    """A safetensors header that claims `size` bytes."""
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text


def offsets(begin: int, end: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        entry = {TABLE: {"dtype": "F32", "shape": [2, 8], "data_offsets": [begin, end]}}
        path.write_bytes(header(entry) + bytes(64))

    return write


def too_many_rows_without_a_value(path: Path) -> None:
    path.write_bytes(header({TABLE: {"dtype": "F32", "shape": [2**62, 0], "data_offsets": [0, 0]}}))


def one_that_is_not_finite(path: Path) -> None:
    vectors: Floats = static_encoder().table.copy()
    vectors[3, 1] = np.nan
    write_tensors(path, {TABLE: vectors})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(header({}, 2**40)), "header too large"),
        (offsets(0, 1_000_000), "is not a readable safetensors file"),
        (offsets(64, 0), "is not a readable safetensors file"),
        (lambda path: path.write_bytes(b""), "is not a readable safetensors file"),
        (lambda path: path.write_bytes(POINTER + b"v1"), "is a pointer of Git LFS"),
        (lambda path: path.unlink(), "is not a readable safetensors file"),
        (lambda path: write_tensors(path, {"other": table(2, 2)}), r"has no tensor 'embeddings'"),
        (lambda path: write_tensors(path, {TABLE: table(2, 8)}), r"shape \(2, 8\), expected"),
        (lambda path: write_tensors(path, {TABLE: table(2, 8).astype(np.float64)}), "is F64, expected F32, F16, I8"),
        (too_many_rows_without_a_value, r"'embeddings' has shape \(4611686018427387904, 0\), without a value"),
        (one_that_is_not_finite, "'embeddings' is not finite"),
        (lambda path: path.write_bytes(pickle.dumps({TABLE: table(2, 8)})), r"Pickled models .* are refused"),
    ],
)
@pytest.mark.fault(21, 22)
def test_damaged_weights(static_student: Path, damage: Callable[[Path], object], message: str) -> None:
    """An oversized header, bad offsets, a missing tensor, a wrong dimension, a NaN, a pickle: refused, and named."""
    damage(static_student / WEIGHTS)
    with pytest.raises(InputError, match=message) as refused:
        StaticEncoder.load(static_student)
    assert "dvc" not in str(refused.value)
