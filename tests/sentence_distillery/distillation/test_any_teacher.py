"""Whatever numbers a teacher gives: the same student for the same directions, or one line."""

import logging
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import sentence_distillery as sd
from sentence_distillery.distillation.distill import distill
from sentence_distillery.distillation.static_student import ALIKE, Normalizer
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.teachers.functions import CHUNK

from .test_distill import SENTENCES

Teacher = Callable[[list[str]], Any]

OPTIONS: dict[str, Any] = {"dimension": 16, "epochs": 3, "clean": False, "show_progress": False}
DIMENSION = 24

pytestmark = pytest.mark.usefixtures("on_one_thread")


def by_letters(texts: list[str]) -> NDArray[np.float64]:
    """Counts of pairs of letters, in no direction that all texts share."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(26 * 26, DIMENSION))
    rows = [[_place(pair) for pair in pairwise(text.lower()) if "".join(pair).isalpha()] for text in texts]
    return np.array([signs[row].sum(axis=0) if row else signs[0] for row in rows])


def _place(pair: tuple[str, str]) -> int:
    return (ord(pair[0]) % 26) * 26 + ord(pair[1]) % 26


def released(texts: list[str]) -> Floats:
    return sd.load().encode(texts)


def alike(texts: list[str]) -> Floats:
    """With a large component that all vectors share: |0.2 in each of 256 dimensions| is 3.2."""
    return released(texts) + np.float32(0.2)


def student(teacher: Teacher, **options: Any) -> Floats:
    return distill(SENTENCES, teacher, revision="1", **OPTIONS | options).encode(SENTENCES)


@pytest.mark.parametrize("teacher", [by_letters, alike])
@pytest.mark.parametrize("scale", [1e-300, 100.0, 1e300])
def test_the_length_of_its_vectors_does_not_count(teacher: Teacher, scale: float) -> None:
    """regression: a teacher of long vectors gave a student far from it, since Adam's steps have one length."""
    expected = student(teacher)
    found = student(lambda texts: np.asarray(teacher(texts), np.float64) * scale)
    assert (expected * found).sum(axis=1).min() > 0.999


def test_the_length_in_a_file_does_not_count(tmp_path: Path) -> None:
    def made(scale: float) -> Floats:
        texts = sd.texts_to_embed(SENTENCES, clean=False)
        vectors = list(by_letters(texts) * scale)
        pq.write_table(pa.table({"text": texts, "vector": pa.array(vectors)}), tmp_path / "vectors.parquet")
        return distill(SENTENCES, tmp_path / "vectors.parquet", **OPTIONS).encode(SENTENCES)

    assert (made(1e-200) * made(1e200)).sum(axis=1).min() > 0.999


_buffer = np.zeros((CHUNK, DIMENSION))


def _reused(texts: list[str]) -> NDArray[np.float64]:
    _buffer[: len(texts)] = by_letters(texts)
    return _buffer[: len(texts)]


def _sorting(texts: list[str]) -> NDArray[np.float64]:
    vectors = by_letters(texts)
    texts.sort()
    return vectors


def _emptying(texts: list[str]) -> NDArray[np.float64]:
    vectors = by_letters(texts)
    texts.clear()
    return vectors


def _tensor(texts: list[str]) -> Any:
    import torch

    return torch.tensor(by_letters(texts), requires_grad=True)


def _brain_floats(texts: list[str]) -> Any:
    import torch

    return torch.tensor(by_letters(texts)).bfloat16()


ODD: dict[str, Teacher] = {
    "one buffer again and again": _reused,
    "sorts its list": _sorting,
    "empties its list": _emptying,
    "a tensor with a gradient": _tensor,
    "a list of tensors": lambda texts: list(_tensor(texts)),
    "lists": lambda texts: by_letters(texts).tolist(),
    "a table of objects": lambda texts: by_letters(texts).astype(object),
    "in Fortran's order": lambda texts: np.asfortranarray(by_letters(texts)),
    "whole numbers": lambda texts: by_letters(texts).astype(np.int64),
    "bfloat16": _brain_floats,
}


@cache
def expected() -> Floats:
    return student(by_letters)


@pytest.mark.parametrize("teacher", ODD.values(), ids=ODD)
def test_odd_ways_to_return_the_right_numbers(teacher: Teacher) -> None:
    """regression: some of them gave another student in silence, others a traceback."""
    assert (expected() * student(teacher)).sum(axis=1).min() > 0.999


def _leaves(texts: list[str]) -> None:
    raise SystemExit(3)


def _breaks(texts: list[str]) -> None:
    raise ConnectionError("the service\n\nis away.")


async def _coroutine(texts: list[str]) -> NDArray[np.float64]:
    return by_letters(texts)


def _varies(texts: list[str]) -> NDArray[np.float64]:
    return by_letters(texts)[:, : DIMENSION - (len(texts) > 1)]


WRONG: dict[str, tuple[Teacher, str]] = {
    "ends the program": (_leaves, "ends the program on .* exit status 3"),
    "fails": (_breaks, "fails on .*: ConnectionError: the service is away; correct the function"),
    "a coroutine": (_coroutine, "fails on .*: it is asynchronous; give one that waits"),
    "another dimension": (_varies, "returns vectors of 23 and of 24 numbers|returns vectors of 24 and of 23 numbers"),
    "too few": (lambda texts: by_letters(texts)[1:], r"returns an array of \(0, 24\) for 1 texts; a row for each"),
    "one number each": (lambda texts: np.ones(len(texts)), r"returns an array of \(1,\) for 1 texts"),
    "no number": (lambda texts: np.zeros((len(texts), 0)), "returns rows without numbers"),
    "rows of several lengths": (lambda texts: [[1.0], [1.0, 2.0]], "fails on .*: ValueError: "),
    "not finite": (lambda texts: by_letters(texts) * np.nan, "returns numbers that are not finite for 'A storm closed"),
    "only zeros": (lambda texts: np.zeros((len(texts), 3)), r"the teacher gives \d+ none, or one of zeros: check it"),
    "equal": (lambda texts: np.ones((len(texts), 20)), "vectors of all .* sentences are the same, so there is nothing"),
    "complex": (lambda texts: by_letters(texts) * 1j, "it returns ndarray of complex128, not numbers"),
    "texts": (lambda texts: [list(text[:3].ljust(3)) for text in texts], "it returns list of <U1, not numbers"),
    "nothing": (lambda texts: None, "it returns NoneType, not numbers"),
    "a generator": (lambda texts: (row for row in by_letters(texts)), "it returns generator, not numbers"),
    "random": (
        lambda texts: np.random.default_rng().normal(size=(len(texts), 30)),
        "another vector when it gets .* ag",
    ),
}


@pytest.mark.parametrize(("teacher", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_teacher_is_refused_in_one_line(teacher: Teacher, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        student(teacher, dimension=2)
    assert "\n" not in str(caught.value)


def test_high_cosines_are_centred(caplog: pytest.LogCaptureFixture) -> None:
    """A large component that all vectors share takes none of the student's dimensions; the log says so."""
    caplog.set_level(logging.INFO)
    student(released)
    assert "centred" not in caplog.text
    mean = student(alike).mean(axis=0)
    assert "centred" in caplog.text
    assert float(mean @ mean) < ALIKE


def test_zero_rows_stay_zero() -> None:
    """And all others have the length 1, centred or not."""
    embeddings = np.zeros((4, 3), np.float16)
    embeddings[1:] = [[1, 5, 0], [0, 5, 1], [1, 5, 1]]
    normalizer = Normalizer.of(embeddings)
    assert normalizer.centre is not None
    found = normalizer(embeddings)
    assert not found[0].any()
    np.testing.assert_allclose(np.linalg.norm(found[1:].astype(np.float32), axis=1), 1, atol=1e-3)
    apart = np.array([[0, 0], [3, 0], [0, -4], [-5, 0]], np.float16)
    assert Normalizer.of(apart).centre is None
    assert Normalizer.of(apart)(apart).tolist() == [[0, 0], [1, 0], [0, -1], [-1, 0]]


def test_one_of_several_teachers_is_centred_for_itself() -> None:
    """Beside the other its share of the cosines is what it would be alone; the other stays as it is."""
    rng = np.random.default_rng(1)
    plain, alike = (unit_rows((rng.normal(size=(500, 6)) + shift).astype(np.float32)) for shift in (0, 3))
    both = (np.concatenate([plain, alike], axis=1) / np.sqrt(2)).astype(np.float16)
    both[7] = 0
    normalizer = Normalizer.of(both, (6, 6))
    found = normalizer(both).astype(np.float32)
    assert normalizer.mean_cosine > ALIKE and not found[7].any()
    kept = np.arange(500) != 7
    centred = unit_rows(alike[kept] - alike[kept].mean(axis=0))
    np.testing.assert_allclose(found[kept, :6], plain[kept] / np.sqrt(2), atol=2e-3)
    np.testing.assert_allclose(found[kept, 6:], centred / np.sqrt(2), atol=0.02)
    constant = np.concatenate([plain / np.sqrt(2), np.full((500, 2), 0.5)], axis=1).astype(np.float16)
    with pytest.raises(InputError, match="Teacher 2 of 2's vectors of all 500 sentences are the same"):
        Normalizer.of(constant, (6, 2))


def test_several_teachers_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    """The mean cosine of both together is low, that of the second is not."""
    caplog.set_level(logging.INFO)

    def by_chance(texts: list[str]) -> Floats:
        rows = [np.random.default_rng(crc32(text.encode())).normal(size=16) for text in texts]
        return np.array(rows, np.float32)

    def near_each_other(texts: list[str]) -> Floats:
        return by_chance(texts) + np.float32(1.7)

    student(by_chance, additional_teachers=[by_chance])
    assert "centred" not in caplog.text
    student(by_chance, additional_teachers=[near_each_other])
    assert "the mean cosine of two sentences is 0.7" in caplog.text and "centred" in caplog.text


def test_start_from_keeps_what_that_one_knows() -> None:
    """regression: only the tokens of the new text stayed, a third of the included encoder's."""
    start = sd.load()
    found = distill(SENTENCES, released, start_from="released", revision="1", **OPTIONS | {"dimension": 64})
    assert set(found.tokenizer.get_vocab()) >= {token for token in start.tokenizer.get_vocab() if token.isalpha()}
    # Words that the text lacks are near each other where they were.
    absent = [token for token in start.tokenizer.get_vocab() if token.isalpha() and token not in " ".join(SENTENCES)]
    cosines = [each.encode(absent[::100]) @ each.encode(absent[::100]).T for each in (found, start)]
    pairs = np.triu_indices(len(cosines[0]), 1)
    assert len(pairs[0]) > 10_000 and np.corrcoef(cosines[0][pairs], cosines[1][pairs])[0, 1] > 0.2


def test_its_size_stays_what_was_asked_for() -> None:
    """Tokens that the text lacks go first."""
    found = distill(SENTENCES, by_letters, start_from="released", vocabulary=8000, revision="1", **OPTIONS)
    assert isinstance(found, StaticEncoder)
    assert len(found.tokenizer.get_vocab()) <= 8001
    assert "storm" in found.tokenizer.get_vocab()
