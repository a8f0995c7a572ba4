"""Keep the figures of a full run, and show kept runs as Markdown tables.

    results, other seeds   ->  a table of the run       command, date and machine in its first line
    kept runs              ->  the results in a README
    a matrix of cells      ->  <sets>.csv in a directory, with the cells that earlier runs made, also of more sets or
                               seeds; paper 2's intervals, curves and orders in a .json of the same name, paper 3's
                               gains with their intervals in gains.json

Kept files are read under today's names of systems and sets, even if they have former names.
"""

import math
import os
import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sentence_distillery.evaluation.aliases import current, current_content
from sentence_distillery.evaluation.results import as_row, read_results, write_rows
from sentence_distillery.evaluation.seed_spread import over_seeds
from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.io.unavailable import from_json, from_text
from sentence_distillery.runtime.machine import cores

Rows = list[dict[str, str]]

GAINS = "gains.json"  # of paper 3, in the directory of its kept grids
BESIDE = " | "  # between the runs that a matrix comes from, the latest first
BEGIN, END = "<!-- results: made by `make publish` -->", "<!-- end of results -->"
DATASETS = {"stsb": "STS-B test", "sick": "SICK-R test", "lee": "Lee-50"}


def machine() -> str:
    """Describe cores, memory and processor, without the machine's name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores()} cores, {memory:.0f} GiB, {platform.machine()}"


def keep_run(results: Path, seeds: Sequence[Path], target: Path, command: str, date: str) -> None:
    """Keep the figures of a run, the means over seeds last.

    Args:
        results: The run's table of figures.
        seeds: The tables of other seeds.
        target: The file to write.
        command: The command of the run.
        date: The day of the run, as 2026-11-21.

    Raises:
        InputError: If a file is not such a table.
    """
    rows = read_results(results)
    means = map(as_row, over_seeds(rows, [read_results(path) for path in seeds]))
    write_rows(target, [*rows, *means], comment=f"{command}; {date}; {machine()}")


def keep_matrix(source: Path, directory: Path, command: str, date: str) -> Path:
    """Keep the cells of a matrix together with those of earlier runs.

    Args:
        source: The table of this run's cells.
        directory: Where the matrices of this kind are kept.
        command: The command of the run.
        date: The day of the run, as 2026-11-21.

    Returns:
        The file that was written: that of earlier runs with these sets, or a new one.

    Raises:
        InputError: If a file is not such a table.
    """
    rows = read_results(source)
    target = _target(directory, {Path(row["dataset"]).name for row in rows})
    runs = [f"{command}; {date}; {machine()}"]
    if target.exists() and (earlier := earlier_figures(rows, read_results(target))):
        filled = set(map(_cell, earlier))
        rows = [*(row for row in rows if _cell(row) not in filled), *earlier]
        runs += comment_of(target).split(BESIDE)
    write_rows(target, rows, BESIDE.join(dict.fromkeys(runs)))
    return target


def _target(directory: Path, sets: set[str]) -> Path:
    """Return the file of earlier runs that has all these sets, or a new one of their names."""
    earlier = [run for run in sorted(directory.glob("*.csv")) if sets <= set(map(current, run.stem.split("-")))]
    return earlier[0] if earlier else directory / f"{'-'.join(sorted(sets))}.csv"


def earlier_figures(rows: Rows, former: Rows) -> Rows:
    """Return a former file's figures for the cells of a matrix that this run has not made, or with fewer seeds.

    They count only if this run has no figure of the same set on another number of test pairs.
    """
    made = [row for row in rows if from_text(row["value"]) is None]
    seeds, sizes = {_cell(row): int(row["seeds"]) for row in made}, {row["dataset"]: row["n"] for row in made}
    return [
        row
        for row in former
        if seeds.get(_cell(row), 0) < int(row["seeds"]) and sizes.get(row["dataset"]) in (None, row["n"])
    ]


def _cell(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("table", "system", "dataset", "split", "protocol"))


def keep_cells(source: Path, target: Path) -> None:
    """Keep the cells of paper 2's JSON with those of earlier runs on as many test pairs, like `keep_matrix`.

    The order of the strategies of an encoder and pooling is that of the last run which compared as many.
    """
    matrix = read_json(source)
    pairs, orders = matrix["pairs"]["test"], matrix["orders"]
    made = {_place(cell): cell for cell in matrix["cells"] if from_json(cell) is None}
    if target.exists() and (former := current_content(read_json(target)))["pairs"] == pairs:
        made |= {
            _place(cell): cell
            for cell in former["cells"]
            if _place(cell) not in made or made[_place(cell)]["seeds"] < cell["seeds"]
        }
        old, new = (Counter(_place(order)[:2] for order in each) for each in (former["orders"], orders))
        orders = [order for order in orders if new[_place(order)[:2]] >= old[_place(order)[:2]]]
        orders += [order for order in former["orders"] if new[_place(order)[:2]] < old[_place(order)[:2]]]
    write_json(target, {"pairs": pairs, "cells": [made[place] for place in sorted(made)], "orders": orders})


def _place(cell: dict[str, Any]) -> tuple[str, ...]:
    return cell["encoder"], cell["pooling"], cell.get("strategy", "")


def keep_gains(source: Path, target: Path) -> None:
    """Keep the gains in paper 3's JSON with those of earlier runs on as many pairs.

    If both have a gain, the new one counts, unless the former has more seeds.
    """
    gains = read_json(source)["gains"]
    former = {_gain(gain): gain for gain in current_content(read_json(target))} if target.exists() else {}
    sizes = {gain["task"]: gain["pairs"] for gain in gains}
    kept = {key: gain for key, gain in former.items() if sizes.get(gain["task"]) in (None, gain["pairs"])}
    for gain in gains:
        if gain["seeds"] >= kept.get(_gain(gain), gain)["seeds"]:
            kept[_gain(gain)] = gain
    write_json(target, [kept[key] for key in sorted(kept)])


def _gain(gain: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key of a gain, by which tables are sorted: weights by size, then learnt ones."""
    weight = gain["weight"]
    place = (math.inf, weight) if isinstance(weight, str) else (weight, "")
    return gain["encoder"], gain["task"], gain["metric"], *place


def table(run: Path) -> list[str]:
    """Show a run as a Markdown table: each system's own mean on each test set, and its speed."""
    rows = read_results(run)
    figures = {
        (row["system"], row["dataset"], row["metric"]): row["value"]
        for row in rows
        if row["split"] != "dev" and row["protocol"] in ("mean", "encode") and row["seeds"] == "1"
    }
    sets = [name for name in DATASETS if any(key[1] == name for key in figures)]
    head = ["system", *(f"{DATASETS[name]} Pearson / Spearman" for name in sets), "sentences/s"]
    lines = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    for system in dict.fromkeys(row["system"] for row in rows):
        cells = [
            f"{_hundred(figures[system, name, 'pearson'])} / {_hundred(figures[system, name, 'spearman'])}"
            for name in sets
        ]
        speed = figures[system, "corpus", "sentences_per_second"]
        rate = "–" if from_text(speed) else f"{float(speed):,.0f}"
        lines.append(f"| {' | '.join([system, *cells, rate])} |")
    return lines


def _hundred(value: str) -> str:
    """Show a fraction as a figure of 100, an undefined one as a dash."""
    return "–" if from_text(value) else f"{100 * float(value):.1f}"


def readme_with(tables: str, readme: str, path: Path) -> str:
    """Put `tables` between the marks of `readme`; raises InputError, which names `path`, if a mark is missing."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{path} lacks the marks of the results: put '{BEGIN}' and '{END}' around their place.")
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def comment_of(run: Path) -> str:
    """Return the first line of a kept run: its command, date and machine."""
    return run.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
