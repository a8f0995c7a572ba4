"""Paper 2's tables 1 to 7 as this run has them, a heat map of its matrix, and threshold curves.

The paper's own figures did not survive in the copy that this project was made from, so none can be compared with ours.
Its text says which strategy is ahead of which.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation.aliases import current_content
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.unavailable import from_json, from_text, to_json
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.page import Section, rendered
from sentence_distillery.reporting.tables import (
    Block,
    Figure,
    Row,
    Table,
    build,
    label,
    mark_best,
    metric,
    number,
    rank,
    unique,
)

Cell = Mapping[str, Any]
ACCURACY, F1 = metric("accuracy"), metric("f1")
COLUMNS = [ACCURACY, F1]
POOLINGS = ("mean", "max", "cls")
TABLES = {  # number -> title, strategy
    "1": ("cosine of the encoders as they are", "cosine"),
    "2": ("Siamese networks", "siamese"),
    "3": ("triplet networks", "triplet"),
    "5": ("logistic regression", "logistic"),
    "6": ("fine-tuning on joined pairs", "pair"),
}
COMBINED = {"cosine": "Baseline", "siamese": "Siam", "triplet": "Triplet", "logistic": "LR"}
PAPER = [*(strategy for _, strategy in TABLES.values()), *(f"combined-{name}" for name in COMBINED)]
MODERN = {
    "cosent": "CoSENT",
    "ranking": "Multiple negatives ranking",
    "modern-pair": "Joined pairs",
    "modern-cosine": "Joined pairs, then cosine",
    "intermediate-pair": "Joined pairs, similarity first",
    "intermediate-cosine": "Joined pairs, similarity first, then cosine",
}
NAMES = {
    "cosine": "cosine",
    "siamese": "Siamese",
    "triplet": "triplet",
    "logistic": "logistic regression",
    "pair": "joined pair",
    "cosent": "CoSENT",
    "ranking": "ranking",
}
NOT_ASKED = "not run"
PACKAGE = "sentence_distillery.papers.paper2"


def spelled(name: str) -> str:
    """Describe a strategy in words."""
    strategy, comma, mean = name.partition(", ")
    recipe, _, rest = strategy.rpartition("-")
    return f"{recipe} {NAMES.get(rest, rest)}".strip() + comma + mean


def place(cells: Sequence[Cell]) -> dict[tuple[str, str, str], Cell]:
    """Index the cells by encoder, pooling and strategy."""
    return {(cell["encoder"], cell["pooling"], cell["strategy"]): cell for cell in cells}


def reason_of(cell: Cell) -> str:
    """Return the reason why a cell has no figures, empty if it has."""
    unavailable = from_json(cell)
    return unavailable.reason if unavailable else ""


def figures(cell: Cell | None) -> list[list[Figure]]:
    """Show accuracy and F1 of a cell, or why it is empty."""
    missing = NOT_ASKED if cell is None else reason_of(cell)
    if cell is None or missing:
        return [[Figure("—", note=missing)] for _ in COLUMNS]
    return [
        [Figure(shown.text(cell[name]), cell[name], shown.text(cell[spread]) if cell[spread] is not None else "")]
        for shown, name, spread in ((ACCURACY, "accuracy", "spread"), (F1, "f1", "f1_spread"))
    ]


def table(
    caption: str, size: str, rows: Sequence[tuple[str, Sequence[Cell | None]]], groups: Sequence[str], head: str
) -> Table:
    """Make a row of cells for each name, a group of columns for each of `groups`."""
    lines = [(name, [cell for found in cells for cell in figures(found)]) for name, cells in rows]
    notes = unique(figure.note for _, cells in lines for cell in cells for figure in cell if figure.note)
    blocks = [("", mark_best(lines, [shown.better for _ in groups for shown in COLUMNS]))]
    return Table(caption, size, [(group, COLUMNS) for group in groups], blocks, notes, head)


def tables(cells: Sequence[Cell], pairs: int) -> list[Table]:
    """Make tables 1, 2, 3, 5, 6 and 7 if this run has a cell of them; then those that the paper does not have."""
    known = place(cells)
    encoders = unique(cell["encoder"] for cell in cells)
    poolings = [name for name in POOLINGS if any(cell["pooling"] == name for cell in cells)]
    size = f"{pairs:,} test pairs"
    has: Callable[[str], bool] = lambda name: any(key[2] == name for key in known)  # noqa: E731
    made = [
        table(
            f"Table {number}: {title}",
            size,
            [(encoder, [known.get((encoder, one, name)) for one in poolings]) for encoder in encoders],
            [one.upper() for one in poolings],
            "Encoder",
        )
        for number, (title, name) in TABLES.items()
        if has(name)
    ]
    rows = [f"combined-{name}" for name in COMBINED]
    if any(has(name) for name in rows):
        made.append(_by_strategy("Table 7: the combined approach", size, known, rows, [*COMBINED.values()]))
    if rows := unique([*filter(has, MODERN), *(name for *_, name in known if name not in PAPER)]):
        titles = [MODERN.get(name, spelled(name)) for name in rows]
        made.append(_by_strategy("Beside the paper", size, known, rows, titles))
    return made


def _by_strategy(
    caption: str,
    size: str,
    known: Mapping[tuple[str, str, str], Cell],
    strategies: Sequence[str],
    titles: Sequence[str],
) -> Table:
    """Make a row for each encoder and pooling that has one of the strategies, a group of columns for each strategy."""
    rows = unique(f"{encoder} {one.upper()}" for encoder, one, name in known if name in strategies)
    keys = {f"{encoder} {one.upper()}": (encoder, one) for encoder, one, _ in known}
    lines = [(row, [known.get((*keys[row], name)) for name in strategies]) for row in rows]
    return table(caption, size, lines, titles, "Encoder, pooling")


def table_4(cells: Sequence[Cell], pairs: int) -> list[Table]:
    """Make table 4, logistic regression on six combinations, for each encoder, pooling and trained part."""
    groups: dict[str, list[tuple[str, list[Cell | None]]]] = {}
    for cell in cells:
        combination, _, trained = cell["strategy"].rpartition(", ")
        name = f"({combination.replace(',', ', ').replace('*', ' * ')})"
        caption = f"Table 4: {cell['encoder']}, {cell['pooling'].upper()}, {trained} trained"
        groups.setdefault(caption, []).append((name, [cell]))
    return [table(caption, f"{pairs:,} test pairs", rows, ["Head"], "Vectors") for caption, rows in groups.items()]


def cells_of(rows: Sequence[Row]) -> list[Cell]:
    """Gather the cells behind the rows of a matrix."""
    by_key: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        encoder, _, pooling = row["system"].rpartition(" ")
        empty = {"encoder": encoder, "pooling": pooling, "strategy": row["protocol"], **to_json(None)}
        cell = by_key.setdefault((row["system"], row["protocol"]), empty | {"spread": None, "f1_spread": None})
        if (value := number(row)) is None:
            cell |= to_json(from_text(row["value"]))
        else:
            cell[row["metric"]] = value
        if row["spread"]:
            cell["f1_spread" if row["metric"] == "f1" else "spread"] = float(row["spread"])
    return list(by_key.values())


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Sort by encoder and pooling; then the paper's strategies in its order, and the modern ones."""
    order = [*PAPER, *MODERN]

    def place(row: Row) -> tuple[str, int, int]:
        encoder, _, pooling = row["system"].rpartition(" ")
        return encoder, rank(pooling, POOLINGS), rank(row["protocol"], order)

    return sorted(rows, key=place)


def kept(directory: Path) -> list[dict[str, Any]]:
    """Read the matrices that `publish --matrix` has kept: heat map, tables, and kept curves and orders."""
    matrices = []
    for path in sorted(directory.glob("*.csv")):
        every_row = read_results(path)
        rows = in_order([row for row in every_row if row["table"] != "4"])
        cells, pairs = cells_of(rows), max(int(row["n"]) for row in rows)
        fourth = cells_of([row for row in every_row if row["table"] == "4"])
        named = [{**row, "system": f"{row['system']}, {spelled(row['protocol'])}"} for row in rows]
        every = build([Block("", named)], "dataset", "Every cell", "seconds of training and scoring, CPU time")
        shown = {"heat_map": heat_map(cells), "tables": by_number(cells, fourth, pairs), "every": every}
        about = path.with_suffix(".json")
        shown |= details(current_content(read_json(about)) if about.exists() else {"cells": [], "orders": []})
        matrices.append({"file": path.as_posix(), "dataset": label(rows[0]["dataset"])} | shown)
    return matrices


def heat_map(cells: Sequence[Cell]) -> charts.HeatMap | None:
    """Draw test accuracy of every strategy (down) with every encoder and pooling (across); None without a figure.

    The least accurate cell is the palest, the most accurate one the fullest.
    """
    known = {key: cell["accuracy"] for key, cell in place(cells).items() if not reason_of(cell)}
    if not known:
        return None
    tips = {
        (f"{encoder} {one.upper()}", name): reason_of(cell) or f"{100 * cell['accuracy']:.2f}"
        for (encoder, one, name), cell in place(cells).items()
    }
    columns = unique(f"{encoder} {one.upper()}" for encoder, one, _ in known)
    rows = unique(name for _, _, name in known)
    values = {(f"{encoder} {one.upper()}", name): value for (encoder, one, name), value in known.items()}
    low, high = min(known.values()), max(known.values())
    shades = [[(values.get((c, r), low) - low) / (high - low or 1.0) for c in columns] for r in rows]
    drawn = charts.heat_map("Accuracy", [spelled(name) for name in rows], columns, shades, [])
    marked = [
        replace(
            cell,
            text=f"{100 * values[key]:.1f}" if (key := (column, row)) in values else "–",
            tip=f"{column}, {spelled(row)}: {tips.get(key, NOT_ASKED)}",
        )
        for cell, (row, column) in zip(drawn.cells, product(rows, columns), strict=True)
    ]
    alt = "Accuracy of each strategy. " + "; ".join(cell.tip for cell in marked) + "."
    return replace(drawn, cells=marked, alt=alt)


def curves(cells: Sequence[Cell]) -> list[charts.Curve]:
    """Draw test accuracy over the threshold, for each strategy of the encoder and pooling with the most strategies."""
    known = [cell for cell in cells if not reason_of(cell)]
    if not known:
        return []
    groups = [(cell["encoder"], cell["pooling"]) for cell in known]
    chosen = max(dict.fromkeys(groups), key=groups.count)
    return [
        charts.curve(
            f"{spelled(cell['strategy'])}, at {cell['threshold']:.2f}: {100 * cell['accuracy']:.1f}",
            "threshold",
            cell["curve"]["threshold"],
            [100 * value for value in cell["curve"]["accuracy"]],
        )
        for cell, group in zip(known, groups, strict=True)
        if group == chosen and len(cell["curve"]["threshold"]) > 1
    ]


def details(matrix: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts that only the JSON has: each cell with interval and threshold, threshold curves, the order."""
    cells = matrix["cells"]
    return {
        "curves": curves(cells),
        "cells": [{**cell, "name": spelled(cell["strategy"])} for cell in cells],
        "orders": [
            {**order, "first": spelled(order["first"]), "second": spelled(order["second"])}
            for order in matrix["orders"]
        ],
        "related": unique(name for cell in cells for name in cell["related"] or ()),
    }


def section(matrix: Mapping[str, Any], cost: Mapping[str, Any], directory: Path) -> Section:
    """Render the section.

    Args:
        matrix: This run's matrix, the content of reports/paraphrase.json.
        cost: The cost of comparing sentences, the content of reports/pair_cost.json.
        directory: Where the matrices of longer runs are kept, reports/runs/paraphrase.

    Returns:
        The section of the page.

    Raises:
        InputError: If a kept file cannot be read.
    """
    cells, pairs = matrix["cells"], matrix["pairs"]["test"]
    values = {
        **{key: matrix[key] for key in ("dataset", "pairs", "removed", "winner")},
        "tables": by_number(cells, matrix["combinations"], pairs),
        "heat_map": heat_map(cells),
        **details(matrix),
        "cost": cost,
        "kept": kept(directory),
    }
    return Section("paper2", "Paper 2 and this run", rendered("paper2.html", {"paraphrase": values}, PACKAGE))


def by_number(cells: Sequence[Cell], fourth: Sequence[Cell], pairs: int) -> list[Table]:
    """Sort all tables in the paper's order; those without a number come last."""
    unsorted = [*tables(cells, pairs), *table_4(fourth, pairs)]
    return sorted(unsorted, key=lambda table: table.caption if table.caption.startswith("Table") else "~")
