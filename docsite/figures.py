"""Write the tables and references of the documentation, from kept figures, parsers and docstrings: `make figures`.

A page asks for a table by a mark, and everything between the two marks is written:

    <!-- figures: comparison -->
    | encoder | ...
    <!-- end of figures -->

A figure in a sentence stands between such marks, too: `<!-- figure: released speed -->580,000<!-- end -->`. Such a mark
never begins a line, where Markdown would take it for a paragraph. `<!-- reference: NAME -->` asks for a page of
docsite.reference, or for an object of the Python interface by its dotted path.
`--check` writes nothing, and fails if a page or the chart differs from what would be written.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from docsite.chart import chart
from docsite.kept import ROOT, record, size
from docsite.python_reference import described
from docsite.reference import PAGES
from docsite.tables import (
    browser,
    levers,
    multilingual,
    own,
    paper1,
    paper2,
    paper3,
    paper3_best,
    peers,
    sizes,
    strategies,
    targets,
)
from sentence_distillery.io.artifacts import InputError, atomic_file

CHART = ROOT / "docs/images/quality.svg"
TABLE = re.compile(
    r"(?<!`)(<!-- figures: (?P<name>[\w -]+) -->)(?:(?!<!-- figures:).)*?(<!-- end of figures -->)", re.S
)
REFERENCE = re.compile(r"(?<!`)(<!-- reference: (?P<name>[\w. ]+) -->).*?(<!-- end of reference -->)", re.S)
FIGURE = re.compile(r"(?<!`)(<!-- figure: (?P<name>[\w -]+) -->).*?(<!-- end -->)")


def pages() -> Iterator[Path]:
    """Yield every page that may ask for figures."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def with_figures(text: str) -> str:
    """Return a page with its tables and figures as they are now.

    Raises:
        InputError: If the page asks for an unknown table or figure, or the figures are not there.
    """
    text = TABLE.sub(lambda mark: "\n".join([mark[1], *_named(TABLES, mark["name"])(), mark[3]]), text)
    text = REFERENCE.sub(lambda mark: f"{mark[1]}\n\n{_reference(mark['name']).strip()}\n\n{mark[3]}", text)
    return FIGURE.sub(lambda mark: mark[1] + _named(FIGURES, mark["name"])() + mark[3], text)


def _reference(name: str) -> str:
    return described(name) if "." in name else _named(PAGES, name)()


Writer = TypeVar("Writer")


def _named(known: dict[str, Writer], name: str) -> Writer:
    if name not in known:
        raise InputError(f"A page asks for figures '{name}'; known ones are {', '.join(known)}.")
    return known[name]


TABLES: dict[str, Callable[[], list[str]]] = {
    **peers.TABLES,
    **own.TABLES,
    **sizes.TABLES,
    **paper1.TABLES,
    **paper2.TABLES,
    **strategies.TABLES,
    **paper3.TABLES,
    **levers.TABLES,
    **paper3_best.TABLES,
    **browser.TABLES,
    **multilingual.TABLES,
    "targets": targets.targets,
}
FIGURES: dict[str, Callable[[], str]] = {
    "released speed": lambda: sizes.rate(size("released")),
    "released megabytes": lambda: sizes.megabytes(size("released")),
    "teacher speed": lambda: sizes.rate(size("teacher")),
    "scifact student": lambda: own.domain_figure("medical", "student", "scifact", "search", "ndcg_at_10"),
    "scifact released": lambda: own.domain_figure("medical", "released", "scifact", "search", "ndcg_at_10"),
    "scifact model2vec": lambda: own.domain_figure("medical", "model2vec", "scifact", "search", "ndcg_at_10"),
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
    drawn = chart()
    if not CHART.exists() or CHART.read_text(encoding="utf-8") != drawn:
        yield CHART, drawn


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the figures and references of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a page differs")
    options = parser.parse_args()
    try:
        different = list(changed())
    except InputError as error:
        sys.exit(f"figures: {error}")
    names = ", ".join(path.relative_to(ROOT).as_posix() for path, _ in different)
    if options.check and different:
        sys.exit(f"figures: {names} differ from what `make figures` writes; run it.")
    for path, text in different if not options.check else ():
        with atomic_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
    print(f"figures: {names or 'nothing'} {'written' if different else 'changed'}")


if __name__ == "__main__":
    main()
