"""Keep the figures of a full run, and show saved runs as Markdown tables.

results, other seeds   ->  a table of the run       command, date and machine in its first line
a saved run            ->  a Markdown table
a matrix of cells      ->  <sets>.csv in a directory, with the cells that earlier runs made, also of more sets or
                           seeds; paper 2's curves and orders in a .json of the same name
"""

import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.evaluation.seed_spread import over_seeds
from sentence_distillery.io.artifacts import read_json, write_json
from sentence_distillery.reporting.contents import Paraphrase, SavedMatrix
from sentence_distillery.reporting.tables import ORDER, TITLES
from sentence_distillery.runtime.machine import cores

NO_SEEDS = {"seeds": 0}
BESIDE = " | "  # between the runs that a matrix comes from, the latest first


def machine() -> str:
    """Describe cores, memory and processor, without the machine's name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores()} cores, {memory:.0f} GiB, {platform.machine()}"


def keep_run(results: Sequence[Path], seeds: Sequence[Path], target: Path, command: str, date: str) -> None:
    """Keep the figures of a run in `target`, the means over seeds last; `date` is as 2026-11-21."""
    rows = [row for path in results for row in read_results(path)]
    means = over_seeds(rows, [read_results(path) for path in seeds])
    write_results(target, [*rows, *means], comment=f"{command}; {date}; {machine()}")


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


def table(run: Path) -> list[str]:
    """Show a run as a Markdown table: each system's own mean on each test set, and its speed."""
    rows = read_results(run)
    figures = {
        (row.system, row.dataset, row.metric): row.number
        for row in rows
        if row.split != "dev" and row.protocol in ("mean", "encode") and row.seeds == 1
    }
    sets = [name for name in ORDER if any(key[1:] == (name, "pearson") for key in figures)]
    head = ["system", *(f"{TITLES[name]} test Pearson / Spearman" for name in sets), "sentences/s"]
    lines = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    for system in dict.fromkeys(row.system for row in rows):
        cells = [
            f"{_hundred(figures[system, name, 'pearson'])} / {_hundred(figures[system, name, 'spearman'])}"
            for name in sets
        ]
        speed = figures.get((system, "corpus", "sentences_per_second"))
        rate = "–" if speed is None else f"{speed:,.0f}"
        lines.append(f"| {' | '.join([system, *cells, rate])} |")
    return lines


def _hundred(value: float | None) -> str:
    """Show a fraction as a figure of 100, a missing one as a dash."""
    return "–" if value is None else f"{100 * value:.1f}"


def comment_of(run: Path) -> str:
    """Return the first line of a saved run: its command, date and machine."""
    read_results(run)
    return run.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
