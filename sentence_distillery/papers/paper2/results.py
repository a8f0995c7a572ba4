"""Stage `pair_results`: what the cells of paper 2's matrix come to, and the best encoder as a model.

Every cell that was made from the pairs of this run counts, whether this run's matrix has it or an earlier one's had; a
cell of the matrix that is not there says so. Where a cell has several seeds, the mean of their weights is one more. How
sure the order of two strategies is comes from the paired bootstrap: the test pairs are drawn anew, with replacement,
2,000 times, and the share of draws is counted in which the better one stays ahead.

The winner is the encoder of the highest cross-validated accuracy on pairs that it was not trained on, among all that
encode each sentence alone: those that are for validation of train, and for an encoder as it is train's as well. Test decides
nothing.

models/paraphraser          the winner, see sentence_distillery/pairs/export.py
reports/paraphrase.csv      every figure, in the columns of results.csv
reports/paraphrase.json     the cells with their threshold curves, the order of the strategies, table 4, the winner
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.benchmarks.metrics import Undefined
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.cells import CELLS, RESULT, STARTS, TABLE_4
from sentence_distillery.pairs.heads import Combination
from sentence_distillery.pairs.thresholds import accuracy, f1
from stages.params import Params

REPORT = Path("reports/paraphrase.json")
PARAPHRASER = Path("models/paraphraser")
DRAWS = 2_000
POINTS = 41  # of a threshold curve
NOT_RUN = "not run"
MEAN = "model soup"


@dataclass(frozen=True)
class Cell:
    """One cell: its means over the seeds, their standard deviation, and the first seed's threshold curve.

    `strategy` is as paper 2 has it: combined-siamese is siamese from an encoder that was tuned on joined pairs first.

    `curve` is {threshold, accuracy, f1}, one value for each of POINTS quantiles of the scores; `interval` holds 95% of
    the accuracy's bootstrap draws. `absent` says why there are no figures.
    """

    encoder: str
    pooling: str
    strategy: str
    absent: str | None = None
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


@dataclass(frozen=True)
class Order:
    """Two strategies of one encoder and pooling: by how much the first is ahead, in what share of draws it stays so."""

    encoder: str
    pooling: str
    first: str
    second: str
    difference: float
    share: float


def read_results(data: str, counters: Counters) -> dict[str, dict[str, Any]]:
    """The results that were made from these pairs, by the name of their cell."""
    found = {}
    for path in sorted([*CELLS.glob(f"*/{RESULT}"), *STARTS.glob(f"*/{RESULT}")]):
        result = read_json(path)
        if result["data"] != data:
            counters.drop("made from other pairs")
            continue
        found[name_of(result)] = result
        counters.keep()
    return found


def mean_weights(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean of the seeds' weights of every cell that has one, as a result of its own."""
    return [result | {"outcomes": [result["mean"]]} for result in results if result["mean"]]


def name_of(cell: Any) -> str:
    return f"{cell['encoder']}-{cell['start']}-{cell['strategy']}"


def wanted(params: Params) -> list[dict[str, Any]]:
    """The cells of this run's matrix."""
    recipes = product(params.pair_grid.poolings, params.pair_grid.recipes)
    tuned = [f"{pooling}-{recipe}" for pooling, recipe in recipes]
    alone = product(params.pair_grid.encoders, params.pair_grid.starts, params.pair_grid.strategies)
    cells = [*alone, *product(params.pair_grid.encoders, tuned, ["pair"])]
    return [dict(zip(("encoder", "start", "strategy"), cell, strict=True)) for cell in cells]


def draws(pairs: int) -> Floats:
    """How often each pair stands in each draw, (DRAWS, pairs)."""
    rows = np.random.default_rng(0).integers(0, pairs, (DRAWS, pairs))
    return np.stack([np.bincount(row, minlength=pairs) for row in rows]).astype(np.float32)


def right(result: dict[str, Any], labels: NDArray[np.int8]) -> Floats:
    """(pairs,) in which share of the seeds each test pair was decided rightly."""
    found = [(np.asarray(one["scores"], np.float32) >= one["threshold"]) == (labels == 1) for one in result["outcomes"]]
    return np.asarray(np.mean(found, axis=0, dtype=np.float32))


def cell_of(result: dict[str, Any], labels: NDArray[np.int8], counts: Floats) -> Cell:
    """What a result comes to."""
    known: dict[str, Any] = {**place_of(result), "absent": result["absent"]}
    outcomes = result["outcomes"]
    if not outcomes:
        return Cell(**known)
    means: dict[str, Any] = {
        key: float(np.mean([one[key] for one in outcomes])) for key in ("accuracy", "f1", "validation", "seconds")
    }
    drawn = counts @ right(result, labels) / len(labels)
    low, high = np.quantile(drawn, [0.025, 0.975])
    first = outcomes[0]
    return Cell(
        **known,
        **means,
        seeds=len(outcomes),
        spread=_spread([one["accuracy"] for one in outcomes]),
        f1_spread=_spread([one["f1"] for one in outcomes]),
        interval=(round(float(low), 4), round(float(high), 4)),
        threshold=first["threshold"],
        epochs=len(first["epochs"]),
        related=first["related"],
        cosine=first["cosine"],
        curve=curve(np.asarray(first["scores"], np.float32), labels),
    )


def _spread(values: Sequence[float]) -> float | None:
    """Standard deviation; None for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def curve(scores: Floats, labels: NDArray[np.int8]) -> dict[str, list[float]]:
    """Accuracy and F1 on the test pairs over the threshold."""
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, POINTS)).round(4)).tolist()
    return {
        "threshold": thresholds,
        "accuracy": [round(accuracy(scores, labels, bound), 4) for bound in thresholds],
        "f1": [round(f1(scores, labels, bound), 4) for bound in thresholds],
    }


def place_of(cell: Any) -> dict[str, Any]:
    """Where a cell stands in paper 2's tables, by its encoder, its start and what was done from there.

    The mean of several seeds' weights has a place of its own.
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
    """For each encoder and pooling its strategies from the best to the worst, each with the next one."""
    places: dict[tuple[str, str], dict[str, Floats]] = {}
    for result in results:
        if result["outcomes"]:
            place = place_of(result)
            group = places.setdefault((place["encoder"], place["pooling"]), {})
            group[place["strategy"]] = right(result, labels)
    found = []
    for (encoder, pooling), strategies in places.items():
        ranked = sorted(strategies, key=lambda name: -float(strategies[name].mean()))
        for first, second in pairwise(ranked):
            ahead = strategies[first] - strategies[second]
            share = float((counts @ ahead > 0).mean())
            found.append(Order(encoder, pooling, first, second, round(float(ahead.mean()), 4), round(share, 3)))
    return found


def winner(results: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The result of the best encoder of single sentences, by what it does on validation pairs: its best seed, or mean."""

    def validation(result: dict[str, Any]) -> float:
        return max(float(one["validation"]) for one in [*result["outcomes"], result["mean"]] if one)

    alone = [result for result in results if result["outcomes"] and result["strategy"] != "pair"]
    return max(alone, key=validation, default=None)


def table_4(labels: NDArray[np.int8], counts: Floats, data: str) -> list[Cell]:
    """Table 4 as far as it was made from these pairs: a cell for each combination, named also by what was trained."""
    cells = []
    for found in map(read_json, sorted(TABLE_4.glob("*.json"))):
        if found["data"] == data:
            trained = "the heads alone" if found["frozen"] else "the encoder too"
            for one in Combination:
                outcomes = found["combinations"].get(one.value, [])
                result = {**found, "strategy": f"{one.value}, {trained}", "outcomes": outcomes}
                cells.append(cell_of(result, labels, counts))
    return cells


def rows_of(cell: Cell, dataset: str, pairs: int, table: str = "") -> list[Result]:
    """A cell as rows of results.csv."""
    place = f"{cell.encoder} {cell.pooling}", dataset, "test", cell.strategy
    if cell.absent:
        reason = Undefined(cell.absent)
        return [Result(*place, name, reason, 0, "2", table) for name in ("accuracy", "f1")]
    of = {"accuracy": (cell.accuracy, cell.spread), "f1": (cell.f1, cell.f1_spread), "seconds": (cell.seconds, None)}
    return [
        Result(*place, name, value, pairs, "2", table, seeds=cell.seeds, spread=spread)
        for name, (value, spread) in of.items()
    ]
