"""Write the tables and references of the documentation, from saved figures, parsers and docstrings: `make figures`.

A page asks for a table by a mark, and everything between the two marks is written:

    <!-- figures: comparison -->
    | encoder | ...
    <!-- end of figures -->

A figure in a sentence stands between such marks, too: `<!-- figure: released speed -->580,000<!-- end -->`. Such a mark
never begins a line, where Markdown would take it for a paragraph.
`--check` writes nothing, and fails if a page or the chart differs from what would be written.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from docsite.chart import chart
from docsite.saved import ROOT, record, size
from docsite.tables import multilingual, own, peers, properties, sizes
from measurements.command import refusals
from reproductions.docs.tables import levers, paper1, paper2, paper3, paper3_best, runs, strategies, targets
from sentence_distillery.io.artifacts import InputError, atomic_file

CHART = ROOT / "docs/images/quality.svg"
TABLE = re.compile(
    r"(?<!`)(<!-- figures: (?P<name>[\w -]+) -->)(?:(?!<!-- figures:).)*?(<!-- end of figures -->)", re.S
)
FIGURE = re.compile(r"(?<!`)(<!-- figure: (?P<name>[\w -]+) -->).*?(<!-- end -->)")


def pages() -> list[Path]:
    """List every page of the documentation."""
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "models/released/README.md")
    folders = (sorted((ROOT / folder).rglob("*.md")) for folder in ("docs", "reproductions"))
    return [*(ROOT / name for name in names), *chain.from_iterable(folders)]


def with_figures(text: str) -> str:
    """Return a page with its tables and figures as they are now; raises InputError if there is no such figure."""
    text = TABLE.sub(lambda mark: "\n".join([mark[1], *_named(TABLES, mark["name"]), mark[3]]), text)
    return FIGURE.sub(lambda mark: mark[1] + _named(FIGURES, mark["name"]) + mark[3], text)


def _named(known: dict[str, Callable[[], Any]], name: str) -> Any:
    if name not in known:
        raise InputError(f"A page asks for figures '{name}'; known ones are {', '.join(known)}.")
    return known[name]()


MODULES = (peers, own, sizes, properties, multilingual)
OF_PAPERS = (paper1, paper2, strategies, paper3, paper3_best, levers, runs, targets)
TABLES: dict[str, Callable[[], list[str]]] = {
    name: writer for module in (*MODULES, *OF_PAPERS) for name, writer in module.TABLES.items()
}
FIGURES: dict[str, Callable[[], str]] = {
    "released speed": partial(own.rate, "own"),
    "released megabytes": lambda: sizes.megabytes(size("released")),
    "teacher speed": partial(own.rate, "teacher"),
    **{f"scifact {system}": partial(own.scifact, system) for system in ("student", "released", "model2vec")},
    "scifact load": partial(peers.scifact, "released"),
    "scifact BM25": partial(peers.scifact, "BM25"),
    "scifact queries": own.scifact_queries,
    "peer versions": peers.versions,
    "times transformers.js": own.in_the_browser,
    "browser date": lambda: record("browser_bench")["machine"]["date"],
    "browser kilobytes": lambda: f"{record('browser_bench')['sizes']['own']['gzip'] / 1000:.0f}",
    "times model2vec": lambda: f"{record('kinds')['geometric_mean']:.0f}",
    "least times model2vec": lambda: f"{record('kinds')['smallest']:.0f}",
}


def changed() -> Iterator[tuple[Path, str]]:
    """Yield each file that differs from its figures, and its new content."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        try:
            new = with_figures(text)
        except InputError as error:
            raise InputError(f"{path.relative_to(ROOT)}: {error}") from error
        if new != text:
            yield path, new
    if not CHART.exists() or CHART.read_text(encoding="utf-8") != chart():
        yield CHART, chart()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the figures of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a page differs")
    options = parser.parse_args()
    with refusals("figures"):
        different = list(changed())
    names = ", ".join(path.relative_to(ROOT).as_posix() for path, _ in different)
    if options.check and different:
        sys.exit(f"figures: {names} differ from what `make figures` writes; run it.")
    for path, text in different:
        with atomic_file(path) as target:
            target.write_text(text, encoding="utf-8")
    print(f"figures: {names or 'nothing'} {'written' if different else 'changed'}")


if __name__ == "__main__":
    main()
