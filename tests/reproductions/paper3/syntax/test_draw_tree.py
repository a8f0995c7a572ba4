"""Dependency trees as a page."""

import pytest

from sentence_distillery.io.artifacts import InputError
from stages import paths
from stages.paper3.draw_tree import page
from tests.workspace import ROOT


def test_a_drawing_for_each_sentence() -> None:
    found = page(["A man attacks a woman", "Dogs don’t <bark>."], ROOT / paths.PARSER, 20)
    assert found.count("<svg") == 2
    assert "<strong>man attacks woman</strong>" in found
    assert "&lt;" in found and "<bark" not in found


def test_a_sentence_without_a_tree() -> None:
    with pytest.raises(InputError, match=r"' ' has no tree \(blank\); give a sentence of 1 to 20 words"):
        page(["A man", " "], ROOT / paths.PARSER, 20)
