"""A parsed sentence, a small encoder, and a workspace with the sample pairs."""

from pathlib import Path

import pytest

from reproductions.encoders.trainable import PairEncoder
from reproductions.paper3.syntax.trees import Tree
from tests.reproductions.paper2 import small

TEXT = "the dog drinks the cold water"
DOG = Tree(
    ["the", "dog", "drinks", "the", "cold", "water"],
    ["the", "dog", "drink", "the", "cold", "water"],
    ["DET", "NOUN", "VERB", "DET", "ADJ", "NOUN"],
    ["DT", "NN", "VBZ", "DT", "JJ", "NN"],
    [2, 3, 0, 6, 6, 3],
    ["det", "nsubj", "root", "det", "amod", "obj"],
)


@pytest.fixture
def encoder(tiny: Path) -> PairEncoder:
    return small.encoder(tiny)


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current directory, with the sample pairs; one penalty of a regression is tried, which is quick."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISTILLERY_DEVICE", "cpu")
    monkeypatch.setattr("reproductions.paper3.component_focus.cells.STRENGTHS", (1.0,))
    small.link_samples()
