"""Paper 2's tables 1 to 7 as this run has them, a heat map of its matrix, and threshold curves.

The paper's own figures did not survive in the copy that this project was made from, so none can be compared with ours.
Its text says which strategy is ahead of which.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from reproductions.heat_map import HeatMap
from reproductions.heat_map import heat_map as draw_heat_map
from reproductions.paper2 import rates
from reproductions.paper2.cell import BY_COSINE, WITHOUT_LAYERS, PairCell
from reproductions.paper2.claims import claims
from reproductions.paper2.pairs.options import Combination
from reproductions.saved_matrix import Drawn
from sentence_distillery.evaluation.results import MODEL_SOUP, Result, read_results
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.page import Section, rendered
from sentence_distillery.reporting.tables import (
    Figure,
    Table,
    figure,
    label,
    mark_best,
    metric,
    rank,
    unique,
)

Strategy = tuple[str, str]  # the recipe of the start, and the strategy
Key = tuple[str, str, str | None]  # the same of a cell, and its seed
Cells = Mapping[PairCell, Sequence[Result]]
ACCURACY, F1 = metric("accuracy"), metric("f1")
COLUMNS = [ACCURACY, F1]
POOLINGS = ("mean", "max", "cls")
TABLES: dict[str, tuple[str, Strategy]] = {  # number -> title, strategy
    "1": ("cosine without fine-tuning", ("", "cosine")),
    "2": ("Siamese networks", ("", "siamese")),
    "3": ("triplet networks", ("", "triplet")),
    "5": ("logistic regression", ("", "logistic")),
    "6": ("fine-tuned cross-encoders", ("combined", "pair")),
}
COMBINED = {"cosine": "Baseline", "siamese": "Siam", "triplet": "Triplet", "logistic": "LR"}
PAPER: list[Strategy] = [
    *(strategy for _, strategy in TABLES.values()),
    *(("combined", strategy) for strategy in COMBINED),
]
MODERN: dict[Strategy, str] = {
    ("", "cosent"): "CoSENT",
    ("", "ranking"): "Multiple negatives ranking",
    ("modern", "pair"): "Cross-encoder",
    ("modern", "cosine"): "Cross-encoder, then cosine",
    ("intermediate", "pair"): "Cross-encoder, similarity first",
    ("intermediate", "cosine"): "Cross-encoder, similarity first, then cosine",
}
NAMES = {
    "cosine": "cosine",
    "siamese": "Siamese",
    "triplet": "triplet",
    "logistic": "logistic regression",
    "pair": "cross-encoder",
    "cosent": "CoSENT",
    "ranking": "ranking",
}
NOT_ASKED = Unavailable("not run")
COMBINATIONS = [each.value for each in Combination]  # of table 4
RATES = "rates"  # the directory of searched learning rates below that of the saved matrices
PACKAGE, SHARED = "reproductions.paper2", "reproductions"


def spelled(cell: PairCell) -> str:
    """Describe a strategy in words."""
    recipe = "" if (cell.start, cell.strategy) == ("combined", "pair") else cell.start
    name = f"{recipe} {NAMES.get(cell.strategy, cell.strategy)}".strip()
    return f"{name}, {cell.seed}" if cell.seed else name


def gathered(rows: Sequence[Result]) -> dict[PairCell, list[Result]]:
    """Gather the rows of each cell, by encoder and pooling; the paper's strategies in its order, then the others."""
    cells: dict[PairCell, list[Result]] = {}
    for row in rows:
        seed = MODEL_SOUP if row.seed == MODEL_SOUP else None
        cells.setdefault(PairCell(row.encoder, row.pooling, row.start, row.strategy, seed), []).append(row)
    order = [*PAPER, *MODERN]

    def place(cell: PairCell) -> tuple[str, int, int]:
        return cell.encoder, rank(cell.pooling, POOLINGS), rank((cell.start, cell.strategy), order)

    return {cell: cells[cell] for cell in sorted(cells, key=place)}


def found(rows: Sequence[Result], name: str, split: str = "test") -> Result | None:
    """Return the row of a metric on the pairs' own set, which comes first; None without such a row."""
    return next((row for row in rows if (row.metric, row.split) == (name, split)), None)


def value(rows: Sequence[Result], name: str, split: str = "test") -> float | None:
    """Return the number of that row, or None."""
    row = found(rows, name, split)
    return row.number if row else None


def reason_of(rows: Sequence[Result]) -> str:
    """Return the reason why a cell has no figures, empty if it has."""
    unavailable = rows[0].value if rows else NOT_ASKED
    return unavailable.reason if isinstance(unavailable, Unavailable) else ""


def figures(rows: Sequence[Result]) -> list[list[Figure]]:
    """Show accuracy and F1 of a cell, or why it is empty."""
    shown = [found(rows, name) for name in ("accuracy", "f1")]
    return [[figure(row) if row else Figure("—", note=NOT_ASKED.reason)] for row in shown]


def table(
    caption: str, size: str, rows: Sequence[tuple[str, Sequence[Sequence[Result]]]], groups: Sequence[str], head: str
) -> Table:
    """Make a row of cells for each name, a group of columns for each of `groups`."""
    lines = [(name, [cell for each in cells for cell in figures(each)]) for name, cells in rows]
    notes = unique(figure.note for _, cells in lines for cell in cells for figure in cell if figure.note)
    blocks = [("", mark_best(lines, [shown.better for _ in groups for shown in COLUMNS]))]
    return Table(caption, size, [(group, COLUMNS) for group in groups], blocks, notes, head)


def tables(cells: Cells, pairs: int) -> list[Table]:
    """Make tables 1, 2, 3, 5, 6 and 7 if this run has a cell of them; then those that the paper does not have."""
    encoders = unique(cell.encoder for cell in cells)
    poolings = [name for name in POOLINGS if any(cell.pooling == name for cell in cells)]
    size = f"{pairs:,} test pairs"
    there = {(cell.start, cell.strategy, cell.seed): cell for cell in cells}
    has: Callable[[Strategy], bool] = lambda strategy: (*strategy, None) in there  # noqa: E731
    made = [
        table(
            f"Table {number}: {title}",
            size,
            [(encoder, [cells.get(PairCell(encoder, one, *strategy), []) for one in poolings]) for encoder in encoders],
            [one.upper() for one in poolings],
            "Encoder",
        )
        for number, (title, strategy) in TABLES.items()
        if has(strategy)
    ]
    combined = [("combined", name) for name in COMBINED]
    if any(map(has, combined)):
        columns: dict[Key, str] = {
            (*strategy, None): title for strategy, title in zip(combined, COMBINED.values(), strict=True)
        }
        made.append(_by_strategy("Table 7: the combined approach", size, cells, columns))
    beside: dict[Key, str] = {(*strategy, None): title for strategy, title in MODERN.items() if has(strategy)}
    for key, cell in there.items():
        if key[:2] not in PAPER or cell.seed:
            beside.setdefault(key, spelled(cell))
    return made + ([_by_strategy("Beyond the paper", size, cells, beside)] if beside else [])


def _by_strategy(caption: str, size: str, cells: Cells, titles: Mapping[Key, str]) -> Table:
    """Make a row for each encoder and pooling that has one of the strategies, a group of columns for each strategy."""
    rows = unique_places(cell for cell in cells if (cell.start, cell.strategy, cell.seed) in titles)
    lines = [
        (column(*row), [cells.get(PairCell(*row, start, strategy, seed), []) for start, strategy, seed in titles])
        for row in rows
    ]
    return table(caption, size, lines, list(titles.values()), "Encoder, pooling")


def unique_places(cells: Iterator[PairCell]) -> list[tuple[str, str]]:
    """Return the encoder and pooling of these cells, each once."""
    return list(dict.fromkeys((cell.encoder, cell.pooling) for cell in cells))


def column(encoder: str, pooling: str) -> str:
    """Name an encoder with its pooling."""
    return f"{encoder} {pooling.upper()}"


def table_4(cells: Cells, pairs: int) -> list[Table]:
    """Make table 4, logistic regression on combinations, for each place: a column for each part that is trained."""
    places: dict[str, dict[Strategy, Sequence[Result]]] = {}
    for cell, rows in cells.items():
        places.setdefault(column(cell.encoder, cell.pooling), {})[cell.start, cell.strategy] = rows
    made = []
    for place, own in places.items():
        trained = sorted(unique(start for start, _ in own), key=list(WITHOUT_LAYERS).index)
        names = sorted(unique(features for _, features in own), key=lambda name: rank(name, COMBINATIONS))
        lines = [(spaced(name), [own.get((start, name), []) for start in trained]) for name in names]
        made.append(table(f"Table 4: {place}", f"{pairs:,} test pairs", lines, trained, "Vectors"))
    return made


def spaced(features: str) -> str:
    """Write a combination as the paper does."""
    return f"({features.replace(',', ', ').replace('*', ' * ')})"


def by_number(rows: Sequence[Result]) -> list[Table]:
    """Make all tables in the paper's order; those without a number come last."""
    pairs = max((row.n for row in rows if (row.metric, row.split) == ("accuracy", "test")), default=0)
    fourth = gathered([row for row in rows if row.table == "4"])
    made = [*tables(matrix_of(rows), pairs), *table_4(fourth, pairs)]
    return sorted(made, key=lambda table: table.caption if table.caption.startswith("Table") else "~")


def matrix_of(rows: Sequence[Result]) -> dict[PairCell, list[Result]]:
    """Gather the cells of the matrix, which are all but those of table 4."""
    return gathered([row for row in rows if row.table != "4"])


def kept(directory: Path, cost: Sequence[Mapping[str, float | str]] = ()) -> list[dict[str, Any]]:
    """Read the matrices that `publish --matrix` has saved: heat map, tables, curves, orders, and searched rates."""
    matrices = []
    for path in sorted(directory.glob("*.csv")):
        rows = read_results(path)
        about = path.with_suffix(".json")
        drawn = read_json(about, Drawn) if about.exists() else {"curves": [], "orders": []}
        name = {"file": path.as_posix(), "dataset": label(rows[0].dataset)}
        tried = directory / RATES / path.name
        searched = rates.table(read_results(tried)) if tried.exists() else None
        matrices.append({**name, "claims": claims(rows, cost), "rates": searched, **shown(rows, drawn)})
    return matrices


def heat_map(cells: Cells) -> HeatMap | None:
    """Draw test accuracy of every strategy (down) with every encoder and pooling (across); None without a figure.

    The least accurate cell is the palest, the most accurate one the fullest.
    """
    values = {
        (column(cell.encoder, cell.pooling), spelled(cell)): number
        for cell, rows in cells.items()
        if (number := value(rows, "accuracy")) is not None
    }
    if not values:
        return None
    tips = {(column(cell.encoder, cell.pooling), spelled(cell)): reason_of(rows) for cell, rows in cells.items()}
    columns, strategies = unique(place for place, _ in values), unique(name for _, name in values)
    low, high = min(values.values()), max(values.values())
    shades = [[(values.get((c, r), low) - low) / (high - low or 1.0) for c in columns] for r in strategies]
    drawn = draw_heat_map("Accuracy", strategies, columns, shades, [])

    def tip(key: tuple[str, str]) -> str:
        return f"{100 * values[key]:.2f}" if key in values else tips.get(key, NOT_ASKED.reason)

    marked = [
        replace(
            cell,
            text=f"{100 * values[place, name]:.1f}" if (place, name) in values else "–",
            tip=f"{place}, {name}: {tip((place, name))}",
        )
        for cell, (name, place) in zip(drawn.cells, product(strategies, columns), strict=True)
    ]
    alt = "Accuracy of each strategy. " + "; ".join(cell.tip for cell in marked) + "."
    return replace(drawn, cells=marked, alt=alt)


def curves(drawn: Sequence[Mapping[str, Any]], cells: Cells) -> list[charts.Curve]:
    """Draw test accuracy over the threshold, for each strategy of the encoder and pooling with the most strategies."""
    known = [(PairCell(**each["cell"]), each) for each in drawn if len(each["threshold"]) > 1]
    bounds = {cell: value(cells.get(cell, []), "threshold") for cell, _ in known}
    groups = [(cell.encoder, cell.pooling) for cell, _ in known]
    chosen = max(dict.fromkeys(groups), key=groups.count, default=None)
    return [
        charts.curve(
            f"{spelled(cell)}, at {bound:.2f}: {100 * (value(cells[cell], 'accuracy') or 0):.1f}",
            "threshold",
            each["threshold"],
            [100 * accuracy for accuracy in each["accuracy"]],
        )
        for cell, each in known
        if (cell.encoder, cell.pooling) == chosen and (bound := bounds[cell]) is not None
    ]


def _detail(cell: PairCell, rows: Sequence[Result]) -> dict[str, Any]:
    """Return the row of a cell in the table."""
    own = rows[0].dataset
    accuracy = found(rows, "accuracy")
    return {
        "place": column(cell.encoder, cell.pooling),
        "name": spelled(cell),
        "absent": reason_of(rows),
        "low": accuracy.low if accuracy else None,
        "high": accuracy.high if accuracy else None,
        "seeds": rows[0].seeds,
        "validation": value(rows, "accuracy", "validation"),
        "cosine": value(rows, BY_COSINE.format("accuracy")),
        "related": {row.dataset: row.number for row in rows if row.dataset != own and row.metric == "spearman"},
        **{name: value(rows, name) for name in ("accuracy", "f1", "threshold", "epochs", "seconds")},
    }


def shown(rows: Sequence[Result], drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the page for a matrix.

    Args:
        rows: Its figures.
        drawn: Its threshold curves, and the order of its strategies.
    """
    cells = matrix_of(rows)
    details = [_detail(cell, group) for cell, group in cells.items()]
    orders = [
        {**order, "first": PairCell(**order["first"]), "second": PairCell(**order["second"])}
        for order in drawn["orders"]
    ]
    return {
        "tables": by_number(rows),
        "heat_map": heat_map(cells),
        "curves": curves(drawn["curves"], cells),
        "cells": details,
        "orders": [
            {
                **order,
                "place": column(order["first"].encoder, order["first"].pooling),
                "first": spelled(order["first"]),
                "second": spelled(order["second"]),
            }
            for order in orders
        ],
        "related": unique(name for each in details for name in each["related"]),
    }


def section(rows: Sequence[Result], about: Mapping[str, Any], cost: Mapping[str, Any], directory: Path) -> Section:
    """Render the section.

    Args:
        rows: The figures of this run's matrix, reports/paraphrase.csv.
        about: The content of reports/paraphrase.json.
        cost: The cost of comparing sentences, the content of reports/pair_cost.json.
        directory: Where the matrices of longer runs are saved, reports/runs/paraphrase.

    Returns:
        The section of the page.

    Raises:
        InputError: If a saved file cannot be read.
    """
    values = {
        **{key: about[key] for key in ("dataset", "pairs", "removed", "winner")},
        **shown(rows, about),
        "claims": claims(rows, cost["systems"]),
        "cost": cost,
        "kept": kept(directory, cost["systems"]),
    }
    content = rendered("paper2.html", {"paraphrase": values}, PACKAGE, SHARED)
    return Section("paper2", "Paper 2 and this run", content)
