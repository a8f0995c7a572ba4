"""GloVe as its package carries it."""

import numpy as np
import pytest

from reproductions.paper1.word_vectors.glove import load_glove
from sentence_distillery.distillation import glove
from sentence_distillery.io.artifacts import InputError


def test_the_published_vectors() -> None:
    """The first line of glove.6B.50d.txt opens `the 0.418 0.24968 -0.41242`; the last word is `sandberger`."""
    model = load_glove()
    assert model.vectors.shape == (400_000, 50)
    assert model.words[:3] == ["the", ",", "."] and model.words[-1] == "sandberger"
    np.testing.assert_allclose(model.vectors[0, :3], [0.418, 0.24968, -0.41242], atol=1e-6)
    assert isinstance(model.vectors, np.memmap)  # 80 MB that are mapped, not read
    unit = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    nearest = np.argsort(-(unit @ unit[model.index["frog"]]))[:5]
    assert "toad" in {model.words[row] for row in nearest}


@pytest.mark.fault(16)
def test_other_files_than_the_pinned_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose file has another hash is refused by name, with both hashes and the remedy."""
    monkeypatch.setitem(glove.FILES, "glove_6B_index.parquet", "0" * 64)
    with pytest.raises(InputError, match=r"glove_6B_index\.parquet .*has SHA-256 02fd.*expected 0000.*pip install"):
        load_glove()


def test_package_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glove, "PACKAGE", "no-such-package-of-vectors")
    with pytest.raises(InputError, match=r"'no-such-package-of-vectors' is not installed; run `pip install"):
        load_glove()
