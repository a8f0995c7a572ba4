"""Trees as Parquet."""

from dataclasses import replace
from pathlib import Path

import pytest

from reproductions.paper3.syntax.trees import Tree, read_trees, to_table
from sentence_distillery.io.artifacts import InputError, write_table

TREE = Tree(["a", "b"], ["a", "b"], ["X", "Y"], ["x", "y"], [2, 0], ["det", "root"])


def test_there_and_back(tmp_path: Path) -> None:
    write_table(tmp_path / "part-00000.parquet", to_table(["one"], [TREE]))
    write_table(tmp_path / "part-00001.parquet", to_table([], []))
    assert read_trees(tmp_path) == {"one": TREE}


def test_a_head_outside_the_sentence(tmp_path: Path) -> None:
    broken = replace(TREE, heads=[3, 0])
    write_table(tmp_path / "part-00000.parquet", to_table(["one"], [broken]))
    with pytest.raises(InputError, match="a head of 'one' is outside the sentence"):
        read_trees(tmp_path)
