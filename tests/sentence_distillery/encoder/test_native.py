"""The native core: its tables are what the tokenizer does, no text breaks it, and no table misleads it."""

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import normalizers

from measurements import fuzz
from measurements.release import unicode_tables
from sentence_distillery import load
from sentence_distillery.encoder.core import Form, Native, Simple, native_vocabulary
from sentence_distillery.encoder.layers import Hidden, Layer, Linear
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.characters import BERT, FULL
from sentence_distillery.encoder.native.vocabulary import Vocabulary
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import NORMALIZER, UNKNOWN, static_tokenizer
from sentence_distillery.io.ragged import TokenIds
from tests.sentence_distillery.distillation.conftest import static_encoder, subprocess_environment, table

pytestmark = pytest.mark.skipif(loading.core() is None, reason="the native core was not compiled")

STRANGE = "\u302e\u1b44\u1715"  # marks that stay, of classes that are sorted


def compiled() -> Any:
    """The compiled module."""
    found = loading.core()
    assert found is not None
    return found


def test_the_tables_are_what_the_tokenizer_does() -> None:
    """Written for this version of tokenizers; `unicode_tables` writes them anew."""
    assert unicode_tables.TARGET.read_text(encoding="ascii") == unicode_tables.tables()


@pytest.mark.parametrize(
    ("number", "normalizer"), [(FULL, NORMALIZER), (BERT, normalizers.BertNormalizer(lowercase=True))]
)
def test_any_text_is_normalised_as_by_the_tokenizer(number: int, normalizer: normalizers.Normalizer) -> None:
    """Also text that is read in several parts, with and without blanks."""
    vocabulary = compiled().Vocabulary([UNKNOWN], [], 100, number)
    rng = random.Random(0)
    drawn = [text for text, _ in zip(fuzz.texts(rng, ["storm"], []), range(3_000), strict=False)]
    long = ["storm é " * 3_000, "あらし、" * 9_000, "x" * 50_000 + " é", " ".join(drawn[:500]), "ﷺ" * 3_000]
    for text in [*drawn, *long]:
        kept = text.encode("utf-8", "ignore").decode().translate(dict.fromkeys(map(ord, STRANGE)))
        expected = normalizer.normalize_str(kept)
        if sorted(expected) == sorted(found := vocabulary.normalized(kept)) and expected != found:
            continue  # marks were sorted, for which such a text goes the simple way
        assert found == expected


@given(st.lists(st.text(), max_size=5))
def test_any_text_has_the_tokens_of_the_tokenizer(texts: list[str]) -> None:
    assert fuzz.differing(static_encoder(), [*texts, "storm"]) is None


@pytest.mark.parametrize("name", ["released", "released-search", "float16", "odd", "deep", "BERT"])
def test_random_texts(name: str) -> None:
    """A few of those of `make fuzz`."""
    encoder = fuzz.models()[name]
    words = fuzz.named(encoder, range(1, len(encoder.stored)))
    drawn = fuzz.texts(random.Random(7), words, ["The Müller-Straße №5, e-mail: a@b.c 😀!"])
    assert fuzz.differing(encoder, [next(drawn) for _ in range(1_000)]) is None


def test_marks_that_are_sorted_go_the_simple_way() -> None:
    """One text of a batch; the others stay in the core, and an error names the right text."""
    marks = "\u302e\u302f\u1b44"
    words = [UNKNOWN, "storm", "".join(NORMALIZER.normalize_str(f"a{marks}")), "a", *(f"##{mark}" for mark in marks)]
    encoder = StaticEncoder(static_tokenizer(words), table(len(words), 6))
    texts = ["storm", f"a{marks} storm", "!?", f"a{marks[::-1]}", "a\u302e"]
    assert (
        compiled().Vocabulary(words, [], 100, FULL).token_ids(texts)[1]
        == np.array([1, -1, 0, -1, 2], np.int32).tobytes()
    )
    assert fuzz.differing(encoder, texts) is None
    with pytest.raises(ValueError, match=r"texts\[2\] has no word"):
        encoder.encode(texts, on_unknown="error")
    with pytest.raises(ValueError, match=r"texts\[1\] has no word"):
        encoder.encode(["storm", f"!{marks}"], on_unknown="error")


@pytest.mark.parametrize("shift", range(0, 70, 3))
def test_words_and_terms_lie_anywhere_in_a_block(shift: int) -> None:
    """A text is split 64 bytes at a time; words, terms and characters may lie across two blocks."""
    words = [UNKNOWN, "storm", "c++", "1,000,000.5", "😀", "a", "##b", "漢"]
    encoder = StaticEncoder(static_tokenizer(words), table(len(words), 6))
    parts = ["storm", "c++", "1,000,000.5", "😀", "a" + "b" * 70, "漢字", "xc++", "1,000,000.5x", "é storm, storm"]
    assert fuzz.differing(encoder, ["a" * shift + gap + part for part in parts for gap in (" ", ". ", "-", "")]) is None


def test_words_that_were_met_keep_their_tokens() -> None:
    """More words than the core remembers, of each length and with each number of pieces, and all of them again."""
    letters = "abcdefgh"
    words = [UNKNOWN, *letters, *(f"##{letter}" for letter in letters[:-1]), "abcabc", "##ef" * 9 + "ef"]
    encoder, rng = StaticEncoder(static_tokenizer(words), table(len(words), 6)), random.Random(0)
    drawn = ["".join(rng.choices(letters, k=rng.randrange(1, 60))) for _ in range(70_000)]
    texts = [" ".join(drawn[start : start + 50]) for start in range(0, len(drawn), 50)]
    expected = encoder.model.tokens.counting_ids(texts)
    for _ in range(2):
        found = encoder.known(encoder.token_ids(texts))
        np.testing.assert_array_equal(found.ids, expected.ids)
    once = encoder.encode(texts)
    np.testing.assert_array_equal(encoder.encode(texts[::-1])[::-1], once)
    np.testing.assert_allclose(once, encoder.embed(expected), atol=1e-6)


@pytest.mark.parametrize("dimension", [1, 3, 31, 32, 64, 127, 128, 129, 256, 300])
@pytest.mark.parametrize("precision", ["i1", "f2", "f4"])
def test_sums_of_any_dimension(dimension: int, precision: str) -> None:
    """Also of more rows than 16 bits hold; int8 exactly."""
    rng = np.random.default_rng(dimension)
    words = [UNKNOWN, *"abcdefgh"]
    rows = rng.integers(-128, 128, (len(words), dimension)).astype(precision)
    core = compiled().Encoder(compiled().Vocabulary(words, [], 100, FULL), rows, 1.0, None, None)
    texts = ["a", "a b", " ".join(rng.choice(words[1:], 300)), "h " * 1_000]
    out = np.empty((len(texts), dimension), np.float32)
    core.encode(texts, out, 2, None, dimension)
    expected = [rows[[words.index(word) for word in text.split()]].astype(np.float64).sum(axis=0) for text in texts]
    np.testing.assert_allclose(
        out, expected, rtol=0 if precision == "i1" else 1e-5, atol=0 if precision == "i1" else 1e-2
    )


def test_threads_share_a_core() -> None:
    encoder, texts = load("released-search"), [f"Storm {number} closed the port. é" * 5 for number in range(2_000)]
    expected = encoder.encode(texts)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: load("released-search").encode(texts), range(8)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("words", "terms", "normalizer"),
    [
        ([UNKNOWN, "x" * 513], [], FULL),  # longer than the core looks up
        ([UNKNOWN, "storm", "❤", "❤-x"], [2, 3], FULL),  # an emoji within a term
        ([UNKNOWN, "storm", "a、b-c"], [2], FULL),  # punctuation that is not of ASCII
        ([UNKNOWN, "storm"], [], None),  # a normalizer of which it has no table
    ],
)
def test_what_the_core_cannot_do(words: list[str], terms: list[int], normalizer: int | None) -> None:
    assert native_vocabulary(Vocabulary(words, terms, 100, normalizer)) is None


def test_a_normalizer_that_keeps_accents_goes_the_simple_way() -> None:
    words = [UNKNOWN, "café", "cafe"]
    tokenizer = static_tokenizer(words)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    encoder = StaticEncoder(tokenizer, table(3, 4))
    assert encoder.model.tokens.native is None
    assert encoder.token_ids(["Café cafe"]).ids.tolist() == [1, 2]


def channel(
    stems: list[int], places: int = 16, highest: int = 0, dimension: int = 8, kind: str = "i4"
) -> tuple[Any, ...]:
    """A lexical channel of two stems, as the core takes it."""
    return np.array(stems, kind), np.ones(2, np.float32), np.full(places, highest, np.uint32), dimension, 1.0, 1.0


INT8 = np.zeros((3, 4), np.int8)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros((2, 4), np.float32), 1.0, None),  # fewer rows than tokens
        (np.zeros((3, 0), np.float32), 1.0, None),
        (np.zeros((3, 4), np.float64), 1.0, None),
        (np.zeros((3, 4), np.int16), 1.0, None),
        (np.zeros(12, np.float32), 1.0, None),
        (np.zeros((4, 3), np.float32).T, 1.0, None),  # not contiguous
        (INT8, 1.0, channel([0, 1, 2])),
        (INT8, 1.0, channel([0, -1, 1])),
        (INT8, 1.0, channel([0, 1])),
        (INT8, 1.0, channel([0, 1, 1], highest=16)),
        (INT8, 1.0, channel([0, 1, 1], places=8)),
        (INT8, 1.0, channel([0, 1, 1], kind="i8")),
        (INT8, 1.0, channel([0, 1, 1], dimension=-8)),
    ],
)
def test_tables_that_would_mislead_the_core_are_refused(arguments: tuple[Any, ...]) -> None:
    vocabulary = compiled().Vocabulary([UNKNOWN, "storm", "port"], [], 100, FULL)
    with pytest.raises((ValueError, BufferError)):
        compiled().Encoder(vocabulary, *arguments, None)


@pytest.mark.parametrize(
    ("layer", "lexical"),
    [
        ((np.ones((4, 2), "f4"), np.ones((3, 4), "f4"), True), None),
        ((np.ones((4, 2), "f4"), np.ones((2, 5), "f4"), True), None),
        ((np.ones((5, 2), "f4"), np.ones((2, 5), "f4"), True), None),
        ((np.ones((4, 2), "f4"), np.ones(3, "f4"), False), None),
        ((np.ones((5, 2), "f4"), np.ones(2, "f4"), False), None),
        ((np.ones((4, 2), "f8"), np.ones(2, "f4"), False), None),
        ((np.ones((4, 2), "f4"), np.ones(2, "i4"), False), None),
        ((np.ones((2, 4), "f4").T, np.ones(2, "f4"), False), None),  # not contiguous
        ((np.ones((4, 0), "f4"), np.ones((0, 4), "f4"), True), None),
        ((np.ones(4, "f4"), np.ones((2, 4), "f4"), True), None),
        ((np.ones((4, 2), "f4"), np.ones((2, 4), "f4"), True), channel([0, 1, 1])),
        ((np.ones((4, 2), "f4"),), None),
    ],
)
def test_layers_that_do_not_fit_the_table_are_refused(layer: tuple[Any, ...], lexical: tuple[Any, ...] | None) -> None:
    vocabulary = compiled().Vocabulary([UNKNOWN, "storm", "port"], [], 100, FULL)
    with pytest.raises((TypeError, ValueError, BufferError)):
        compiled().Encoder(vocabulary, INT8, 1.0, lexical, layer)


@pytest.mark.parametrize(
    ("ids", "offsets", "width", "form"),
    [
        ([0, 3], [0, 2], 4, 0),
        ([0, -1], [0, 2], 4, 0),
        ([0, 1], [0, 3], 4, 0),
        ([0, 1], [2, 1], 4, 0),
        ([0, 1], [-1, 1], 4, 0),
        ([0, 1], [0, 2], 5, 0),
        ([0, 1], [0, 2], 4, 3),
        ([0, 1], [], 4, 0),
        ([[0, 1]], [0, 1], 4, 0),
    ],
)
def test_token_ids_that_lead_out_of_a_table_are_refused(ids: Any, offsets: Any, width: int, form: int) -> None:
    core = compiled().Encoder(None, INT8, 1.0, None, None)
    out = np.zeros((max(len(offsets) - 1, 0), width), np.float32)
    with pytest.raises(ValueError, match=r"int32|outside|another shape"):
        core.embed(np.array(ids, np.int32), np.array(offsets, np.int64), out, form, width)
    with pytest.raises(TypeError):
        core.encode(["storm"], out, form, None, width)


def test_buckets_of_other_shapes_are_refused() -> None:
    vectors, row, out = np.ones((2, 3), np.float32), np.ones(3, np.float32), np.ones((2, 3), np.uint8)
    compiled().write_buckets(vectors, row, row, out)
    assert not out.any()
    for arguments in (
        (vectors, row[:2], row, out),
        (vectors, row, row[:2], out),
        (vectors, row, row, out[:1]),
        (vectors[0], row, row, out),
        (vectors.astype(np.float64), row, row, out),
        (vectors, row, row),
    ):
        with pytest.raises((TypeError, ValueError)):
            compiled().write_buckets(*arguments)


def drawn_layer(inputs: int, outputs: int, of_means: bool) -> Layer:
    """A linear or a hidden layer with weights drawn at random."""
    rng = np.random.default_rng(0)
    weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((outputs, inputs), outputs))
    return Linear(weight, bias) if of_means else Hidden(np.ascontiguousarray(weight.T), weight / np.float32(inputs))


@pytest.mark.parametrize("of_means", [False, True])
@pytest.mark.parametrize(("dimension", "outputs"), [(1, 1), (5, 3), (32, 64), (33, 31), (256, 300)])
def test_layers_are_computed_as_by_numpy(dimension: int, outputs: int, of_means: bool) -> None:
    """For any number of texts, of which each has the same vector alone; cut, at unit length and as bits."""
    rng, words = np.random.default_rng(dimension), [UNKNOWN, *"abcdefgh"]
    layer = drawn_layer(dimension, outputs, of_means)
    rows = rng.integers(-127, 128, (len(words), dimension)).astype(np.int8)
    rows[0] = 0
    vocabulary = compiled().Vocabulary(words, [], 100, FULL)
    texts = [" ".join(rng.choice(words, rng.integers(0, 9))) for _ in range(1_100)] + ["", "a " * 1_000]

    # A layer that needs means counts unknown words, so there the simple way cuts texts
    lists = [[words.index(word) for word in text.split() if of_means or word != UNKNOWN] for text in texts]
    tokens = TokenIds.from_lists(lists)
    simple = Simple(lambda given: tokens.take([texts.index(text) for text in given]), rows, 0.25, None, 0, layer)
    native = Native(None if of_means else vocabulary, simple)
    full = outputs if of_means else dimension
    for width in {full, max(1, full // 2)}:
        for form in (Form.UNIT, Form.MEAN):
            expected, found, again = (np.empty((len(texts), width), np.float32) for _ in range(3))
            counts, simple_counts = np.empty(len(texts), np.int32), np.empty(len(texts), np.int32)
            native.encode(texts, found, form, counts)
            simple.encode(texts, expected, form, simple_counts)
            native.embed(tokens, again, form)
            np.testing.assert_array_equal(counts, simple_counts)
            np.testing.assert_array_equal(found, again)
            np.testing.assert_allclose(found, expected, atol=1e-6 * max(1, np.abs(expected).max()))
            alone = np.empty((1, width), np.float32)
            for place in (0, 95, 96, 1_023, 1_024, len(texts) - 1):
                native.encode([texts[place]], alone, form)
                np.testing.assert_array_equal(alone[0], found[place])
        for kind, shift in ((np.uint8, 0), (np.int8, 0x80)):
            bits: NDArray[Any] = np.empty((len(texts), -(-width // 8)), kind)
            native.encode(texts, bits, Form.UNIT, None, width)
            native.encode(texts, found, Form.UNIT)
            np.testing.assert_array_equal(bits.view(np.uint8) ^ np.uint8(shift), np.packbits(found > 0, axis=1))


@pytest.mark.parametrize("precision", ["i1", "f2", "f4"])
def test_bits_of_texts_that_go_either_way(precision: str) -> None:
    """Also of those that the core leaves to the simple way."""
    words = [UNKNOWN, "storm", "a", "##\u302e", "##\u1b44", "##\u302f"]
    encoder = StaticEncoder(static_tokenizer(words), (table(len(words), 21) * 9).astype(precision))
    texts = ["storm", "a\u302e\u302f\u1b44 storm", "", "a storm a"]
    core, simple = encoder._core, encoder._simple
    for kind in (np.uint8, np.int8):
        for width in (21, 16, 3):
            shape = (len(texts), -(-width // 8))
            found: NDArray[Any] = np.empty(shape, kind)
            expected: NDArray[Any] = np.empty(shape, kind)
            core.encode(texts, found, Form.UNIT, None, width)
            simple.encode(texts, expected, Form.UNIT, None, width)
            np.testing.assert_array_equal(found, expected)


def test_arguments_that_would_mislead_the_core_are_refused() -> None:
    vocabulary = compiled().Vocabulary([UNKNOWN, "storm", "port"], [], 100, FULL)
    core = compiled().Encoder(vocabulary, np.zeros((3, 4), np.float32), 1.0, None, None)
    out, counts = np.zeros((1, 4), np.float32), np.zeros(1, np.int32)
    frozen = out.copy()
    frozen.setflags(write=False)
    wrong: list[tuple[Any, ...]] = [
        (["storm"], np.zeros((2, 4), np.float32), 0, None, 4),
        (["storm"], np.zeros((1, 5), np.float32), 0, None, 5),
        (["storm"], np.zeros((1, 4), np.float64), 0, None, 4),
        (["storm"], frozen, 0, None, 4),
        (["storm"], out, 3, None, 4),
        (["storm"], out, 0, None, 3),
        (["storm"], out, 0, None, 0),
        (["storm"], np.zeros((1, 2), np.uint8), 0, None, 4),
        (["storm"], np.zeros((1, 1), np.uint8), 0, None, 5),
        (["storm"], np.zeros((1, 1), np.int16), 0, None, 4),
        (["storm"], out, 0, np.zeros(2, np.int32), 4),
        (["storm"], out, 0, np.zeros(1, np.int64), 4),
        (("storm",), out, 0, None, 4),
        ([5], out, 0, counts, 4),
        ([b"storm"], out, 0, counts, 4),
        (["storm"], out, 0, None),
    ]
    for arguments in wrong:
        with pytest.raises((TypeError, ValueError, BufferError)):
            core.encode(*arguments)
    for words, terms, longest, normalizer in (
        ([], [], 100, 0),
        (["a"], [1], 100, 0),
        (["a"], [], 0, 0),
        (["a"], [], 9, 2),
    ):
        with pytest.raises((IndexError, ValueError)):
            compiled().Vocabulary(words, terms, longest, normalizer)
    with pytest.raises(TypeError):
        compiled().Encoder(core, np.zeros((3, 4), np.float32), 1.0, None, None)
    with pytest.raises(TypeError):
        vocabulary.token_ids("storm")


WITHOUT = """
import json, sys, warnings
if {missing}:
    sys.modules["sentence_distillery.encoder.native._core"] = None
from sentence_distillery import load
texts = ["The storm closed the port.", "C++ é 😀", "", "Ünknowables"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    vectors = load("released-search").encode(texts)
    load("released", truncate_dim=64).encode(texts)
print(json.dumps([vectors.tolist(), [str(warning.message) for warning in caught]]))
"""


@pytest.mark.parametrize("missing", [True, False])
def test_without_a_compiler_or_switched_off(missing: bool) -> None:
    """The same vectors; a warning says once that this is the slow way, unless it was asked for."""
    environment = subprocess_environment() | ({} if missing else {loading.SWITCH: "0"})
    code = WITHOUT.format(missing=missing)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    vectors, warned = json.loads(done.stdout)
    ours = load("released-search").encode(["The storm closed the port.", "C++ é 😀", "", "Ünknowables"])
    np.testing.assert_allclose(vectors, ours, atol=1e-6)
    assert len(warned) == missing
    assert all("native core" in message and "C compiler" in message for message in warned)
