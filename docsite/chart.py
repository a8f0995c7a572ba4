"""The chart of README: quality against size and against speed, drawn by matplotlib.

Both panels have Spearman x 100 on STS-B test upwards. Full marks are measured, hollow ones published by others.
"""

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docsite.saved import published, record, run, size, table

OWN, PEER = "#0b6bcb", "#6e7781"
KINDS = {  # kind of mark: its label, the colour of its edge, its filling
    "own": ("this project", OWN, OWN),
    "peer": ("measured here", PEER, PEER),
    "published": ("published by others", PEER, "white"),
}
# Text stays text, and the same figures make the same bytes.
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "quality", "font.family": "sans-serif", "font.size": 9}


class Mark(NamedTuple):
    """An encoder in a panel: `x` are megabytes or sentences a second, `y` is Spearman x 100, `shift` is in points."""

    x: float
    y: float
    title: str
    kind: str
    shift: tuple[int, int] = (6, -3)


def chart() -> str:
    """Draw both panels, as the text of an SVG file."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _draw(left, list(_by_size()), "megabytes of all files", (2, 900), (3, 10, 30, 100, 300))
        _draw(right, list(_by_speed()), "sentences a second, two cores", (100, 1e7), (1e3, 1e4, 1e5, 1e6))
        own = sorted((mark.x, mark.y) for mark in _by_size() if not mark.title)
        left.plot(*zip(*own, strict=True), color=OWN, linewidth=1, zorder=1)
        left.set_ylabel("Spearman × 100 on STS-B test")
        for label, edge, face in KINDS.values():
            left.scatter([], [], s=28, edgecolors=edge, facecolors=face, label=label)
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _draw(axes: Axes, marks: list[Mark], title: str, ends: tuple[float, float], ticks: tuple[float, ...]) -> None:
    axes.set(xscale="log", xlim=ends, ylim=(54, 85), xlabel=title)
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks], minor=False)
    axes.minorticks_off()
    axes.grid(color="#d0d7de", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for mark in marks:
        _, edge, face = KINDS[mark.kind]
        axes.scatter([mark.x], [mark.y], s=28, edgecolors=edge, facecolors=face, zorder=2)
        weight = "bold" if mark.kind == "own" else "normal"
        axes.annotate(mark.title, (mark.x, mark.y), mark.shift, textcoords="offset points", weight=weight)


def _of_pareto(column: str, row: dict[str, str], title: str, kind: str, shift: tuple[int, int] = (6, -3)) -> Mark:
    return Mark(float(row[column]), float(row["stsb/test/spearman"]), title, kind, shift)


def _by_size() -> Iterator[Mark]:
    column, released = "megabytes", size("released")
    for row in table("pareto"):
        if (row["system"], row["precision"]) == ("own", "int8"):
            yield _of_pareto(column, row, "", "own")
    yield _of_pareto(column, size("own", "int8", 32), "our student, 32 to 256 dimensions", "own", (-6, -14))
    yield _of_pareto(column, released, "released", "own", (-20, 7))
    for name, megabytes, kind, shift in (
        ("released-search", released[column], "own", (4, -12)),
        ("WordLlama", "16.4", "peer", (6, -2)),
    ):
        spearman = run("suite/suite").value(name, "stsb", "mean", "spearman") or 0.0
        yield Mark(float(megabytes), spearman, name, kind, shift)
    for name, title, shift in (
        ("potion-base-32M", "potion-32M", (6, -3)),
        ("static-similarity-mrl-multilingual-v1", "static-similarity", (-50, 7)),
        ("static-retrieval-mrl-en-v1", "static-retrieval", (6, -3)),
    ):
        row = published(name)
        yield Mark(float(row[column]), 100 * float(row["stsb/spearman"]), title, "published", shift)
    yield _of_pareto(column, size("teacher"), "the teacher, MiniLM-L6", "peer", (-60, 7))


def _by_speed() -> Iterator[Mark]:
    """The same table in three libraries, and the teacher, by `make bench`."""
    for name, row, title, kind, shift in (
        ("own", size("released"), "released", "own", (-20, 7)),
        ("model2vec", size("released"), "our table in model2vec", "peer", (-20, -14)),
        ("sentence-transformers", size("released"), "in sentence-transformers", "peer", (-90, 7)),
        ("teacher", size("teacher"), "the teacher, MiniLM-L6", "peer", (-10, 7)),
    ):
        speed = record("bench")["sentences_per_second"][name]["median"]
        yield Mark(speed, float(row["stsb/test/spearman"]), title, kind, shift)
