"""The positions of words and arcs, and dependency trees as a page."""

from collections.abc import Callable

import pytest

from reproductions.paper3.syntax.drawing import _levels, draw
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.io.artifacts import InputError
from stages import paths
from stages.paper3.draw_tree import page
from tests.workspace import ROOT


def test_an_arc_runs_above_those_it_spans() -> None:
    assert _levels([3, 3, 4, 0, 4]) == [2, 1, 1, 0, 1]


def test_crossing_arcs_do_not_share_a_level() -> None:
    levels = _levels([0, 4, 1, 3])  # 2-4 and 1-3 cross
    assert levels[1] != levels[2]


def test_every_word_has_its_place(tree: Callable[[str], Tree]) -> None:
    found = draw(tree("A/DT/2/det man/NN/3/nsubj attacks/VBZ/0/root a/DT/5/det woman/NN/3/obj"))
    middles = [word.x for word in found.words]
    assert middles == sorted(middles)
    assert middles[-1] < found.width
    assert [word.text for word in found.words if word.kept] == ["man", "attacks", "woman"]
    assert [arc.x for arc in found.arcs] == middles
    assert all(0 < arc.label_y < found.base for arc in found.arcs)


def test_a_drawing_for_each_sentence() -> None:
    found = page(["A man attacks a woman", "Dogs don’t <bark>."], ROOT / paths.PARSER, 20)
    assert found.count("<svg") == 2
    assert "<strong>man attacks woman</strong>" in found
    assert "&lt;" in found and "<bark" not in found


def test_a_sentence_without_a_tree() -> None:
    with pytest.raises(InputError, match=r"' ' has no tree \(blank\); give a sentence of 1 to 20 words"):
        page(["A man", " "], ROOT / paths.PARSER, 20)
