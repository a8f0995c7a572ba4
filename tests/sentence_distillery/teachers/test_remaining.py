"""What soft labels will take: said after the first texts."""

import doctest
import logging
import re
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sentence_distillery.distillation.distill import distill, texts_to_embed
from sentence_distillery.teachers import remaining
from sentence_distillery.teachers.remaining import announced, pieces
from tests.sentence_distillery.distillation.test_distill import SENTENCES, SMALL

pytestmark = pytest.mark.usefixtures("on_one_thread")


def test_words_are_counted_as_they_will_be_embedded(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without a tokenizer, too: then pieces are learnt."""
    caplog.set_level(logging.INFO)
    asked: list[str] = []

    def noting(texts: list[str]) -> NDArray[np.float64]:
        asked.extend(texts)
        return np.stack([np.random.default_rng(zlib.crc32(text.encode())).normal(size=8) for text in texts])

    distill(SENTENCES, noting, clean=False, **SMALL)
    listed = re.search(r"(\d+) texts, (\d+) words$", caplog.text, re.MULTILINE)
    assert listed and int(listed[1]) + int(listed[2]) >= len(asked) - 2  # two calls of one text ask for the dimension
    assert len(asked) - len(set(asked)) <= 2  # no text is embedded twice
    assert len(texts_to_embed(SENTENCES, clean=False)) <= len(asked)


def test_word_pieces_of_texts() -> None:
    """2 for each text, and one for 4.5 bytes."""
    assert pieces(["a" * 9, "é" * 9]) == 10


def test_the_rest_is_refined(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    times = iter([100.0, 130.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    assert list(announced(["one", "other", "third"], [300, 500, 100])) == ["one", "other", "third"]
    assert [record.getMessage() for record in caplog.records] == ["about 1 minute left"]


def test_the_examples() -> None:
    assert doctest.testmod(remaining).failed == 0
