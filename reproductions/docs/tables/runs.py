"""The table of reproductions/docs/paper_1.md that has every full run."""

from collections.abc import Callable
from pathlib import Path

from docsite.saved import REPORTS
from reproductions.docs.tables.cells import NONE, one
from reproductions.saved_matrix import comment_of
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.reporting.tables import ORDER, TITLES


def runs() -> list[str]:
    """Every full run that is kept: each system on each test set."""
    lines: list[str] = []
    for path in sorted((REPORTS / "runs").glob("*.csv")):
        lines += [f"`{path.stem}` ({comment_of(path)}):", "", *table_of_run(path), ""]
    return lines[:-1]


def table_of_run(run: Path) -> list[str]:
    """Show a run as a Markdown table: each system's own mean on each test set, and its speed."""
    rows = read_results(run)
    figures = {
        (row.system, row.dataset, row.metric): row.number
        for row in rows
        if row.split != "dev" and row.protocol in ("mean", "encode") and row.seeds == 1
    }
    sets = [name for name in ORDER if any(key[1:] == (name, "pearson") for key in figures)]
    head = ["system", *(f"{TITLES[name]} test Pearson / Spearman" for name in sets), "sentences/s"]

    # Systems in the order of the run, the cheapest first.
    lines = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    for system in dict.fromkeys(row.system for row in rows):
        both = ([figures[system, name, metric] for metric in ("pearson", "spearman")] for name in sets)
        cells = [" / ".join(one(None if value is None else 100 * value) for value in pair) for pair in both]
        speed = figures.get((system, "corpus", "sentences_per_second"))
        lines.append(f"| {' | '.join([system, *cells, NONE if speed is None else f'{speed:,.0f}'])} |")
    return lines


TABLES: dict[str, Callable[[], list[str]]] = {"runs": runs}
