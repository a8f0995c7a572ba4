"""Summarise the cells of paper 2's matrix, and choose the best bi-encoder.

Every cell that was made from the pairs of this run counts, whether it is in the grid of this run or of an earlier one.
A cell of the grid that was not run says so. If a cell has several seeds, their model soup is one more cell. The paired
bootstrap says how certain the order of two strategies is: the test pairs are drawn again, with replacement, 2,000
times, and we report the share of draws in which the better strategy stays ahead.

The winner is the bi-encoder of the highest cross-validated accuracy on pairs that it was not trained on: the validation
split, and for an untrained encoder the training split too. The test split decides nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.benchmarks import bootstrap
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable, from_json, from_text
from sentence_distillery.pairs.data import RESULT
from sentence_distillery.pairs.options import Combination, PairGrid
from sentence_distillery.pairs.thresholds import accuracy, f1
from sentence_distillery.papers.paper2.cell import BY_COSINE, HEADS, WHOLE, Cell

POINTS = 41  # of a threshold curve
NOT_RUN = Unavailable("not run")


@dataclass(frozen=True)
class Order:
    """Two cells of one encoder and pooling: the first one's lead in accuracy, the share of draws with a lead."""

    first: Cell
    second: Cell
    difference: float
    share: float


@dataclass(frozen=True)
class Curve:
    """Accuracy and F1 on test of a cell's first seed over the threshold, one value for each of POINTS quantiles."""

    cell: Cell
    seeds: int  # of the cell
    threshold: list[float]
    accuracy: list[float]
    f1: list[float]


@dataclass(frozen=True)
class CellDirectories:
    """The directories of all results: bi-encoders, cross-encoders (which are starts), and table 4."""

    cells: Path
    starts: Path
    combinations: Path


@dataclass(frozen=True)
class Summary:
    """The figures of all cells, their threshold curves, the order of strategies, and the name of the best cell."""

    rows: list[Result]
    curves: list[Curve]
    orders: list[Order]
    winner: str | None

    def content(self) -> dict[str, Any]:
        """Return its part of paraphrase.json."""
        curves, orders = ([asdict(each) for each in group] for group in (self.curves, self.orders))
        return {"curves": curves, "orders": orders, "winner": self.winner}


@dataclass(frozen=True)
class TestPairs:
    """The pairs that all cells are tested on: the set, its labels, (pairs,) of 0 and 1, and the SHA-256 of all pairs.

    `sizes` is the number of pairs of each split, `related` that of the test pairs of each further set.
    """

    dataset: str
    labels: NDArray[np.int8]
    sha256: str
    sizes: Mapping[str, int]
    related: Mapping[str, int]


def summarise(directories: CellDirectories, grid: PairGrid, test: TestPairs, counters: Counters) -> Summary:
    """Summarise the results of all cells.

    Args:
        directories: where the results are.
        grid: the cells of this run.
        test: the pairs; results that were made from others are left out and counted.
        counters: gets the cells.

    Raises:
        InputError: a result is damaged.
    """
    results = read_cells([directories.cells, directories.starts], test.sha256, counters)
    counts = bootstrap.counts(len(test.labels))
    missing = [cell for cell in wanted(grid) if name_of(cell) not in results]
    scored = [*results.values(), *model_soups(list(results.values()))]
    rows = [row for result in scored for row in rows_of(result, test, counts)]
    rows += [
        row for cell in missing for row in rows_of({**cell, "absent": NOT_RUN.reason, "outcomes": []}, test, counts)
    ]
    counters.drop(NOT_RUN.reason, len(missing))
    best = winner(list(results.values()))
    rows += table_4(directories.combinations, test, counts)
    curves = [curve_of(result, test.labels) for result in scored if result["outcomes"]]
    return Summary(rows, curves, orders(scored, test.labels, counts), name_of(best) if best else None)


def read_cells(directories: Sequence[Path], data: str, counters: Counters) -> dict[str, dict[str, Any]]:
    """Read the results that were made from these pairs, by the name of their cell."""
    results = {}
    for path in sorted(path for directory in directories for path in directory.glob(f"*/{RESULT}")):
        result = read_json(path)
        if result["data"] != data:
            counters.drop("made from other pairs")
            continue
        results[name_of(result)] = result
        counters.keep()
    return results


def model_soups(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the model soup of every cell that has one, as a separate result."""
    return [result | {"outcomes": [result["mean"]]} for result in results if result["mean"]]


def name_of(cell: Any) -> str:
    """Return the name of a cell: its encoder, its start, and its strategy."""
    return f"{cell['encoder']}-{cell['start']}-{cell['strategy']}"


def wanted(grid: PairGrid) -> list[dict[str, Any]]:
    """Return the cells of a grid: its bi-encoders, then its cross-encoders."""
    tuned = [f"{pooling}-{recipe}" for pooling, recipe in product(grid.poolings, grid.recipes)]
    bi_encoders = product(grid.encoders, grid.starts, grid.strategies)
    cells = [*bi_encoders, *product(grid.encoders, tuned, ["pair"])]
    return [dict(zip(("encoder", "start", "strategy"), cell, strict=True)) for cell in cells]


def right(result: dict[str, Any], labels: NDArray[np.int8]) -> Floats:
    """Return the share of the seeds that decided each test pair correctly, (pairs,) float32."""
    runs = result["outcomes"]
    correct = [(np.asarray(run["scores"], np.float32) >= run["threshold"]) == (labels == 1) for run in runs]
    return np.asarray(np.mean(correct, axis=0, dtype=np.float32))


def rows_of(result: dict[str, Any], test: TestPairs, counts: Floats, table: str = "") -> list[Result]:
    """Return every figure of a cell, averaged over its seeds; `counts` are those of the bootstrap."""
    cell, outcomes = place_of(result), result["outcomes"]

    def row(metric: str, value: float | Unavailable, dataset: str = test.dataset, split: str = "test") -> Result:
        where = (f"{cell.encoder} {cell.pooling}", dataset, split, cell.name, metric)
        about = {"paper": "2", "table": table, **cell.content()}
        n = test.related.get(dataset, test.sizes[split]) if outcomes else 0
        return Result(*where, value, n, seeds=len(outcomes) or 1, **about)

    if unavailable := from_json(result):
        return [row(name, unavailable) for name in ("accuracy", "f1")]

    def mean(metric: str, values: Sequence[float], split: str = "test") -> Result:
        spread = float(np.std(values, ddof=1)) if len(values) > 1 and metric != "seconds" else None
        return replace(row(metric, float(np.mean(values)), split=split), spread=spread)

    low, high = bootstrap.interval(bootstrap.means(right(result, test.labels), counts))
    rows = [replace(mean("accuracy", [one["accuracy"] for one in outcomes]), low=low, high=high)]
    rows += [mean(metric, [one[metric] for one in outcomes]) for metric in ("f1", "seconds")]
    chosen = mean("accuracy", [one["validation"] for one in outcomes], "validation")
    untrained = (cell.start, cell.strategy) == ("", "cosine")  # no pair was trained on
    rows.append(replace(chosen, n=chosen.n + untrained * test.sizes["train"]))
    first = outcomes[0]
    rows += [row("threshold", first["threshold"]), row("epochs", float(len(first["epochs"])))]
    rows += [row(BY_COSINE.format(metric), first["cosine"][metric]) for metric in ("accuracy", "f1") if first["cosine"]]
    for dataset, figures in (first["related"] or {}).items():
        rows += [row(metric, _figure(value), dataset) for metric, value in figures.items()]
    return rows


def _figure(value: float | str) -> float | Unavailable:
    return value if isinstance(value, float) else from_text(value) or Unavailable(value)


def curve_of(result: dict[str, Any], labels: NDArray[np.int8]) -> Curve:
    """Return accuracy and F1 on the test pairs over the threshold, with the first seed."""
    first = result["outcomes"][0]
    scores = np.asarray(first["scores"], np.float32)
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, POINTS)).round(4)).tolist()
    return Curve(
        place_of(result),
        len(result["outcomes"]),
        thresholds,
        [round(accuracy(scores, labels, bound), 4) for bound in thresholds],
        [round(f1(scores, labels, bound), 4) for bound in thresholds],
    )


def place_of(result: dict[str, Any]) -> Cell:
    """Return the place of a result in paper 2's tables; a model soup has its own place."""
    pooling, _, recipe = result["start"].partition("-")
    outcomes = result["outcomes"]
    soup = MODEL_SOUP if outcomes and outcomes[0]["seed"] is None else None
    return Cell(result["encoder"], pooling, result.get("trained", recipe), result["strategy"], soup)


def orders(results: Sequence[dict[str, Any]], labels: NDArray[np.int8], counts: Floats) -> list[Order]:
    """Compare the strategies of each encoder and pooling, from the best to the worst, each with the next one."""
    places: dict[tuple[str, str], dict[Cell, Floats]] = {}
    for result in results:
        if result["outcomes"]:
            cell = place_of(result)
            places.setdefault((cell.encoder, cell.pooling), {})[cell] = right(result, labels)
    compared = []
    for strategies in places.values():
        ranked = sorted(strategies, key=lambda cell: -float(strategies[cell].mean()))
        for first, second in pairwise(ranked):
            ahead = strategies[first] - strategies[second]
            share = float((counts @ ahead > 0).mean())
            compared.append(Order(first, second, round(float(ahead.mean()), 4), round(share, 3)))
    return compared


def winner(results: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the result of the bi-encoder whose seed or model soup has the best validation accuracy; None without."""

    def validation(result: dict[str, Any]) -> float:
        return max(float(one["validation"]) for one in [*result["outcomes"], result["mean"]] if one)

    bi_encoders = [result for result in results if result["outcomes"] and result["strategy"] != "pair"]
    return max(bi_encoders, key=validation, default=None)


def table_4(directory: Path, test: TestPairs, counts: Floats) -> list[Result]:
    """Return the figures of each combination of table 4 in a directory, as far as they were made from these pairs."""
    rows = []
    for compared in map(read_json, sorted(directory.glob("*.json"))):
        if compared["data"] == test.sha256:
            trained = HEADS if compared["frozen"] else WHOLE
            for one in Combination:
                runs = compared["combinations"].get(one.value, [])
                result = {**compared, "strategy": one.value, "trained": trained, "outcomes": runs}
                rows += rows_of(result, test, counts, "4")
    return rows
