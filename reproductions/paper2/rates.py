"""The learning rates that paper 2 leaves open, searched on the validation pairs (rate_search.py).

Each rate trains a model of a cell, with the settings of `metric_learning` and one seed. The highest accuracy on the
validation pairs chooses; of equals the lower rate. Only the model that is chosen is scored on the test pairs.
A rate at which the loss is not finite has no figure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproductions.paper2.cell import PairCell
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting.tables import Figure, Table, figure, metric, unique

RATE = "learning rate {:g}"  # the protocol of a row
DIVERGED = Unavailable("the loss was not finite")


@dataclass(frozen=True)
class Tried:
    """A rate, and its results: the accuracy on the validation pairs, and the model's figures on the test pairs."""

    rate: float
    validation: float | Unavailable
    figures: dict[str, float]
    right: Any = None  # which test pairs it decided as people did, (pairs,)


def best(each: Sequence[Tried]) -> Tried | None:
    """Return the rate of the highest validation accuracy, the lowest of equals; None if every loss was not finite."""
    known = [one for one in each if not isinstance(one.validation, Unavailable)]
    return max(known, key=lambda one: (one.validation, -one.rate), default=None)


def rows(cell: PairCell, dataset: str, each: Sequence[Tried], pairs: tuple[int, int]) -> Iterator[Result]:
    """Yield the validation accuracy of every rate, and the figures of the best one on the test pairs.

    Args:
        cell: The place of the models in paper 2's tables.
        dataset: The set of pairs.
        each: The rates.
        pairs: The number of validation and of test pairs.
    """
    for one in sorted(each, key=lambda one: one.rate):
        yield _row(cell, dataset, "validation", one, "accuracy", pairs[0])
    if chosen := best(each):
        low, high, _ = bootstrap.interval(bootstrap.means(chosen.right.astype(np.float32), bootstrap.counts(pairs[1])))
        yield replace(_row(cell, dataset, "test", chosen, "accuracy", pairs[1]), low=low, high=high)
        yield _row(cell, dataset, "test", chosen, "f1", pairs[1])


def _row(cell: PairCell, dataset: str, split: str, one: Tried, metric: str, count: int) -> Result:
    value = one.validation if split == "validation" else one.figures[metric]
    where = (f"{cell.encoder} {cell.pooling}", dataset, split, RATE.format(one.rate), metric)
    return Result(*where, value, count, seeds=1, paper="2", **cell.content())


def merged(kept: Sequence[Result], found: Sequence[Result]) -> list[Result]:
    """Return the saved rows of other cells and those found now."""
    cells = {_cell(row) for row in found}
    return [*(row for row in kept if _cell(row) not in cells), *found]


def _cell(row: Result) -> tuple[str, str, str, str]:
    return row.encoder, row.pooling, row.start, row.strategy


def table(rows: Sequence[Result]) -> Table | None:
    """Show every rate with its validation accuracy, and the test figures of the chosen one; None without rows."""
    if not rows:
        return None
    shown = [("validation", "accuracy"), ("test", "accuracy"), ("test", "f1")]
    blocks = []
    for cell in dict.fromkeys(map(_cell, rows)):
        own = {(row.protocol, row.split, row.metric): row for row in rows if _cell(row) == cell}
        lines = [
            (rate, [[figure(own[rate, *where]) if (rate, *where) in own else Figure("")] for where in shown])
            for rate in unique(protocol for protocol, _, _ in own)
        ]
        encoder, pooling, _, strategy = cell
        blocks.append((f"{encoder} {pooling.upper()}, {strategy}", lines))
    groups = [(split.capitalize(), [metric(name)]) for split, name in shown]
    size = f"{rows[0].n:,} validation pairs choose; test figures of the chosen rate"
    notes = unique(figure(row).note for row in rows if row.number is None)
    return Table("Learning rates that were tried", size, groups, blocks, notes, "Rate")
