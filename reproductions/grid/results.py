"""Read the cells of an experiment, and turn their runs into figures: means over seeds, spreads, intervals.

The paired bootstrap says how certain a figure or a difference is: the test pairs are drawn 2,000 times, with
replacement, the same ones for every cell.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from reproductions.grid.axes import Place
from reproductions.grid.cell import ABOUT, Cell, read_cell
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Figure, Unavailable

NOT_RUN = Unavailable("not run")


def read_cells(directories: Iterable[Path], data: str, counters: Counters) -> dict[str, Cell]:
    """Read the cells below some directories that were made from this data, by name; count these and the others."""
    cells = {}
    for path in (path for directory in directories for path in sorted(directory.glob(f"*/{ABOUT}"))):
        cell = read_cell(path.parent)
        if cell.data != data:
            counters.drop("made from other pairs")
            continue
        cells[cell.place.name] = cell
        counters.keep()
    return cells


def not_run(wanted: Iterable[Place], cells: dict[str, Cell], counters: Counters) -> list[Cell]:
    """Return the cells that a grid has and no directory, and count them."""
    missing = [Cell(place, NOT_RUN) for place in wanted if place.name not in cells]
    counters.drop(NOT_RUN.reason, len(missing))
    return missing


def over_runs(row: Result, values: Sequence[Figure]) -> Result:
    """Give a row the mean of one value for each run, their number and their spread; or why there is none."""
    missing = next((value for value in values if isinstance(value, Unavailable)), None)
    known = [value for value in values if not isinstance(value, Unavailable)]
    spread = float(np.std(known, ddof=1)) if len(known) > 1 and not missing else None
    return replace(row, value=missing or float(np.mean(known)), seeds=len(values), spread=spread)
