"""The look of the report and of the pages on the papers, in Chromium."""

from pathlib import Path

import pytest

from stages import paths
from tests.look import WIDTHS, browser_needed, chromium, faults
from tests.reproductions import test_pages
from tests.sentence_distillery.reporting import test_report

LARGEST_PAGE = 500_000  # bytes
run, workspace = test_pages.run, test_pages.workspace


@pytest.mark.endurance
@browser_needed
def test_nothing_overlaps_or_overflows_on_a_telephone_or_a_laptop(workspace: Path) -> None:
    test_report.page()
    test_pages.paper("paper1")
    pages = sorted(paths.REPORTS.glob("*.html"))
    assert len(pages) == 4
    with chromium() as browser:
        for page in pages:
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    assert faults(browser, page.resolve(), width, scheme) == [], (page.name, width, scheme)


def test_a_page_is_light_and_has_a_dark_mode(workspace: Path) -> None:
    test_report.page()
    test_pages.paper("paper1")
    for page in paths.REPORTS.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert len(text.encode()) < LARGEST_PAGE
        assert "@media screen and (prefers-color-scheme: dark)" in text


@pytest.mark.endurance
@browser_needed
def test_a_fault_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = '<main><p>One</p><p style="margin-top: -2em">Two</p><p style="width: 3000px">Three</p></main>'
    page.write_text(f'<!doctype html><html><head><link rel="icon" href="data:,"></head><body>{text}</body></html>')
    with chromium() as browser:
        found = faults(browser, page, WIDTHS[0])
    assert any(each.startswith("wider") for each in found) and "overlap: One and Two" in found
