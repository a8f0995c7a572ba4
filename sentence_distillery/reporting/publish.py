"""Keep the figures of a full run, and show saved runs as Markdown tables.

results, other seeds   ->  a table of the run       command, date and machine in its first line
a saved run            ->  a Markdown table
"""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.evaluation.results import read_results, write_results
from sentence_distillery.evaluation.seed_spread import over_seeds
from sentence_distillery.reporting.tables import ORDER, TITLES
from sentence_distillery.runtime.machine import cores


def machine() -> str:
    """Describe cores, memory and processor, without the machine's name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores()} cores, {memory:.0f} GiB, {platform.machine()}"


def keep_run(results: Sequence[Path], seeds: Sequence[Path], target: Path, command: str, date: str) -> None:
    """Keep the figures of a run in `target`, the means over seeds last; `date` is as 2026-11-21."""
    rows = [row for path in results for row in read_results(path)]
    means = over_seeds(rows, [read_results(path) for path in seeds])
    write_results(target, [*rows, *means], comment=f"{command}; {date}; {machine()}")


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

    # Systems in the order of the run, the cheapest first.
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
