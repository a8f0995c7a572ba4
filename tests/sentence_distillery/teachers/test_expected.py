"""What soft labels will take: counted exactly, timed on this machine, and said before and after the first texts."""

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
from sentence_distillery.teachers import cost, expected
from sentence_distillery.teachers.cost import cost_of, tokenizer_file
from sentence_distillery.teachers.expected import expectation, refined
from sentence_distillery.teachers.functions import function_encoder
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder
from tests.sentence_distillery.distillation.test_distill import SENTENCES, SMALL

pytestmark = pytest.mark.usefixtures("on_one_thread")


def a_teacher(reference: Path | str) -> Teacher:
    return Teacher(reference=str(reference), revision=None, sha256=None, maximum_length=32)


def test_a_transformer_is_measured_without_being_loaded(tiny: Path) -> None:
    """Its parameters are those of the loaded model; embeddings are not multiplied."""
    encoder = load_encoder(a_teacher(tiny))
    found = cost_of(a_teacher(tiny))
    assert found is not None
    named = dict(encoder.model.named_parameters())
    assert found.parameters == sum(each.numel() for each in named.values())
    assert found.multiplied == sum(each.numel() for name, each in named.items() if "embed" not in name)
    assert found.width == 32
    tokenizer = tokenizer_file(a_teacher(tiny))
    assert tokenizer and tokenizer.get_vocab() == encoder.tokenizer.get_vocab()
    assert cost_of(a_teacher("./nowhere")) is None and tokenizer_file(a_teacher("./nowhere")) is None


def test_the_line(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a rate: 1,000 pieces of a word each, a tenth of a second for the multiply-adds of one."""
    found = cost_of(a_teacher(tiny))
    assert found is not None
    monkeypatch.setattr(cost, "multiply_adds", lambda width: found.multiplied * 20)
    texts, words = [45] * 50, [9] * 25  # 500 + 50 pieces, two special ones for each
    line = expectation([a_teacher(tiny)], texts, words)
    assert re.fullmatch(
        r"50 texts, 25 words: about 1 minute on 1 thread with a teacher of 0 million parameters, and \d\.\d GB of \w+",
        line,
    )
    assert cost.pieces(75, sum(texts) + sum(words)) == 700  # a tenth of a second each
    both = expectation([a_teacher(tiny)] * 2, texts, words)
    assert "about 2 minutes on 1 thread with teachers of 0 and 0 million parameters" in both
    other = function_encoder(lambda listed: np.ones((len(listed), 2)), None)
    assert expectation([a_teacher(tiny), other], texts, words) == "50 texts, 25 words"


def test_the_measured_rate_is_one(tiny: Path) -> None:
    assert np.isfinite(cost.multiply_adds(32)) and cost.multiply_adds(32) > 0


def test_it_is_said_before_the_teacher_is_loaded(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    distill(SENTENCES, tiny, clean=False, working_directory="work", **SMALL)
    before = re.search(r"(\d+) texts, (\d+) words: about .* on 1 thread with a teacher of 0 million", caplog.text)
    assert before and int(before[1]) == len(SENTENCES)


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


def test_the_rest_is_refined(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    times = iter([100.0, 130.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    assert list(refined(["one", "other", "third"], [300, 500, 100])) == ["one", "other", "third"]
    assert [record.getMessage() for record in caplog.records] == ["about 1 minute left"]


def test_the_examples() -> None:
    assert doctest.testmod(expected).failed == 0
