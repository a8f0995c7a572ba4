"""The graph of dvc.yaml: its stages, which one needs which, and a picture in SVG.

A stage stands to the right of all that it needs. Within a column the mean place of its needs orders it, so that few
lines cross.
"""

import re
from functools import cache
from html import escape
from pathlib import PurePosixPath
from typing import Any

import networkx as nx
import yaml

from docsite.saved import ROOT

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 142, 26, 34, 12, 8
CODE = ("stages/", "sentence_distillery/", "news_crawler", "reproductions")


@cache
def stages() -> dict[str, dict[str, Any]]:
    """Read the entries of dvc.yaml, in its order."""
    entries: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    return entries


def described(name: str) -> list[str]:
    """Return a Markdown list of a stage's command, inputs and outputs."""
    entry = stages()[name]
    parts = {
        "one stage for each of": [f"`{each}`" for each in entry.get("matrix", ())],
        "parameters": [f"[`{each}`](parameters.md#{str(each).partition('.')[0]})" for each in entry.get("params", ())],
        "reads": [f"`{path}`" for path in _reads(entry)],
        "writes": [f"`{path}`" for path in _writes(entry)],
    }
    command = f"- command: `{entry['cmd']}`" + (" (profits from a GPU)" if _wants_gpu(name) else "")
    return [command, *(f"- {title}: {', '.join(texts)}" for title, texts in parts.items() if texts)]


def _reads(entry: dict[str, Any]) -> list[str]:
    return [path for path in map(_path, entry["deps"]) if not path.startswith(CODE)]


def _writes(entry: dict[str, Any]) -> list[str]:
    return [_path(output) for kind in ("outs", "metrics", "plots") for output in entry.get(kind, ())]


def _path(output: Any) -> str:
    return str(output if isinstance(output, str) else next(iter(output)))


def _wants_gpu(name: str) -> bool:
    return "resources" in stages()[name].get("meta", {})


@cache
def needs() -> dict[str, set[str]]:
    """Return for each stage the stages whose outputs it reads; also of a matrix that is empty in this profile."""
    written = [(name, path) for name, entry in stages().items() for path in _writes(entry)]
    return {
        name: {other for path in _reads(entry) for other, output in written if other != name and _overlap(path, output)}
        for name, entry in stages().items()
    }


def _overlap(read: str, written: str) -> bool:
    """Tell whether one path is the other or lies in it; `${item.encoder}` stands for any text within a name."""
    parts = zip(PurePosixPath(read).parts, PurePosixPath(written).parts, strict=False)
    return all(_fits(a, b) or _fits(b, a) for a, b in parts)


def _fits(name: str, pattern: str) -> bool:
    texts = re.split(r"\$\{item[^}]*\}", pattern)
    return re.fullmatch(".+".join(map(re.escape, texts)), name) is not None


@cache
def columns() -> list[list[str]]:
    """Order the stages for the picture, column by column."""
    graph = nx.DiGraph([(needed, name) for name, all_needed in needs().items() for needed in all_needed])
    graph.add_nodes_from(stages())
    row: dict[str, float] = {}

    def mean_row(name: str) -> float:
        return sum(row[each] for each in needs()[name]) / max(1, len(needs()[name]))

    found = []
    for column in nx.topological_generations(graph):
        found.append(sorted(sorted(column), key=mean_row))
        row |= {name: number - (len(column) - 1) / 2 for number, name in enumerate(found[-1])}
    return found


def picture() -> str:
    """Draw the graph, for the site; each box leads to the stage's description."""
    tallest = max(map(len, columns()))
    step = HEIGHT + GAP_Y
    width, height = 2 * MARGIN - GAP_X + len(columns()) * (WIDTH + GAP_X), 2 * MARGIN + tallest * step
    corners = {
        name: (MARGIN + number * (WIDTH + GAP_X), MARGIN + (tallest - len(column)) * step // 2 + row * step)
        for number, column in enumerate(columns())
        for row, name in enumerate(column)
    }
    lines = [_line(corners[other], corners[name]) for name, others in needs().items() for other in sorted(others)]
    boxes = [_box(name, *corner) for name, corner in corners.items()]
    title = "<title>The stages of dvc.yaml and what each needs</title>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">{title}'
    return "\n".join(['<div class="graph" markdown="0">', head, *lines, *boxes, "</svg>", "</div>"])


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1, x2, y2 = start[0] + WIDTH, start[1] + HEIGHT // 2, end[0], end[1] + HEIGHT // 2
    middle = (x1 + x2) / 2
    return f'<path class="need" d="M{x1} {y1} C{middle:g} {y1} {middle:g} {y2} {x2} {y2}"/>'


def _box(name: str, x: int, y: int) -> str:
    kind = "stage gpu" if _wants_gpu(name) else "stage"
    text = f'<text x="{x + WIDTH // 2}" y="{y + HEIGHT // 2 + 4}" text-anchor="middle">{escape(name)}</text>'
    box = f'<rect class="{kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
    return f'<a href="#{name}">{box}{text}</a>'
