"""The English of the pages, and their links."""

from pathlib import Path

import pytest

from docsite.prose import anchors, dead_links, mean_words, pages, paragraphs, problems, sentences
from tests.workspace import ROOT


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_is_easy_to_read_and_its_links_lead_somewhere(page: Path) -> None:
    assert list(problems(page)) == []


def test_a_turn_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docsite.prose.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("It prints what it has.\n\n`x is no code`: fine.\n", encoding="utf-8")
    assert [problem.partition("write ")[2] for problem in problems(page)] == [
        "a noun, not a clause with 'what': 'It prints what it has.…'",
        "'is not a', not 'is no': '`x is no code`: fine.…'",
    ]


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_code_tables_and_headings_are_not_prose() -> None:
    text = "# A\n\nOne\n[two](b.md).\n\n```sh\nno\n```\n\n| no |\n| - |\n\n- three\n- four\n<!-- no -->\n"
    assert list(paragraphs(text)) == ["One two.", "three", "four"]


def test_sentences_are_counted() -> None:
    assert sentences("It costs 2.5 s. Et al. 2017 say so (see `b`). So: This.") == [
        "It costs 2.5 s.",
        "Et al 2017 say so (see `b`).",
        "So:",
        "This.",
    ]
    assert mean_words("One two three. Four five.") == 2.5
    assert mean_words("# Heading") == 0.0


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# One thing\n\n## `two`: more\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text("[a](c.md) [b](b.md#one-thing) [c](b.md#three) [d](#here)\n\n# Here\n", encoding="utf-8")
    assert list(dead_links(page)) == ["c.md is not there", "b.md#three: the page has no such heading"]
    assert anchors((tmp_path / "b.md").read_text()) == {"one-thing", "two-more"}
