"""The sizes of one student, and the cells of an encoder that has a size."""

from collections.abc import Callable

from docsite import saved
from reproductions.docs.tables.cells import NONE, grid, two
from sentence_distillery.reporting.intervals import spearman_interval

TEST_PAIRS = {"stsb": 1379, "sick": 4927}  # behind each correlation of a test split


def sizes() -> list[str]:
    """The student of `best`: every dimension in 8 bits, every precision at the full dimension."""
    names = {"own": "", "released": ", released", "released-search": ", released-search"}
    rows = [
        [row["precision"] + names[row["system"]], row["dimension"], megabytes(row), *sized("", row)[2:4]]
        for row in saved.table("pareto")
        if row["system"] in names and (row["precision"] == "int8" or row["dimension"] == "256")
    ]
    head = ["precision", "dimension", "MB", "STS-B test", "SICK-R test"]
    return [*grid(head, rows), "", "Pearson / Spearman × 100. `make pareto`."]


def sized(title: str, row: dict[str, str], search: str = NONE) -> list[str]:
    """Return a row of the table of peers, from a row of reports/pareto.csv."""
    both = ([_number(row[f"{name}/test/{metric}"]) for metric in ("pearson", "spearman")] for name in TEST_PAIRS)
    figures = (correlations(dataset, *pair) for dataset, pair in zip(TEST_PAIRS, both, strict=True))
    return [title, megabytes(row), *figures, search]


def correlations(dataset: str, pearson: float | None, spearman: float | None) -> str:
    """Show two correlations, and the interval of the second by the number of test pairs."""
    ends = None if spearman is None else spearman_interval(spearman / 100, TEST_PAIRS[dataset])
    return two(pearson, spearman) + ends_of(None if ends is None else (100 * ends[0], 100 * ends[1]))


def ends_of(ends: tuple[float, float] | None) -> str:
    """Show an interval on a line of its own."""
    return "" if ends is None else f"<br>[{ends[0]:.1f}, {ends[1]:.1f}]"


def megabytes(row: dict[str, str]) -> str:
    """Show the megabytes of an encoder."""
    value = float(row["megabytes"])
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _number(text: str | None) -> float | None:
    return float(text) if text else None


TABLES: dict[str, Callable[[], list[str]]] = {"sizes": sizes}
