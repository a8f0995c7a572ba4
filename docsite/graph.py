"""The graph of dvc.yaml: its stages, which one needs which, and a picture in SVG.

Stages stand in columns: one to the right of all that it needs. Within a column they are ordered by the mean place of
what they need, so that few lines cross.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import PurePosixPath
from typing import Any

import yaml

from docsite.kept import ROOT

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 142, 26, 34, 12, 8


@dataclass(frozen=True)
class Stage:
    """An entry of dvc.yaml.

    Attributes:
        name: Of the stage.
        about: Its description, without a full stop.
        command: What it runs.
        sections: Sections of params.yaml that it reads.
        reads: Data that it depends on, without code.
        writes: Its outputs.
        gpu: Whether it profits from a GPU.
        axes: The axes of its matrix, if it is one.
    """

    name: str
    about: str
    command: str
    sections: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    gpu: bool
    axes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield a Markdown list of its command, its inputs and its outputs."""
        yield f"- command: `{self.command}`" + (" (profits from a GPU)" if self.gpu else "")
        if self.axes:
            yield f"- one stage for each of: {', '.join(f'`{axis}`' for axis in self.axes)}"
        if self.sections:
            yield f"- parameters: {', '.join(map(_shown, self.sections))}"
        for title, names in (("reads", self.reads), ("writes", self.writes)):
            if names:
                yield f"- {title}: {', '.join(f'`{name}`' for name in names)}"


def _shown(section: str) -> str:
    return f"[`{section}`](parameters.md#{section.partition('.')[0]})"


@cache
def stages() -> dict[str, Stage]:
    """Read the stages of dvc.yaml, in its order."""
    entries = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    return {name: _stage(name, entry) for name, entry in entries.items()}


def _stage(name: str, entry: dict[str, Any]) -> Stage:
    outputs = [*entry.get("outs", ()), *entry.get("metrics", ()), *entry.get("plots", ())]
    code = ("stages/", "sentence_distillery/", "reproductions")
    reads = [path for path in map(_path, entry["deps"]) if not path.startswith(code)]
    return Stage(
        name=name,
        about=entry["desc"],
        command=entry["cmd"],
        sections=tuple(str(section) for section in entry.get("params", ())),
        reads=tuple(reads),
        writes=tuple(map(_path, outputs)),
        gpu="resources" in entry.get("meta", {}),
        axes=tuple(entry.get("matrix", {})),
    )


def _path(output: Any) -> str:
    return str(output if isinstance(output, str) else next(iter(output)))


@cache
def needs() -> dict[str, set[str]]:
    """Return for each stage the stages whose outputs it reads."""
    return {
        name: {
            other
            for other, writer in stages().items()
            if other != name and any(_overlap(path, written) for path in stage.reads for written in writer.writes)
        }
        for name, stage in stages().items()
    }


def _overlap(read: str, written: str) -> bool:
    """Tell whether one path is the other or lies in it; `${item.encoder}` stands for any name.

    A parameter, such as `${crawl.folder}`, names a file of the user.
    """
    first, second = (PurePosixPath(path).parts for path in (read, written))
    return all("${item" in a + b or a == b for a, b in zip(first, second, strict=False))


@cache
def columns() -> list[list[str]]:
    """Order the stages for the picture, column by column."""
    asked = needs()
    depth: dict[str, int] = {}

    def place(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((place(other) for other in asked[name]), default=-1)
        return depth[name]

    found: list[list[str]] = [[] for _ in range(1 + max(map(place, asked)))]
    rows: dict[str, float] = {}
    for name in sorted(asked, key=lambda name: depth[name]):
        found[depth[name]].append(name)
    for column in found:
        column.sort(key=lambda name: _mean([rows[other] for other in asked[name]]))
        middle = (len(column) - 1) / 2
        rows |= {name: row - middle for row, name in enumerate(column)}
    return found


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@cache
def graph() -> str:
    """Draw the graph."""
    found = columns()
    tallest = max(map(len, found))
    height = 2 * MARGIN + tallest * (HEIGHT + GAP_Y)
    width = 2 * MARGIN + len(found) * WIDTH + (len(found) - 1) * GAP_X
    corners = {
        name: (
            MARGIN + number * (WIDTH + GAP_X),
            MARGIN + (tallest - len(column)) * (HEIGHT + GAP_Y) // 2 + row * (HEIGHT + GAP_Y),
        )
        for number, column in enumerate(found)
        for row, name in enumerate(column)
    }
    lines = [_line(corners[other], corners[name]) for name, others in needs().items() for other in sorted(others)]
    boxes = [_box(name, *corner) for name, corner in corners.items()]
    title = "<title>The stages of dvc.yaml and what each needs</title>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">{title}'
    return "\n".join([head, *lines, *boxes, "</svg>"])


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + WIDTH, start[1] + HEIGHT / 2
    x2, y2 = end[0], end[1] + HEIGHT / 2
    bend = (x2 - x1) / 2
    return f'<path class="need" d="M{x1} {y1:g} C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2} {y2:g}"/>'


def _box(name: str, x: int, y: int) -> str:
    kind = "stage gpu" if stages()[name].gpu else "stage"
    text = f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 4:g}" text-anchor="middle">{escape(name)}</text>'
    box = f'<rect class="{kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
    return f'<a href="#{name}">{box}{text}</a>'
