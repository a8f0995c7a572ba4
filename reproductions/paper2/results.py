"""Summarise the cells of paper 2's matrix, and choose the best bi-encoder.

Every cell that was made from the pairs of this run counts, whether it is in the grid of this run or of an earlier one.
A cell of the grid that was not run says so. If a cell has several seeds, their model soup is one more cell. The order
of two strategies has the share of the bootstrap's draws in which the better one stays ahead.

The winner is the bi-encoder of the highest cross-validated accuracy on pairs that it was not trained on: the validation
split, and for an untrained encoder the training split too. The test split decides nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from reproductions.grid.axes import Place, places
from reproductions.grid.cell import Cell
from reproductions.grid.results import not_run, over_runs, read_cells
from reproductions.paper2.cell import BY_COSINE, PairCell, trained_part
from reproductions.paper2.pairs.data import PairData
from reproductions.paper2.pairs.options import PairGrid
from reproductions.paper2.pairs.thresholds import accuracy, f1
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.protocols.similarity import correlations
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure

POINTS = 41  # of a threshold curve
DIGITS = 5  # of a score in it
SCORED = ("accuracy", "f1")


@dataclass(frozen=True)
class Lead:
    """Two cells of one encoder and pooling: the first one's lead in accuracy, the share of draws with a lead."""

    first: PairCell
    second: PairCell
    difference: float
    share: float


@dataclass(frozen=True)
class Curve:
    """Accuracy and F1 on test of a cell's first seed over the threshold, one value for each of POINTS quantiles."""

    cell: PairCell
    seeds: int  # of the cell
    threshold: list[float]
    accuracy: list[float]
    f1: list[float]


@dataclass(frozen=True)
class Summary:
    """The figures of all cells, their threshold curves, the order of strategies, and the name of the best cell."""

    rows: list[Result]
    curves: list[Curve]
    orders: list[Lead]
    winner: str | None

    def content(self) -> dict[str, Any]:
        """Return its part of paraphrase.json."""
        curves, orders = ([asdict(each) for each in group] for group in (self.curves, self.orders))
        return {"curves": curves, "orders": orders, "winner": self.winner}


@dataclass(frozen=True)
class TestPairs:
    """The pairs that all cells are tested on, and how often each is in each draw of the bootstrap, (draws, pairs)."""

    dataset: str
    data: PairData
    counts: Floats


def summarise(cells: Sequence[Path], table_4: Path, grid: PairGrid, test: TestPairs, counters: Counters) -> Summary:
    """Summarise the results of all cells.

    Args:
        cells: The directories that have the cells of the matrix: bi-encoders, and cross-encoders, which are starts.
        table_4: The directory of the cells of table 4, in one for each encoder.
        grid: The cells of this run.
        test: The pairs; cells that were made from others are left out and counted.
        counters: Gets the cells.

    Raises:
        InputError: A cell is damaged.
    """
    found = read_cells(cells, test.data.sha256, counters)
    parts = sorted((part for cell in found.values() for part in cell.parts()), key=lambda part: part.soup)
    scored = [part for part in parts if not part.unavailable]
    fourth = read_cells(sorted(table_4.glob("*")), test.data.sha256, Counters("cells")).values()
    rows = [row for cell in [*parts, *not_run(wanted(grid), found, counters)] for row in rows_of(cell, test)]
    rows += [row for cell in fourth for row in rows_of(cell, test, "4")]
    best = max((cell for cell in found.values() if cell.there and not crossed(cell)), key=validation, default=None)
    curves = [curve_of(cell, test.data) for cell in scored]
    return Summary(rows, curves, orders(scored, test.counts), best.place.name if best else None)


def wanted(grid: PairGrid) -> list[Place]:
    """Return the cells of a grid: its bi-encoders, then its cross-encoders."""
    tuned = [f"{pooling}-{recipe}" for pooling in grid.poolings for recipe in grid.recipes]
    bi_encoders = places(encoder=grid.encoders, start=grid.starts, strategy=grid.strategies)
    return bi_encoders + places(encoder=grid.encoders, start=tuned, strategy=["pair"])


def crossed(cell: Cell) -> bool:
    """Say whether it is a cross-encoder."""
    return bool(cell.place["strategy"] == "pair")


def validation(cell: Cell) -> float:
    """Return the best validation accuracy of a cell's runs, the model soup among them."""
    return max(run.figures["validation"] for run in cell.there)


def right(cell: Cell) -> Floats:
    """Return the share of the runs that decided each test pair correctly, (pairs,) float32."""
    return np.asarray(np.mean(cell.right, axis=0, dtype=np.float32))


def rows_of(part: Cell, test: TestPairs, table: str = "") -> list[Result]:
    """Return every figure of a cell, averaged over its runs."""
    cell, runs, data = place_of(part), part.there, test.data

    def row(metric: str, values: Sequence[Figure], dataset: str = test.dataset, split: str = "test") -> Result:
        where = (f"{cell.encoder} {cell.pooling}", dataset, split, cell.name, metric)
        n = len(data.related[dataset].scores if dataset in data.related else data.splits[split]) if runs else 0
        return over_runs(Result(*where, 0.0, n, paper="2", table=table, **cell.content()), values)

    if part.unavailable:
        return [row(name, [part.unavailable]) for name in SCORED]

    def mean(metric: str, figure: str, split: str = "test") -> Result:
        return row(metric, [run.figures[figure] for run in runs], split=split)

    def first(metric: str, value: Figure, dataset: str = test.dataset) -> Result:
        return replace(row(metric, [value], dataset), seeds=len(runs))

    low, high, _ = bootstrap.interval(bootstrap.means(right(part), test.counts))
    rows = [replace(mean("accuracy", "accuracy"), low=low, high=high), mean("f1", "f1")]
    rows.append(mean("accuracy", "validation", "validation"))
    if (cell.start, cell.strategy) == ("", "cosine"):  # no pair was trained on
        rows[-1] = replace(rows[-1], n=rows[-1].n + len(data.splits["train"]))
    figures, notes = runs[0].figures, runs[0].notes
    epochs = sum("task" not in note for note in notes)  # without those of an intermediate task
    rows += [first("threshold", figures["threshold"]), first("epochs", float(epochs))]
    rows += [first(BY_COSINE.format(name), figures[known]) for name in SCORED if (known := f"cosine {name}") in figures]
    for dataset in {} if crossed(part) else data.related:
        found = correlations(part.column("score", dataset)[0], part.column("rating", dataset)[0])
        rows += [first(metric, value, dataset) for metric, value in found.items()]
    return rows


def curve_of(part: Cell, data: PairData) -> Curve:
    """Return accuracy and F1 on the test pairs over the threshold, with the first seed."""
    scores = part.column("score")[0].astype(np.float64).round(DIGITS).astype(np.float32)
    labels = data.splits["test"].labels
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, POINTS)).round(4)).tolist()
    by_figure = [[round(rate(scores, labels, bound), 4) for bound in thresholds] for rate in (accuracy, f1)]
    return Curve(place_of(part), len(part.there), thresholds, *by_figure)


def place_of(part: Cell) -> PairCell:
    """Return the place of a cell in paper 2's tables; a model soup has its own place."""
    place = part.place
    pooling, _, recipe = place["start"].partition("-")
    start = trained_part(place["frozen"], place["hidden_layers"]) if "frozen" in place else recipe
    return PairCell(place["encoder"], pooling, start, place["strategy"], MODEL_SOUP if part.soup else None)


def orders(parts: Sequence[Cell], counts: Floats) -> list[Lead]:
    """Compare the strategies of each encoder and pooling, from the best to the worst, each with the next one."""
    groups: dict[tuple[str, str], dict[PairCell, Floats]] = {}
    for part in parts:
        cell = place_of(part)
        groups.setdefault((cell.encoder, cell.pooling), {})[cell] = right(part)
    compared = []
    for strategies in groups.values():
        ranked = sorted(strategies, key=lambda cell: -float(strategies[cell].mean()))
        for first, second in pairwise(ranked):
            ahead = strategies[first] - strategies[second]
            share = float((counts @ ahead > 0).mean())
            compared.append(Lead(first, second, round(float(ahead.mean()), 4), round(share, 3)))
    return compared
