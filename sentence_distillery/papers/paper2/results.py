"""Summarise the cells of paper 2's matrix, and choose the best bi-encoder.

Every cell that was made from the pairs of this run counts, whether it is in the grid of this run or of an earlier one.
A cell of the grid that was not run says so. If a cell has several seeds, their model soup is one more cell. The paired
bootstrap says how certain the order of two strategies is: the test pairs are drawn again, with replacement, 2,000
times, and we report the share of draws in which the better strategy stays ahead.

The winner is the bi-encoder of the highest cross-validated accuracy on pairs that it was not trained on: the validation
split, and for an untrained encoder the training split too. The test split decides nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.benchmarks import bootstrap
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable, from_json, to_json
from sentence_distillery.pairs.data import RESULT
from sentence_distillery.pairs.options import Combination, PairGrid
from sentence_distillery.pairs.thresholds import accuracy, f1

POINTS = 41  # of a threshold curve
NOT_RUN = Unavailable("not run")
MEAN = "model soup"


@dataclass(frozen=True)
class Cell:
    """One cell: its means over the seeds, their standard deviation, and the first seed's threshold curve.

    `strategy` is as paper 2 has it: combined-siamese is siamese that starts from a cross-encoder.

    `curve` is {threshold, accuracy, f1}, one value for each of POINTS quantiles of the scores; `interval` holds 95% of
    the accuracy's bootstrap draws. `unavailable` says why there are no figures.
    """

    encoder: str
    pooling: str
    strategy: str
    unavailable: Unavailable | None = None
    seeds: int = 0
    accuracy: float = 0.0
    f1: float = 0.0
    spread: float | None = None
    f1_spread: float | None = None
    interval: tuple[float, float] = (0.0, 0.0)
    validation: float = 0.0
    threshold: float = 0.0
    seconds: float = 0.0
    epochs: int = 0
    related: dict[str, dict[str, float | str]] | None = None
    cosine: dict[str, float] | None = None
    curve: dict[str, list[float]] | None = None

    def content(self) -> dict[str, Any]:
        """Return its entry in paraphrase.json."""
        entries = asdict(self)
        del entries["unavailable"]
        place = {name: entries.pop(name) for name in ("encoder", "pooling", "strategy")}
        return place | to_json(self.unavailable) | entries


@dataclass(frozen=True)
class Order:
    """Two strategies of one encoder and pooling: the first one's lead in accuracy, the share of draws with a lead."""

    encoder: str
    pooling: str
    first: str
    second: str
    difference: float
    share: float


@dataclass(frozen=True)
class CellDirectories:
    """The directories of all results: bi-encoders, cross-encoders (which are starts), and table 4."""

    cells: Path
    starts: Path
    combinations: Path


@dataclass(frozen=True)
class Summary:
    """All cells of the matrix, the order of their strategies, the cells of table 4, and the name of the best cell."""

    cells: list[Cell]
    orders: list[Order]
    combinations: list[Cell]
    winner: str | None

    def content(self) -> dict[str, Any]:
        """Return its part of paraphrase.json."""
        cells, combinations = ([cell.content() for cell in group] for group in (self.cells, self.combinations))
        orders = list(map(asdict, self.orders))
        return {"cells": cells, "orders": orders, "combinations": combinations, "winner": self.winner}

    def rows(self, dataset: str, pairs: int) -> list[Result]:
        """Return every figure as a row of a table of results; `pairs` is the number of test pairs."""
        tables = {"": self.cells, "4": self.combinations}
        return [row for name, group in tables.items() for cell in group for row in rows_of(cell, dataset, pairs, name)]


def summarise(
    directories: CellDirectories, grid: PairGrid, labels: NDArray[np.int8], data: str, counters: Counters
) -> Summary:
    """Summarise the results of all cells.

    Args:
        directories: where the results are.
        grid: the cells of this run.
        labels: those of the test pairs, (pairs,) int8 of 0 and 1.
        data: the SHA-256 of the pairs; results of other pairs are left out and counted.
        counters: gets the cells.

    Raises:
        InputError: a result is damaged.
    """
    results = read_results([directories.cells, directories.starts], data, counters)
    counts = bootstrap.counts(len(labels))
    missing = [cell for cell in wanted(grid) if name_of(cell) not in results]
    scored = [*results.values(), *model_soups(list(results.values()))]
    cells = [cell_of(result, labels, counts) for result in scored]
    cells += [Cell(**place_of(cell), unavailable=NOT_RUN) for cell in missing]
    counters.drop(NOT_RUN.reason, len(missing))
    best = winner(list(results.values()))
    fourth = table_4(directories.combinations, labels, counts, data)
    return Summary(cells, orders(scored, labels, counts), fourth, name_of(best) if best else None)


def read_results(directories: Sequence[Path], data: str, counters: Counters) -> dict[str, dict[str, Any]]:
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


def cell_of(result: dict[str, Any], labels: NDArray[np.int8], counts: Floats) -> Cell:
    """Average a result over its seeds; `counts` are those of the bootstrap."""
    known: dict[str, Any] = {**place_of(result), "unavailable": from_json(result)}
    outcomes = result["outcomes"]
    if not outcomes:
        return Cell(**known)
    means: dict[str, Any] = {
        key: float(np.mean([one[key] for one in outcomes])) for key in ("accuracy", "f1", "validation", "seconds")
    }
    low, high = bootstrap.interval(bootstrap.means(right(result, labels), counts))
    first = outcomes[0]
    return Cell(
        **known,
        **means,
        seeds=len(outcomes),
        spread=_spread([one["accuracy"] for one in outcomes]),
        f1_spread=_spread([one["f1"] for one in outcomes]),
        interval=(round(low, 4), round(high, 4)),
        threshold=first["threshold"],
        epochs=len(first["epochs"]),
        related=first["related"],
        cosine=first["cosine"],
        curve=curve(np.asarray(first["scores"], np.float32), labels),
    )


def _spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation, None for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def curve(scores: Floats, labels: NDArray[np.int8]) -> dict[str, list[float]]:
    """Return accuracy and F1 on the test pairs over the threshold."""
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, POINTS)).round(4)).tolist()
    return {
        "threshold": thresholds,
        "accuracy": [round(accuracy(scores, labels, bound), 4) for bound in thresholds],
        "f1": [round(f1(scores, labels, bound), 4) for bound in thresholds],
    }


def place_of(cell: Any) -> dict[str, Any]:
    """Return the place of a cell in paper 2's tables, by its encoder, its start and its strategy.

    A model soup has its own place.
    """
    pooling, _, recipe = cell["start"].partition("-")
    strategy = cell["strategy"]
    if strategy == "pair":
        strategy = "pair" if recipe == "combined" else f"{recipe}-pair"
    elif recipe:
        strategy = f"{recipe}-{strategy}"
    outcomes = cell.get("outcomes")
    if outcomes and outcomes[0]["seed"] is None:
        strategy += f", {MEAN}"
    return {"encoder": cell["encoder"], "pooling": pooling, "strategy": strategy}


def orders(results: Sequence[dict[str, Any]], labels: NDArray[np.int8], counts: Floats) -> list[Order]:
    """Compare the strategies of each encoder and pooling, from the best to the worst, each with the next one."""
    places: dict[tuple[str, str], dict[str, Floats]] = {}
    for result in results:
        if result["outcomes"]:
            place = place_of(result)
            group = places.setdefault((place["encoder"], place["pooling"]), {})
            group[place["strategy"]] = right(result, labels)
    compared = []
    for (encoder, pooling), strategies in places.items():
        ranked = sorted(strategies, key=lambda name: -float(strategies[name].mean()))
        for first, second in pairwise(ranked):
            ahead = strategies[first] - strategies[second]
            share = float((counts @ ahead > 0).mean())
            compared.append(Order(encoder, pooling, first, second, round(float(ahead.mean()), 4), round(share, 3)))
    return compared


def winner(results: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the result of the bi-encoder whose seed or model soup has the best validation accuracy; None without."""

    def validation(result: dict[str, Any]) -> float:
        return max(float(one["validation"]) for one in [*result["outcomes"], result["mean"]] if one)

    bi_encoders = [result for result in results if result["outcomes"] and result["strategy"] != "pair"]
    return max(bi_encoders, key=validation, default=None)


def table_4(directory: Path, labels: NDArray[np.int8], counts: Floats, data: str) -> list[Cell]:
    """Return a cell of table 4 for each combination of the results in a directory that were made from these pairs.

    Its strategy also says whether the encoder was trained.
    """
    cells = []
    for compared in map(read_json, sorted(directory.glob("*.json"))):
        if compared["data"] == data:
            trained = "the heads alone" if compared["frozen"] else "the encoder too"
            for one in Combination:
                runs = compared["combinations"].get(one.value, [])
                result = {**compared, "strategy": f"{one.value}, {trained}", "outcomes": runs}
                cells.append(cell_of(result, labels, counts))
    return cells


def rows_of(cell: Cell, dataset: str, pairs: int, table: str = "") -> list[Result]:
    """Return a cell as rows of a table of results."""
    place = f"{cell.encoder} {cell.pooling}", dataset, "test", cell.strategy
    if cell.unavailable:
        return [Result(*place, name, cell.unavailable, 0, "2", table) for name in ("accuracy", "f1")]
    of = {"accuracy": (cell.accuracy, cell.spread), "f1": (cell.f1, cell.f1_spread), "seconds": (cell.seconds, None)}
    return [
        Result(*place, name, value, pairs, "2", table, seeds=cell.seeds, spread=spread)
        for name, (value, spread) in of.items()
    ]
