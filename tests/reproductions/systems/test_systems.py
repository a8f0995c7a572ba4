"""Weighted means of each kind of system against loops over single tokens."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from reproductions.paper1.word_vectors.weighting import Weighting
from reproductions.systems.registration import SystemInputs, SystemOptions
from reproductions.systems.registry import SYSTEMS, load_reference, loaders
from reproductions.systems.systems import StudentSystem, System, TeacherSystem, TextSystem, WordSystem
from sentence_distillery.domain.options import Reference
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.functions import function_encoder
from tests.reproductions.systems.conftest import WORDS
from tests.tiny_bert import write_tiny_bert

SENTENCES = ["The storm closed the harbour!", "A dog plays", "qwxz", "", "the dog the DOG the storm"]


def test_each_system_belongs_to_one_job() -> None:
    """The main job has the student and the teacher; paper 1 what it compares its own with."""
    run = SystemInputs({}, SystemOptions(512), list)
    main, paper = ({name for name, _ in loaders(run, job)} for job in (None, "paper1"))
    assert {"student", "teacher"} <= main and "SimCSE" in paper and not main & paper
    assert len(main) + len(paper) == len(SYSTEMS)


def token_weights(system: System) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.1, 2, size=system.vocabulary).astype(np.float32)


def looped(table: np.ndarray, sentences: list[list[int]], weights: np.ndarray) -> np.ndarray:
    """v(S) = 1/|S| sum a_w x_w, one token at a time; zero for an empty sentence."""
    rows = np.zeros((len(sentences), table.shape[1]))
    for row, ids in enumerate(sentences):
        for token in ids:
            rows[row] += weights[token] * table[token] / len(ids)
    return rows


def test_words(words: WordSystem) -> None:
    """Words without a vector are left out, and do not count in |S|; nor do stop words if content words are read."""
    weights = token_weights(words)
    ids = [[0, 1, 2, 0, 3], [4, 5], [], [], [0, 4, 0, 4, 0, 1]]
    plain, weighted = words.pool(words.token_ids(SENTENCES), [None, weights])
    np.testing.assert_allclose(plain, looped(words.model.vectors, ids, np.ones(6)), atol=1e-6)
    np.testing.assert_allclose(weighted, looped(words.model.vectors, ids, weights), atol=1e-6)
    content = replace(words, content_only=True)
    (plain,) = content.pool(content.token_ids(SENTENCES), [None])
    ids = [[1, 2, 3], [4, 5], [], [], [4, 4, 1]]
    np.testing.assert_allclose(plain, looped(words.model.vectors, ids, np.ones(6)), atol=1e-6)


def test_student(student: StudentSystem) -> None:
    """Without weights it has the direction of the released encoder's vector."""
    table = student.encoder.table
    index = {word: row for row, word in enumerate(WORDS, start=1)}
    tokens = student.token_ids(SENTENCES)
    ids = [tokens.ids[first:last].tolist() for first, last in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)]
    known = [[token for token in sentence if token] for sentence in ids]
    spoken = ["the storm closed the harbour", "dog plays", "", "", "the dog the dog the storm"]
    assert known == [[index[word] for word in sentence.split()] for sentence in spoken]
    weights = token_weights(student)
    plain, weighted = student.pool(tokens, [None, weights])
    np.testing.assert_allclose(plain, looped(table, ids, np.ones(len(table))), atol=1e-6)
    np.testing.assert_allclose(weighted, looped(table, ids, weights), atol=1e-6)
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(plain / np.where(lengths, lengths, 1), student.encoder.encode(SENTENCES), atol=1e-6)


def test_teacher(teacher: TeacherSystem) -> None:
    """Each sentence runs separately, without padding, and its token outputs are averaged one by one."""
    weights = token_weights(teacher)
    tokens = teacher.token_ids(SENTENCES)
    plain, weighted = teacher.pool(tokens, [None, weights])
    for row, ids in enumerate(teacher.encoder.token_ids(SENTENCES)):
        with torch.inference_mode():
            hidden = teacher.encoder.model(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
        np.testing.assert_allclose(plain[row], sum(hidden) / len(ids), atol=1e-5)
        total = sum(weights[token] for token in ids)
        expected = sum(weights[token] * vector / total for token, vector in zip(ids, hidden, strict=True))
        np.testing.assert_allclose(weighted[row], expected, atol=1e-5)


def test_a_function_as_teacher() -> None:
    """It embeds whole texts, and has no weighting but its own vector."""

    def embed(texts: list[str]) -> list[list[float]]:
        return [[len(text), 1.0] for text in texts]

    system = TextSystem(function_encoder(embed, None), 40)
    tokens = system.token_ids(SENTENCES)
    (vectors,) = system.pool(tokens.take([4, 0, 4]), [None])
    expected = np.array(embed([SENTENCES[row] for row in (4, 0, 4)]))
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert system.weightings == (Weighting.MEAN,)


def test_silent_tokens(words: WordSystem, student: StudentSystem, teacher: TeacherSystem) -> None:
    """Special tokens of a transformer and the student's unknown token are not words."""
    assert words.silent == ()
    assert student.silent == (0,)
    assert sorted(teacher.silent) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["words", "student", "teacher"])
@pytest.mark.fault(19)
def test_odd_sentences_are_finite(kind: str, request: pytest.FixtureRequest) -> None:
    """Empty, blank, unknown, NUL and long sentences give a finite vector under every weighting."""
    system: System = request.getfixturevalue(kind)
    odd = ["", "  \t ", "\x00", "汉字", "zzz " * 5000, "?!"]
    for vectors in system.pool(system.token_ids(odd), [None, token_weights(system), np.zeros(system.vocabulary, "f4")]):
        assert vectors.shape[0] == len(odd)
        assert np.isfinite(vectors).all()


def reference(path: str, **changes: object) -> Reference:
    content = {"name": "BERT", "reference": path, "revision": None, "sha256": None, "maximum_length": 16}
    return Reference.model_validate(content | changes)


def test_a_reference_is_a_system_of_its_own_name(teacher: TeacherSystem, tmp_path: Path) -> None:
    write_tiny_bert(tmp_path)
    system = load_reference(reference(str(tmp_path)), 40)
    assert isinstance(system, TeacherSystem) and system.name == "BERT"
    one, other = (found.pool(found.token_ids(SENTENCES), [None])[0] for found in (system, teacher))
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    ("path", "revision"),
    [
        ("package:no-such-encoder", None),
        ("/no/such/directory", None),
        ("nobody/no-such-encoder", "86b5e0934494bd15c9632b12f734a8a67f723594"),
    ],
)
def test_a_reference_that_is_not_here(
    path: str, revision: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported: the hub is a closed port here."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert load_reference(reference(path, revision=revision), 40) == Unavailable("weights not available here")


@pytest.mark.fault(16)
def test_a_reference_with_other_weights_than_its_pin(tmp_path: Path) -> None:
    """Weights that are here and are not the pinned ones stop the run; "not available" would hide it."""
    write_tiny_bert(tmp_path)
    with pytest.raises(InputError, match=rf"The weights of {tmp_path}, .* have the SHA-256 .* is pinned"):
        load_reference(reference(str(tmp_path), sha256="0" * 64), 40)
