"""Tables 1 to 6 and figures 2 and 3 of paper 1 as this run has them, compared with the paper's own figures.

A system without a figure in this run keeps its row, which says why; no other system's figure takes its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reproductions.heat_map import HeatMap
from reproductions.heat_map import heat_map as draw_heat_map
from reproductions.paper1.published import PAPER_1, PAPER_1_SENTIMENT, TABLE_1, TABLE_2, our_name
from sentence_distillery.evaluation.results import Result
from sentence_distillery.reporting.tables import (
    Figure,
    Metric,
    Table,
    figure,
    mark_best,
    metric,
    size,
    unique,
)

TITLES = {
    "mean": ("4", "mean of the vectors"),
    "tf-idf": ("5", "TF-IDF weights"),
    "dpcs": ("6", "dynamic principal component smoothing"),
}
METRICS = ("pearson", "spearman", "mae")
OF_OURS = ("mae_calibrated",)  # not in the paper
SENTIMENT_METRICS = ("precision", "recall", "f1")
COSINE = Metric("cosine", digits=3)
ON_FIVE = Metric("score", "0–5", digits=2)
NOT_ASKED = "not among the systems of this run"
Columns = Sequence[tuple[str, str]]  # (metric, "ours" or "paper")


def tables(rows: Sequence[Result], sets: Mapping[str, Any]) -> list[Table]:
    """Make tables 4, 5, 6 and 3, as far as the run has their set; in the paper's order of systems."""
    stsb = [row for row in rows if (row.dataset, row.split) == ("stsb", "test")]
    imdb = [row for row in rows if (row.dataset, row.split, row.protocol) == ("imdb", "test", "sgd")]
    made = []
    for protocol, (number_, title) in TITLES.items():
        mine = [row for row in stsb if row.protocol == protocol]
        if mine:
            printed = {name: vars(known) for (name, other), known in PAPER_1.items() if other == protocol}
            caption = (f"Table {number_}: {title}", f"STS-B test, {size(mine, sets)}")
            made.append(_beside(caption, mine, printed, METRICS, OF_OURS))
    if imdb:
        printed = {name: vars(known) for name, known in PAPER_1_SENTIMENT.items()}
        caption = ("Table 3: sentiment by an SGD classifier", f"IMDB test, {size(imdb, sets)}")
        made.append(_beside(caption, imdb, printed, SENTIMENT_METRICS))
    return made


def _beside(
    caption: tuple[str, str],
    rows: Sequence[Result],
    printed: Mapping[str, Mapping[str, Any]],
    metrics: Sequence[str],
    of_ours: Sequence[str] = (),
) -> Table:
    """Make a row for each system of the paper, our figures next to its own; below them the systems that it lacks.

    `metrics` have a column for the paper; `of_ours` have none, and are left out if no row has them.
    """
    known = {(row.system, row.metric): row for row in rows}
    taken = [our_name(name) for name in printed]
    others = unique(row.system for row in rows if row.system not in taken)
    alone = [name for name in of_ours if any(row.metric == name for row in rows)]

    def ours(system: str, name: str) -> Figure:
        row = known.get((system, name))
        return figure(replace(row, published=None)) if row else Figure("—", note=NOT_ASKED)

    def line(system: str, paper: Mapping[str, Any] | None) -> list[list[Figure]]:
        cells = []
        for name in metrics:
            theirs = Figure(metric(name).printed(paper[name]), paper[name]) if paper else Figure("")
            cells += [[ours(system, name)], [theirs]]
        cells += [[ours(system, name)] for name in alone]
        has_value = ours(system, metrics[0]).value is not None
        return [*cells, [Figure(f"{known[system, metrics[0]].n:,}" if has_value else "")]]

    first = [(name, line(our_name(name), paper)) for name, paper in printed.items()]
    second = [(name, line(name, None)) for name in others]
    better = [metric(name).better for name in metrics for _ in range(2)]
    better += [*(metric(name).better for name in alone), 0]
    blocks = [("Systems of the paper", first), ("Others of this run", second)]
    blocks = [(title, mark_best(lines, better)) for title, lines in blocks if lines]
    groups = [
        (f"{metric(name).label} {metric(name).unit}".strip(), [Metric("this run"), Metric("paper")]) for name in metrics
    ]
    groups += [(f"{metric(name).label} {metric(name).unit}", [Metric("this run")]) for name in alone]
    if len({row.n for row in rows}) > 1:  # a system that was tested on fewer rows says so
        groups.append(("Rows", [Metric("this run")]))
    else:
        blocks = [(title, [(name, cells[:-1]) for name, cells in lines]) for title, lines in blocks]
    notes = unique(
        cell.note for _, lines in blocks for _, cells in lines for pair in cells for cell in pair if cell.note
    )
    return Table(*caption, groups, blocks, notes)


def table_1(examples: Mapping[str, Any]) -> Table:
    """Show the cosines of the two pairs before and after refinement."""
    lines = []
    for place, row in enumerate(TABLE_1):
        ours = [
            _cosine(examples["cosines"].get(name), place) for name in ("skip-gram", "refined", "student", "teacher")
        ]
        paper = [Figure(f"{value:.2f}", value) for value in (row.before, row.after)]
        lines.append((f"{row.sentence1} — {row.sentence2}", [[cell] for cell in (*ours[:2], *paper, *ours[2:])]))
    two = [Metric("before"), Metric("after")]
    groups = [("This run", two), ("Paper", two), ("This run", [Metric("student"), Metric("teacher")])]
    return Table(
        "Table 1: two pairs before and after refinement", "cosine", groups, [("", lines)], _notes(lines), "Pair"
    )


def table_2(examples: Mapping[str, Any]) -> Table:
    """Show the scores of the four pairs, cosines mapped to 0-5 as in the paper."""
    systems = list(examples["cosines"])
    lines = []
    for place, row in enumerate(TABLE_2, start=len(TABLE_1)):
        paper = [Figure(f"{value:.2f}", value) for value in (row.rating, row.baseline, row.paper_student)]
        ours = [_on_five(_cosine(examples["cosines"][name], place)) for name in systems]
        lines.append((f"{row.sentence1} — {row.sentence2}", [[cell] for cell in (*paper, *ours)]))
    groups = [
        ("Gold score", [Metric("human rating")]),
        ("Paper", [Metric("best other"), Metric("MyModel")]),
        ("This run", [Metric(name) for name in systems]),
    ]
    return Table("Table 2: four pairs", "on a scale of 0 to 5", groups, [("", lines)], _notes(lines), "Pair")


def _cosine(values: Sequence[float | None] | None, place: int) -> Figure:
    if values is None:
        return Figure("—", note=NOT_ASKED)
    value = values[place]
    return (
        Figure("—", note="no word of one sentence has a vector") if value is None else Figure(COSINE.text(value), value)
    )


def _on_five(cosine: Figure) -> Figure:
    return cosine if cosine.value is None else Figure(ON_FIVE.text(2.5 * (cosine.value + 1)), cosine.value)


def _notes(lines: Sequence[tuple[str, list[list[Figure]]]]) -> list[str]:
    return unique(cell.note for _, cells in lines for pair in cells for cell in pair if cell.note)


def heat_maps(examples: Mapping[str, Any]) -> list[list[HeatMap]]:
    """Draw figures 2 and 3: for each pair of table 1 the words before and after refinement."""
    names = {"skip-gram": "before", "refined": "after"}
    maps = []
    for place in range(len(TABLE_1)):
        by_label = {label: examples["words"][system][place] for system, label in names.items()}
        maps.append([_heat_map(f"Figure {place + 2}: {label} refinement", words) for label, words in by_label.items()])
    return maps


def _heat_map(title: str, words: Mapping[str, Any]) -> HeatMap:
    """Draw the words that have a vector; stop words have none if training left them out."""
    table = words["cosines"]
    rows = [row for row, values in enumerate(table) if any(value is not None for value in values)]
    columns = [column for column in range(len(words["columns"])) if any(line[column] is not None for line in table)]
    return draw_heat_map(
        title,
        [words["rows"][row] for row in rows],
        [words["columns"][column] for column in columns],
        [[table[row][column] for column in columns] for row in rows],
        [
            word
            for side, kept in (("rows", rows), ("columns", columns))
            for place, word in enumerate(words[side])
            if place not in kept
        ],
    )


def values(rows: Sequence[Result]) -> dict[tuple[str, str, str, str, str], float]:
    """Index the figures that exist: {(system, dataset, split, protocol, metric): value}."""
    return {
        (row.system, row.dataset, row.split, row.protocol, row.metric): row.number
        for row in rows
        if row.number is not None
    }
