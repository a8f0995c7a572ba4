"""The figures that are saved in git, by name (reports/README.md); the pages of the documentation show them."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reproductions.saved_matrix import comment_of
from sentence_distillery.evaluation.results import Result, read_results
from sentence_distillery.io.artifacts import InputError

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "reports"


@dataclass(frozen=True)
class FigureTable:
    """A table of figures of one run; a figure is named by its system, dataset, protocol and metric."""

    about: str  # its first line: command, date and machine
    rows: Mapping[tuple[str, ...], Result]  # those of test splits and of texts without labels

    def value(self, *figure: str) -> float | None:
        """Return a figure times 100, None if the run has none."""
        row = self.rows.get(figure)
        return None if row is None or row.number is None else 100 * row.number

    def spread(self, *figure: str) -> float | None:
        """Return the standard deviation over the seeds times 100, None for one seed."""
        row = self.rows.get(figure)
        return None if row is None or row.spread is None or row.seeds < 2 else 100 * row.spread

    def interval(self, *figure: str) -> tuple[float, float] | None:
        """Return the ends of the 95 % interval times 100, None if the run has none."""
        row = self.rows.get(figure)
        return None if row is None or row.low is None or row.high is None else (100 * row.low, 100 * row.high)


@cache
def run(name: str, several_seeds: bool = False) -> FigureTable:
    """Read reports/runs/<name>.csv, such as `domains/medical`; raises InputError if it is not such a table.

    `several_seeds` takes the mean over the seeds where the table has one, and not the first training.
    """
    path = REPORTS / "runs" / f"{name}.csv"
    rows: dict[tuple[str, ...], Result] = {}
    for row in read_results(path):
        key = (row.system, row.dataset, row.protocol, row.metric)
        if row.split != "dev" and (key not in rows or (several_seeds and row.seeds > rows[key].seeds)):
            rows[key] = row
    return FigureTable(comment_of(path), rows)


@cache
def table(name: str) -> list[dict[str, str]]:
    """Read reports/<name>.csv, whose comments begin with #; raises InputError if it cannot be read."""
    return list(csv.DictReader(line for line in lines(REPORTS / f"{name}.csv") if not line.startswith("#")))


def lines(path: Path) -> list[str]:
    """Read the lines of a saved file; raises InputError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; restore it with git.") from error


@cache
def record(name: str) -> Any:
    """Read reports/<name>.json; raises InputError if it cannot be read."""
    path = REPORTS / f"{name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}; restore it with git.") from error


def size(system: str, precision: str | None = None, dimension: int | None = None) -> dict[str, str]:
    """Return a row of reports/pareto.csv; raises InputError if there is none."""
    for row in table("pareto"):
        shape = (system, precision or row["precision"], str(dimension or row["dimension"]))
        if shape == (row["system"], row["precision"], row["dimension"]):
            return row
    wanted = f"{system} {precision or ''} {dimension or ''}"
    raise InputError(f"reports/pareto.csv has no {wanted}; `make pareto` writes it.")


def published(system: str) -> dict[str, str]:
    """Return the published figures of a system: dataset/metric to value, and `megabytes`."""
    rows = [row for row in table("published") if row["system"] == system]
    if not rows:
        raise InputError(f"reports/published.csv has no {system}; add its rows, each with its source.")
    figures = {f"{row['dataset']}/{row['metric']}": row["value"] for row in rows}
    return figures | {"megabytes": rows[0]["megabytes"], "revision": rows[0]["revision"]}
