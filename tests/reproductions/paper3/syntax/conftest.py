"""Trees written by hand: one token a line, word/XPOS/head/relation."""

from collections.abc import Callable

import pytest

from reproductions.paper3.syntax.trees import Tree


def read_tree(lines: str) -> Tree:
    rows = [line.split("/") for line in lines.split()]
    words, tags, heads, relations = (list(column) for column in zip(*rows, strict=True))
    lemmas = [word.lower() for word in words]
    return Tree(words, lemmas, ["X"] * len(words), tags, [int(head) for head in heads], relations)


@pytest.fixture
def tree() -> Callable[[str], Tree]:
    return read_tree
