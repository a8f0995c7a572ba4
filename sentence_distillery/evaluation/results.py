"""A table of figures, such as results.csv: one row for each figure, the same columns for every experiment."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from sentence_distillery.benchmarks.metrics import Figure
from sentence_distillery.evaluation.aliases import current_row
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.unavailable import Unavailable, to_text


@dataclass(frozen=True)
class Result:
    """A figure: correlations and rates as fractions, MAE in units of a 0-5 scale, speed in sentences a second.

    `published` is the paper's own figure for the same system and protocol; `n` is the number of pairs or sentences
    behind the value; `spread` is the standard deviation over `seeds` runs, if there are several.
    """

    system: str
    dataset: str
    split: str
    protocol: str
    metric: str
    value: Figure
    n: int
    paper: str = ""
    table: str = ""
    published: float | None = None
    seeds: int = 1
    spread: float | None = None


COLUMNS = ["paper", "table", "system", "dataset", "split", "protocol", "metric", "value", "published", "n", "seeds"]
COLUMNS += ["spread"]
assert set(COLUMNS) == {field.name for field in fields(Result)}


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write the rows in the order given, fractions with four digits."""
    write_rows(path, map(as_row, results))


def write_rows(path: Path, rows: Iterable[Mapping[str, str]], comment: str = "") -> None:
    """Write rows that are text already, below a comment if one is given."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def as_row(result: Result) -> dict[str, str]:
    """Return a figure as text, as a row of the file has it."""
    return {field.name: _text(getattr(result, field.name)) for field in fields(result)}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Unavailable):
        return to_text(value)
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def read_results(path: Path, may_be_empty: bool = False) -> list[dict[str, str]]:
    """Read the rows of a table of figures as text, former names of systems and sets under today's.

    Args:
        path: A CSV file with the columns COLUMNS, in any order; lines that start with # are comments.
        may_be_empty: Whether a table without rows is right.

    Returns:
        A mapping from column to text for each row.

    Raises:
        InputError: If the file cannot be read, lacks a column, has others, or has no rows.
    """
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}. It is a table of figures, which a run or a checkout of git has."
        ) from error
    reader = csv.DictReader(lines)
    rows = list(reader)
    if set(reader.fieldnames or ()) != set(COLUMNS):
        raise InputError(
            f"{path} does not have the columns {', '.join(COLUMNS)}; make it anew, or restore it from git."
        )
    if not (rows or may_be_empty):
        raise InputError(f"{path} has no rows, so there is no figure to show; make it anew.")
    return list(map(current_row, rows))
