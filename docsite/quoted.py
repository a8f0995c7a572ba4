"""The figures in the sentences of the pages, to be compared with the tables that they come from.

A quotation is one figure or several that belong together, each with at least one decimal:

    0.56 [0.39, 0.72]    an interval: a kept row has this value and these ends
    87.96 ± 0.02         a spread: a kept row has this value and this standard deviation
    88.04 / 82.16        a pair: two kept rows of one system on one set have these values
    89.54                a number

A number alone says too little to be looked up among thousands. Those and all other quotations that no kept row has are
compared by a sentence of tests/docsite/sentences, or stand in reports/quoted.csv:

    page                       figures        kind       about
    docs/papers_2_and_3.md     0.005          setting    a learning rate
    docs/papers_2_and_3.md     90.90 / 90.81  recorded   STS-B dev, two mpnets

The kind is `setting` (parameters, versions, dates), `published` (by others; about says by whom) or `recorded`: the run
has left no file here, so that nothing can be compared.

Of the docstrings, those paragraphs count that name a set of BENCHMARKS.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from docsite.kept import REPORTS, ROOT, table
from docsite.prose import pages, paragraphs
from sentence_distillery.evaluation.results import Result, read_results

KINDS = ("setting", "published", "recorded")
NUMBER = r"[−+-]?\d+\.\d+"
SHAPES = {
    "interval": re.compile(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]"),
    "spread": re.compile(rf"({NUMBER}) ± ({NUMBER})"),
    "pair": re.compile(rf"({NUMBER}) / ({NUMBER})"),
    "number": re.compile(rf"(?<![\w.])({NUMBER})(?![\w.]*\d)"),
}
GENERATED = re.compile(r"<!-- figures: .*?<!-- end of figures -->|<!-- figure: .*?<!-- end -->", re.S)
CODE_WITH_FIGURES = ("sentence_distillery", "stages", "flows", "prefect_dvc", "benchmarks")
BENCHMARKS = re.compile(r"\b(STS-B|SICK|MRPC|IMDB|Banking77|SciFact|NFCorpus|TREC|EWT|WikiQA)\b")
CODE = re.compile(r"`[^`]*`|https?://\S+")
NOT_RESULTS = ("earlier/pair_cost.csv", "sizes/banking77.csv")  # tables of other columns


@dataclass(frozen=True)
class Quotation:
    """Figures that a sentence shows: the page, the paragraph, which of SHAPES they have, and the figures."""

    page: str
    paragraph: str
    shape: str
    figures: tuple[str, ...]

    def __str__(self) -> str:
        first, *others = self.figures
        joined = {"interval": "{} [{}, {}]", "spread": "{} ± {}", "pair": "{} / {}", "number": "{}"}[self.shape]
        return joined.format(first, *others)


def sources() -> list[str]:
    """Return the pages, and the modules whose docstrings may have figures."""
    modules = (path for folder in CODE_WITH_FIGURES for path in (ROOT / folder).rglob("*.py"))
    return [path.relative_to(ROOT).as_posix() for path in [*pages(), *sorted(modules)]]


def _paragraphs(source: str) -> Iterator[str]:
    text = (ROOT / source).read_text(encoding="utf-8")
    if not source.endswith(".py"):
        yield from paragraphs(GENERATED.sub("", text))
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield from filter(BENCHMARKS.search, paragraphs(ast.get_docstring(node) or ""))


def quotations(page: str) -> Iterator[Quotation]:
    """Yield the quotations of a page or a module outside of generated tables and code."""
    for paragraph in _paragraphs(page):
        yield from in_paragraph(page, paragraph)


def in_paragraph(page: str, paragraph: str) -> Iterator[Quotation]:
    """Yield the quotations of a paragraph.

    >>> [str(each) for each in in_paragraph("a.md", "From `0.1` on it gains +0.5 [0.1, 0.9], to 88.1 / 82.0.")]
    ['0.5 [0.1, 0.9]', '88.1 / 82.0']
    """
    left = CODE.sub("", paragraph)
    for shape, pattern in SHAPES.items():
        for found in pattern.finditer(left):
            yield Quotation(page, paragraph, shape, tuple(figure.lstrip("+") for figure in found.groups()))
        left = pattern.sub("#", left)


@cache
def is_kept(quotation: Quotation) -> bool:
    """Tell whether kept rows have an interval, a spread or a pair; of a number alone nobody can tell."""
    if quotation.shape == "number":
        return False
    return any(
        all(_rounds_to(value, figure) for value, figure in zip(kept, quotation.figures, strict=True))
        for kept in _kept()[quotation.shape]
    )


def _rounds_to(value: float, figure: str) -> bool:
    """Tell whether a fraction, shown in points, rounds to a figure."""
    digits = len(figure.partition(".")[2])
    return bool(abs(100 * value - float(figure.replace("−", "-"))) <= 0.5 * 10**-digits + 1e-9)


@cache
def _kept() -> dict[str, list[tuple[float, ...]]]:
    """Return the intervals, spreads and pairs of every table of reports/runs."""
    kept: dict[str, list[tuple[float, ...]]] = {"interval": [], "spread": [], "pair": []}
    runs = REPORTS / "runs"
    for path in sorted(set(runs.rglob("*.csv")) - {runs / name for name in NOT_RESULTS}):
        cells: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for row in read_results(path):
            if row.number is None:
                continue
            cells[_cell(row)].append(row.number)
            if row.low is not None and row.high is not None:
                kept["interval"].append((row.number, row.low, row.high))
            if row.spread is not None:
                kept["spread"].append((row.number, row.spread))
        kept["pair"] += [pair for values in cells.values() for pair in combinations(values, 2)]
    return kept


def _cell(row: Result) -> tuple[object, ...]:
    """Return what two figures of a pair have in common."""
    place = (row.system, row.encoder, row.pooling, row.strategy, row.start, row.weight, row.seed, row.seeds)
    return (*place, row.dataset, row.split, row.protocol)


def listed() -> list[dict[str, str]]:
    """Return the rows of reports/quoted.csv."""
    return table("quoted")
