"""Lay out a dependency tree as lines and letters, for an SVG that a template writes.

Words are in one line. An arc runs from a head to its dependent, above every arc that it spans; a root has a line from
the top. Units are those of the SVG's viewBox.
"""

from dataclasses import dataclass

from reproductions.paper3.syntax.components import component
from reproductions.paper3.syntax.trees import Tree

CHARACTER = 8.6  # mean width of a letter at 15 units
GAP = 22.0
LEVEL = 24.0  # between two arcs, one above the other
SHIFT = 5.0  # of an arc at its head, so that it does not meet the incoming arc
SMALL = 6.8  # width of a letter of a tag or a relation


@dataclass(frozen=True)
class Word:
    x: float  # the middle of the word
    text: str
    tag: str
    kept: bool  # in the component


@dataclass(frozen=True)
class Arc:
    """An arc from a head down to its dependent at `x`; `label` is at the middle, (`label_x`, `label_y`)."""

    path: str
    label: str
    label_x: float
    label_y: float
    x: float


@dataclass(frozen=True)
class Drawing:
    words: list[Word]
    arcs: list[Arc]
    width: float
    base: float  # where arcs end and words begin
    height: float
    component: str


def draw(tree: Tree) -> Drawing:
    """Lay out the whole tree and mark the words of its component.

    Args:
        tree: a tree with at least one token.

    Returns:
        Places and paths in the units of the SVG's viewBox.
    """
    kept_part = component(tree)
    middles, width = _middles(tree)
    levels = _levels(tree.heads)
    top = max(levels, default=0) + 1
    base = top * LEVEL + 16
    words = [
        Word(x, text, tag, row in kept_part.rows)
        for row, (x, text, tag) in enumerate(zip(middles, tree.tokens, tree.upos, strict=True))
    ]
    arcs = [_arc(tree, row, middles, base, levels[row], top) for row in range(len(words))]
    return Drawing(words, arcs, width, base, base + 46, kept_part.text)


def _middles(tree: Tree) -> tuple[list[float], float]:
    """Return the middle of each word, and the right edge of the last one."""
    middles, x = [], GAP / 2
    for text, tag, relation in zip(tree.tokens, tree.upos, tree.relations, strict=True):
        room = max(len(text) * CHARACTER, len(tag) * SMALL, len(relation) * SMALL)
        middles.append(round(x + room / 2, 1))
        x += room + GAP
    return middles, round(x - GAP / 2, 1)


def _levels(heads: list[int]) -> list[int]:
    """Return the height of the arc into each word: 1 if it spans no other arc, 0 for a root's line.

    >>> _levels([2, 3, 0])
    [1, 1, 0]
    """
    spans = [(min(head - 1, row), max(head - 1, row)) if head else None for row, head in enumerate(heads)]
    levels = [0] * len(heads)
    arcs = [(high - low, row, low, high) for row, span in enumerate(spans) if span for low, high in [span]]
    done: list[tuple[int, int, int]] = []
    for _, row, low, high in sorted(arcs):
        levels[row] = 1 + max((level for a, b, level in done if a < high and b > low), default=0)
        done.append((low, high, levels[row]))
    return levels


def _arc(tree: Tree, row: int, middles: list[float], base: float, level: int, top: int) -> Arc:
    end, label = middles[row], tree.relations[row]
    if level == 0:
        height = base - (top - 0.5) * LEVEL
        return Arc(f"M{end:g} {height:g}V{base - 4:g}", label, end, height - 4, end)
    head = tree.heads[row] - 1
    start = middles[head] + (SHIFT if head < row else -SHIFT)
    height = base - level * LEVEL
    bend = min(10.0, abs(end - start) / 2) * (1 if start < end else -1)
    path = f"M{start:g} {base - 4:g}V{height + 10:g}Q{start:g} {height:g} {start + bend:g} {height:g}"
    path += f"H{end - bend:g}Q{end:g} {height:g} {end:g} {height + 10:g}V{base - 4:g}"
    return Arc(path, label, round((start + end) / 2, 1), height - 3, end)
