"""Every figure of a sentence is that of the table it comes from, in reports/runs.

Tables of the documentation are generated (docsite). docsite/quoted.py says how figures in sentences are compared.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from docsite.kept import ROOT
from docsite.quoted import KINDS, Quotation, in_paragraph, is_kept, listed, quotations, sources
from tests.docsite.sentences import others, paper1, paper2, paper3
from tests.docsite.sentences.spoken import Sentence

SENTENCES: dict[str, Sentence] = {
    **paper1.sentences(),
    **paper2.sentences(),
    **paper3.sentences(),
    **others.sentences(),
}
PAGES = sources()


@functools.cache
def text() -> str:
    """Return every page, and every module that has such figures."""
    names = [page for page in PAGES if page.endswith(".md") or any(quotations(page))]
    return "\n".join((ROOT / name).read_text(encoding="utf-8") for name in names)


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_sentences(name: str) -> None:
    pattern, expected = SENTENCES[name]
    found = re.search(pattern, text(), re.DOTALL)
    assert found, pattern
    assert [group.strip("*") for group in found.groups()] == expected


@functools.cache
def compared(paragraph: str) -> Counter[str]:
    """Return the figures of a paragraph that sentences compare."""
    matches = (re.search(pattern, paragraph, re.DOTALL) for pattern, _ in SENTENCES.values())
    return Counter(group.strip("*") for match in matches if match for group in match.groups())


def unaccounted(page: str) -> Iterator[Quotation]:
    """Yield the quotations that no kept row, no sentence above and no line of reports/quoted.csv has."""
    known = {row["figures"] for row in listed() if row["page"] == page}
    for quotation in quotations(page):
        if str(quotation) in known or is_kept(quotation):
            continue
        left = compared(quotation.paragraph)
        if all(left[figure] for figure in quotation.figures):
            left.subtract(quotation.figures)
        else:
            yield quotation


def test_every_figure_in_a_sentence_is_accounted_for() -> None:
    left = [f"{page}: {each} in '{each.paragraph[:60]}…'" for page in PAGES for each in unaccounted(page)]
    assert left == [], "compare it by a sentence of tests/docsite/sentences, or list it in reports/quoted.csv"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("0.56 [0.39, 0.72]", True),  # L3 on SICK-R at 0.5, in the paper's order
        ("0.56 [0.39, 0.73]", False),
        ("−0.56 [0.39, 0.72]", False),
        ("87.96 ± 0.02", True),
        ("87.96 ± 0.03", False),
        ("82.22 / 81.93", True),
        ("82.22 / 79.06", False),  # both are kept, but of two systems
        ("82.22", False),
    ],
)
def test_figures_that_belong_together_are_looked_up(said: str, kept: bool) -> None:
    (quotation,) = in_paragraph("docs/levers.md", f"It has {said} there.")
    assert str(quotation) == said
    assert is_kept(quotation) == kept


def test_every_listed_figure_is_on_its_page() -> None:
    shown = {(each.page, str(each)) for page in PAGES for each in quotations(page) if not is_kept(each)}
    rows = listed()
    assert [row for row in rows if (row["page"], row["figures"]) not in shown] == []
    assert {row["kind"] for row in rows} <= set(KINDS)
    assert all(row["about"] for row in rows)
    assert len({(row["page"], row["figures"]) for row in rows}) == len(rows)
