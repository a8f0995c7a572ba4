"""reports/results.csv: one row a figure, the same columns for every experiment."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sentence_distillery.benchmarks.metrics import Figure, Undefined
from sentence_distillery.io.artifacts import InputError, atomic_file

RESULTS = Path("reports/results.csv")
SEEDS = Path("reports/seeds")  # a file for each seed
PARAPHRASE = Path("reports/paraphrase.csv")
FOCUS = Path("reports/component_focus.csv")
RUNS = Path("reports/runs")  # what `make publish` has kept
GAINS = RUNS / FOCUS.stem / "gains.json"
METRICS = Path("reports/metrics.json")
EXAMPLES = Path("reports/examples.json")


@dataclass(frozen=True)
class Result:
    """A figure: correlations and rates as fractions, MAE in units of a 0-5 scale, speed in sentences a second.

    `published` is the paper's own figure for the same system and protocol; `n` is the number of pairs or sentences
    behind the value; `spread` is the standard deviation over `seeds` runs, where there are several.
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
    """Write rows that are text already, under a comment where there is one."""
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def as_row(result: Result) -> dict[str, str]:
    """A figure as text, as a row of the file has it."""
    return {name: _text(value) for name, value in asdict(result).items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):  # asdict turns Undefined into one
        return str(Undefined(**value))
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def read_results(path: Path = RESULTS, may_be_empty: bool = False) -> list[dict[str, str]]:
    """The rows as text; lines that open with # are comments. Raises InputError where columns are missing."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Run `dvc repro`.") from error
    reader = csv.DictReader(lines)
    rows = list(reader)
    if set(reader.fieldnames or ()) != set(COLUMNS) or not (rows or may_be_empty):
        raise InputError(f"{path} does not have the columns {', '.join(COLUMNS)}. Run `dvc repro`.")
    return rows
