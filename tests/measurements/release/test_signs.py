"""Rows for signs that a released encoder lacks."""

from itertools import product

import numpy as np
import pytest

import sentence_distillery as sd
from measurements.release.sign_rows import (
    OTHERS,
    SENTENCES,
    SIGNED,
    Taught,
    lacking,
    orthogonal,
    spoken,
    texts_with,
    with_signs,
)
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.ragged import Floats, unit_rows

pytestmark = pytest.mark.usefixtures("on_one_thread")

WHO = ("police", "woman", "dog", "doctor", "pilot", "judge", "farmer", "teacher")
WHERE = ("harbour", "village", "market", "hospital", "stadium", "court", "airport", "school")
NEW = ("zorbic", "quandle")
MEANT = {"zorbic": "happy", "quandle": "angry"}


@pytest.fixture(scope="module")
def former() -> StaticEncoder:
    return sd.load()


@pytest.fixture(scope="module")
def texts(former: StaticEncoder) -> list[str]:
    """Sentences with the new words among many others, so that they tell the map between both spaces."""
    rng = np.random.default_rng(1)
    others = [word for word in former.tokenizer.get_vocab() if word.isalpha() and len(word) > 5]
    return [
        f"The {who} at the {place} was {new}: {' '.join(rng.choice(others, 3))}."
        for who, place, new, _ in product(WHO, WHERE, NEW, range(8))
    ]


def teacher(encoder: StaticEncoder, texts: list[str]) -> Floats:
    """Another space, in which each new word means an old one."""
    for new, old in MEANT.items():
        texts = [text.replace(new, old) for text in texts]
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(encoder.dimension, encoder.dimension)))[0]
    return unit_rows(encoder.encode(texts) @ turned.astype(np.float32))


@pytest.fixture(scope="module")
def wider(former: StaticEncoder, texts: list[str]) -> StaticEncoder:
    taught = Taught(texts, teacher(former, texts).astype(np.float16))
    vectors = teacher(former, [spoken(token) for token in NEW]).astype(np.float16)
    return with_signs(former, NEW, taught, vectors, texts)


def test_no_other_row_changes(former: StaticEncoder, wider: StaticEncoder) -> None:
    size = len(former.stored)
    assert wider.stored.dtype == np.int8 and len(wider.stored) == size + len(NEW)
    np.testing.assert_array_equal(wider.stored[:size], former.stored)
    texts = ["The storm closed the port.", "zorb", "😀 c++ Grüße"]
    np.testing.assert_array_equal(wider.encode(texts), former.encode(texts))
    assert wider.token_ids(["zorbic"]).ids.tolist() == [size]


def test_a_new_word_learns_what_it_means(former: StaticEncoder, wider: StaticEncoder) -> None:
    for new, old in MEANT.items():
        text = f"My neighbour is {new} today."
        meant = former.encode([text.replace(new, old)])[0]
        assert wider.encode([text])[0] @ meant > former.encode([text])[0] @ meant
    happy, angry = former.encode(["happy", "angry"])
    assert wider.encode(["zorbic"])[0] @ happy > wider.encode(["zorbic"])[0] @ angry


def test_the_channel_has_its_stem(former: StaticEncoder, wider: StaticEncoder) -> None:
    assert former.lexical is not None and wider.lexical is not None
    np.testing.assert_array_equal(wider.lexical.idf[: len(former.stored)], former.lexical.idf)
    zorbic, other = wider.lexical.vectors(wider.token_ids(["zorbic", "quandle"]))
    assert np.linalg.norm(zorbic) == pytest.approx(1, abs=1e-5) and abs(zorbic @ other) < 0.5


def test_which_signs_are_added(former: StaticEncoder) -> None:
    plain = StaticEncoder(static_tokenizer([UNKNOWN, "storm", "c++"]), np.zeros((3, 2), np.float32))
    signs = lacking(plain)
    assert signs[: len(SIGNED) - 1] == [token for token in SIGNED if token != "c++"]
    assert {"😀", "🙏", *OTHERS} <= set(signs) and len(set(signs)) == len(signs)
    assert not former.tokenizer.get_vocab().keys() & set(lacking(former))


def test_sentences_of_each_token() -> None:
    kinds = {"one": [f"c++ number {number}" for number in range(50)], "other": ["so 😀", "nothing here"]}
    chosen = texts_with(["c++", "😀"], kinds)
    assert len(chosen) == SENTENCES + 1 and "so 😀" in chosen and "nothing here" not in chosen
    assert texts_with(["c++", "😀"], {"one": kinds["one"][::-1], "other": kinds["other"]}) == chosen


def test_what_a_teacher_reads() -> None:
    assert [spoken(token) for token in ("😂", "❤", "c++", "##ing", "storm")] == [
        "face with tears of joy",
        "heavy black heart",
        "c++",
        "ing",
        "storm",
    ]


def test_the_map_between_two_spaces() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(50, 6)).astype(np.float32)
    turned = np.linalg.qr(rng.normal(size=(6, 6)))[0].astype(np.float32)
    np.testing.assert_allclose(orthogonal(vectors, vectors @ turned), turned, atol=1e-4)
