"""One small system of each kind, with vectors that loops can follow."""

from pathlib import Path

import numpy as np
import pytest

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.systems.systems import StudentSystem, TeacherSystem, WordSystem
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder
from tests.tiny_bert import write_tiny_bert

WORDS = ["the", "storm", "closed", "harbour", "dog", "plays"]


def random_vectors(rows: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32)


@pytest.fixture
def words() -> WordSystem:
    counts = np.arange(len(WORDS), 0, -1, dtype=np.int64)
    return WordSystem("skip-gram", WordVectors(WORDS, counts, random_vectors(len(WORDS))), content_only=False)


@pytest.fixture
def student() -> StudentSystem:
    """Row 0, the unknown token's, is zero."""
    table = np.concatenate([np.zeros((1, 4), np.float32), random_vectors(len(WORDS), seed=2)])
    return StudentSystem(StaticEncoder(static_tokenizer([UNKNOWN, *WORDS]), table))


@pytest.fixture(scope="session")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> TeacherSystem:
    directory: Path = tmp_path_factory.mktemp("teacher")
    write_tiny_bert(directory)
    reference = Teacher(reference=str(directory), revision=None, sha256=None, maximum_length=16)
    return TeacherSystem(load_encoder(reference), batch_tokens=40)
