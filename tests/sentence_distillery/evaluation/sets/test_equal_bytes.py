"""The students of `benchmarks.equal_bytes`: their shapes, and which figures are kept."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from measurements import equal_bytes
from measurements.release import student as release
from sentence_distillery.distillation.glove import glove_words
from sentence_distillery.distillation.sizing import CHANNEL
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.evaluation.sets.data import DocumentSet, PairSet
from sentence_distillery.evaluation.tasks import TaskSet
from sentence_distillery.io.artifacts import write_table
from stages import paths

WORDS = glove_words()[:60]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StaticEncoder:
    """A student of 60 words, with room for 40 numbers of one byte for each of them."""
    vectors = np.random.default_rng(1).normal(size=(len(WORDS) + 1, 64)).astype(np.float32)
    vectors[0] = 0
    student = StaticEncoder(static_tokenizer([UNKNOWN, *WORDS]), vectors)
    write_table(tmp_path / "words.parquet", pa.table({"word": WORDS, "count": [*range(60, 0, -1)]}))
    monkeypatch.setattr(paths, "SOFT_LABELS", tmp_path)
    monkeypatch.setattr(equal_bytes, "COMMON", (30, 60))
    room = len(student.tokenizer.to_str(pretty=False).encode()) + (40 + 4 + CHANNEL) * len(student.stored) + 1
    monkeypatch.setattr(release, "MEGABYTES", room / 1e6 + release.CARD_MEGABYTES)
    return student


def test_fewer_bits_leave_room_for_more_dimensions(small: StaticEncoder) -> None:
    fewer, wide, fewer_bits, both = equal_bytes.students(small)
    assert [(each.dimension, str(each.stored.dtype)) for each in (wide, both)] == [(16, "float16"), (40, "int8")]
    assert equal_bytes.shape(wide) == f"{len(small.stored)} tokens, 16 dimensions, 16 bits"
    assert len(fewer.stored) < len(wide.stored)
    assert fewer_bits.dimension > both.dimension


def test_the_figures_that_are_kept(small: StaticEncoder) -> None:
    texts = [" ".join(WORDS[start : start + 4]) for start in range(50)]
    labels = ["even" if start % 2 else "odd" for start in range(50)]
    pairs = PairSet("mine", "dev", texts[:-1], texts[1:], None, ["1", "0"] * 24 + ["1"], None)
    documents = DocumentSet("own", "train", texts, labels)
    tasks = [TaskSet("pair_classification", pairs), TaskSet("classification", (documents, documents))]
    rows = [(row.dataset, row.protocol, row.metric) for row in equal_bytes.scored("small", small, tasks)]
    assert rows == [("mine", "cosine", "ap"), ("own", "few-shot", "accuracy"), ("own", "full", "accuracy")]
