"""The chart of README: quality against size and against speed, as SVG text.

Both panels have Spearman x 100 on STS-B test upwards. Full marks are measured, hollow ones published by others.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from docsite.kept import published, run, size, table

WIDTH, HEIGHT, PANEL = 860, 400, 330
TOP, BOTTOM = 58, 338
LEFTS = (62, 488)
LOWEST, HIGHEST = 54.0, 84.0
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 13px }
.back { fill: #ffffff } .line { stroke: #d0d7de; stroke-width: 1 }
.trend { stroke: #0b6bcb; stroke-width: 1.5; fill: none }
.own { fill: #0b6bcb; stroke: #0b6bcb } .peer { fill: #6e7781; stroke: #6e7781 }
.published { fill: #ffffff; stroke: #6e7781; stroke-width: 1.5 } .strong { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .back, .published { fill: #0d1117 } .line { stroke: #30363d } .trend { stroke: #58a6ff }
  .own { fill: #58a6ff; stroke: #58a6ff } .peer { fill: #8d96a0; stroke: #8d96a0 } .published { stroke: #8d96a0 }
}
"""


@dataclass(frozen=True)
class Mark:
    """An encoder in a panel.

    Attributes:
        x: Megabytes or sentences a second.
        y: Spearman x 100.
        title: The text beside it, which may be empty.
        kind: own, peer or published.
        dx: Pixels from the mark to its text; negative ones put the text to the left.
        dy: Pixels that the text is lower.
    """

    x: float
    y: float
    title: str
    kind: str
    dx: int = 9
    dy: int = 4


@dataclass(frozen=True)
class Panel:
    """An axis from `low` to `high`, logarithmic, with its ticks."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]

    def place(self, value: float) -> float:
        """Return the share of the axis left of a value."""
        return math.log(value / self.low) / math.log(self.high / self.low)


SIZE = Panel("megabytes of all files", 2, 900, (3, 10, 30, 100, 300))
SPEED = Panel("sentences a second, two cores", 150, 2_000_000, (1e3, 1e4, 1e5, 1e6))


def chart() -> str:
    """Draw both panels."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">',
        "<title>Quality of sentence encoders against their size and their speed</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
        _text(LEFTS[0], 24, "Spearman × 100 on STS-B test, against size (left) and speed (right)", "title"),
        *_panel(SIZE, LEFTS[0], list(_by_size())),
        *_panel(SPEED, LEFTS[1], list(_by_speed())),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _own(precision: str) -> list[dict[str, str]]:
    return [row for row in table("pareto") if row["system"] == "own" and row["precision"] == precision]


def _spearman(row: dict[str, str]) -> float:
    return float(row["stsb/test/spearman"])


def _by_size() -> Iterator[Mark]:
    rows = _own("int8")
    for row in rows:
        yield Mark(float(row["megabytes"]), _spearman(row), "", "own")
    yield Mark(
        float(rows[-1]["megabytes"]), _spearman(rows[-1]), "our student, 8 bits, 32 to 256 dimensions", "own", -4, 38
    )
    released = size("released")
    yield Mark(float(released["megabytes"]), _spearman(released), "released", "own", -2, -10)
    search = run("suite/suite").value("released-search", "stsb", "mean", "spearman")
    yield Mark(float(released["megabytes"]), search or 0.0, "released-search", "own", -30, 20)
    llama = run("suite/suite").value("WordLlama", "stsb", "mean", "spearman")
    yield Mark(16.4, llama or 0.0, "WordLlama", "peer")
    for name, title, dx, dy in (
        ("potion-base-32M", "potion-32M", 9, 4),
        ("static-similarity-mrl-multilingual-v1", "static-similarity", -40, -10),
        ("static-retrieval-mrl-en-v1", "static-retrieval", 9, 4),
    ):
        row = published(name)
        yield Mark(float(row["megabytes"]), 100 * float(row["stsb/spearman"]), title, "published", dx, dy)
    yield from _peers("megabytes", {"GloVe": ("GloVe, 50 dim.", 9, 4), "teacher": ("teacher, MiniLM-L6", -30, -10)})


def _by_speed() -> Iterator[Mark]:
    for row in _own("int8"):
        yield Mark(float(row["sentences_per_second"]), _spearman(row), "", "own")
    released = size("released")
    yield Mark(float(released["sentences_per_second"]), _spearman(released), "released", "own", -4, -10)
    names = {
        "model2vec": ("our table in model2vec", -100, 22),
        "sentence-transformers": ("in sentence-transformers", -70, -10),
        "GloVe": ("GloVe", 9, 4),
        "teacher": ("teacher, MiniLM-L6", 9, 4),
    }
    yield from _peers("sentences_per_second", names)


def _peers(column: str, names: dict[str, tuple[str, int, int]]) -> Iterator[Mark]:
    for name, (title, dx, dy) in names.items():
        row = size(name)
        yield Mark(float(row[column]), _spearman(row), title, "peer", dx, dy)


def _panel(panel: Panel, left: int, marks: list[Mark]) -> Iterator[str]:
    def x(value: float) -> float:
        return left + PANEL * panel.place(value)

    for level in range(55, 85, 5):
        yield _line(left, _y(level), left + PANEL, _y(level))
        yield _text(left - 8, _y(level) + 4, str(level), anchor="end")
    for tick in panel.ticks:
        yield _line(x(tick), TOP, x(tick), BOTTOM)
        yield _text(x(tick), BOTTOM + 18, f"{tick:,.0f}", anchor="middle")
    yield _text(left + PANEL / 2, BOTTOM + 36, panel.title, anchor="middle")
    own = sorted((x(mark.x), _y(mark.y)) for mark in marks if mark.kind == "own" and not mark.title)
    if panel is SIZE:
        yield f'<polyline class="trend" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in own)}"/>'
    for mark in marks:
        yield f'<circle class="{mark.kind}" cx="{x(mark.x):.1f}" cy="{_y(mark.y):.1f}" r="4.5"/>'
        if mark.title:
            style = "strong" if mark.kind == "own" else ""
            yield _text(x(mark.x) + mark.dx, _y(mark.y) + mark.dy, mark.title, style)


def _legend() -> Iterator[str]:
    place = LEFTS[0]
    for kind, title in (("own", "this project"), ("peer", "measured here"), ("published", "published by others")):
        yield f'<circle class="{kind}" cx="{place}" cy="40" r="4.5"/>'
        yield _text(place + 10, 44, title)
        place += 38 + 7 * len(title)


def _y(value: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (value - LOWEST) / (HIGHEST - LOWEST)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="line" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
