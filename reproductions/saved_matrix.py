"""Keep the cells of a matrix with those that earlier runs made, also of more sets or seeds.

<sets>.csv has the figures; paper 2's curves and orders are in a .json of the same name.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.io.artifacts import read_json, write_json
from sentence_distillery.io.contents import Content, Natural, Share
from sentence_distillery.runtime.machine import machine

NO_SEEDS = {"seeds": 0}
BESIDE = " | "  # between the runs that a matrix comes from, the latest first


class Place(Content):
    """A cell in JSON, as `Cell.content` has it."""

    encoder: str
    pooling: str
    start: str
    strategy: str
    seed: str | None = None


class Curve(Content):
    """Accuracy and F1 of a cell over the threshold."""

    cell: Place
    seeds: Natural
    threshold: list[float]
    accuracy: list[Share]
    f1: list[Share]

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        if not len(self.threshold) == len(self.accuracy) == len(self.f1):
            raise ValueError("threshold, accuracy and f1 differ in length")
        return self


class LeadContent(Content):
    """Two strategies, the better one first."""

    first: Place
    second: Place
    difference: float
    share: Share


class Drawn(Content):
    """The content of a saved matrix besides its figures."""

    curves: list[Curve]
    orders: list[LeadContent]


class SavedMatrix(Drawn):
    """The same, with the number of test pairs."""

    pairs: Natural


class Paraphrase(Drawn):
    """The content of paraphrase.json about a run's matrix."""

    dataset: str
    pairs: dict[Literal["train", "validation", "test"], Natural]
    removed: dict[str, Natural]
    winner: str | None


def keep_matrix(source: Path, sets: Iterable[str], directory: Path, command: str, date: str) -> Path:
    """Keep the cells of the table `source` as `keep_cells` does; raises InputError if a file is not such a table."""
    return keep_cells(read_results(source), sets, directory, command, date)


def keep_cells(rows: list[Result], sets: Iterable[str], directory: Path, command: str, date: str) -> Path:
    """Keep the cells of a matrix together with those of earlier runs, and return the file.

    Args:
        rows: This run's cells.
        sets: The benchmark sets, or directories of pairs, that the cells are trained on.
        directory: Where the matrices of this kind are saved.
        command: The command of the run.
        date: The day of the run, as 2026-11-21.
    """
    target = _target(directory, {Path(name).name for name in sets})
    runs = [f"{command}; {date}; {machine()}"]
    if target.exists() and (earlier := earlier_figures(rows, read_results(target))):
        filled = set(map(_cell, earlier))
        rows = [*(row for row in rows if _cell(row) not in filled), *earlier]
        runs += comment_of(target).split(BESIDE)
    write_results(target, rows, BESIDE.join(dict.fromkeys(runs)))
    return target


def _target(directory: Path, sets: set[str]) -> Path:
    """Return the file of earlier runs that has all these sets, or a new one of their names."""
    earlier = [run for run in sorted(directory.glob("*.csv")) if sets <= set(run.stem.split("-"))]
    return earlier[0] if earlier else directory / f"{'-'.join(sorted(sets))}.csv"


def earlier_figures(rows: Sequence[Result], former: Sequence[Result]) -> list[Result]:
    """Return a former file's figures for the cells of a matrix that this run has not made, or with fewer seeds.

    They count only if this run has no figure of the same set on another number of test pairs.
    """
    seeds = {_cell(row): row.seeds for row in rows if row.number is not None}
    sizes, former_sizes = _test_sizes(rows), _test_sizes(former)
    return [
        row
        for row in former
        if seeds.get(_cell(row), 0) < row.seeds and sizes.get(row.dataset) in (None, former_sizes.get(row.dataset))
    ]


def _test_sizes(rows: Sequence[Result]) -> dict[str, int]:
    """Return the number of test pairs of each set; other splits have as many as a cell left out of its training."""
    return {row.dataset: row.n for row in rows if row.split == "test" and row.number is not None}


def _cell(row: Result) -> tuple[object, ...]:
    return row.table, row.system, row.dataset, row.split, row.protocol, row.metric


def keep_curves(source: Path, target: Path) -> None:
    """Keep paper 2's threshold curves with those of earlier runs on as many test pairs, like `keep_matrix`.

    The order of the strategies of an encoder and pooling is that of the last run which compared as many.
    """
    matrix = read_json(source, Paraphrase)
    pairs, orders = matrix["pairs"]["test"], matrix["orders"]
    made = {_place(curve["cell"]): curve for curve in matrix["curves"]}
    if target.exists() and (former := read_json(target, SavedMatrix))["pairs"] == pairs:
        earlier = {_place(curve["cell"]): curve for curve in former["curves"]}
        made |= {
            place: curve for place, curve in earlier.items() if made.get(place, NO_SEEDS)["seeds"] < curve["seeds"]
        }
        old, new = (Counter(map(_group, each)) for each in (former["orders"], orders))
        orders = [order for order in orders if new[_group(order)] >= old[_group(order)]]
        orders += [order for order in former["orders"] if new[_group(order)] < old[_group(order)]]
    write_json(target, {"pairs": pairs, "curves": [made[place] for place in sorted(made)], "orders": orders})


def _place(cell: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(value or "") for value in cell.values())


def _group(order: dict[str, Any]) -> tuple[str, str]:
    return order["first"]["encoder"], order["first"]["pooling"]


def comment_of(run: Path) -> str:
    """Return the first line of a saved run: its command, date and machine."""
    read_results(run)
    return run.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
