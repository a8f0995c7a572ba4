"""The site, as `make site` builds it, in Chromium: the look of every page, and what a visitor does on "Try it"."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from javascript.try_it import passages
from measurements.sites import served
from tests.javascript.building import built
from tests.look import WIDTHS, browser_needed, chromium, faults, silent_page
from tests.workspace import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the site."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]  # --quiet hides warnings
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return place


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of the page "Try it", if there is a compiler for its script."""
    built()
    with served(site) as home:
        yield f"{home}try-it.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(params=WIDTHS)
def page(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page at a width, whose console has to stay empty, and that sends nothing."""
    sent: list[str] = []
    with silent_page(browser, width=request.param) as made:
        made.on("request", lambda asked: sent.append(asked.url) if asked.method != "GET" or "?" in asked.url else None)
        made.goto(address)
        yield made
    assert not sent


@pytest.mark.browser
@browser_needed
def test_a_visitors_way(page: Page) -> None:
    """Nothing large is loaded unasked; without a network the search goes on; the next visit loads what was kept.

    A hit leads to its section.
    """
    loaded = "performance.getEntriesByType('resource').filter((it) => it.name.includes('model/')).length"
    assert page.evaluate(loaded) == 0
    expect(page.locator("#try-texts")).to_be_hidden()
    page.get_by_role("button", name="Load the encoder").click()
    expect(page.locator("#try-state")).to_contain_text("You may cut the network now")
    page.context.set_offline(True)
    hits = page.locator("#try-hits li")
    page.locator("#try-query").press_sequentially("which teacher should I take")
    expect(hits.first.locator("a")).to_contain_text("Choose a teacher")
    expect(page.locator("#try-facts")).to_contain_text("texts, encoded in")
    page.get_by_role("radio", name="my own texts").check()
    page.locator("#try-texts").fill("A gale shut the harbour.\n<b>Shares</b> fell.\n\n")
    page.locator("#try-query").fill("storm at the port")
    expect(hits.first).to_contain_text("A gale shut the harbour.")
    expect(page.locator("#try-hits b")).to_have_count(0)
    page.locator("#try-query").fill("?!")
    expect(page.locator("#try-facts")).to_contain_text("No word of the query is in the vocabulary")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.context.set_offline(False)
    page.reload()
    expect(page.locator("#try-state")).to_contain_text("You may cut the network now")
    page.get_by_role("button", name="which teacher should I take").click()
    page.locator("#try-hits a").first.click()
    expect(page.locator("h1")).to_contain_text("Choose a teacher")


@pytest.mark.endurance
@browser_needed
def test_no_page_overflows_or_lacks_a_picture(site: Path, browser: Browser) -> None:
    """All but 404.html, whose paths are those of a server."""
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html" and "assets" not in page.parts]
    assert len(pages) >= 39
    for page, width in product(pages, WIDTHS):
        assert faults(browser, page, width) == [], (page.name, width)


def test_passages_of_the_search_index() -> None:
    """Paragraphs, items and rows with the heading above; no code, no head of a table, no row of figures."""
    first = "<p>The first paragraph is long enough to be found.</p><pre>code and more of it</pre>"
    table = """<ul><li>An item of a list, which is one passage.</li></ul>
    <table><thead><tr><th>a heading of a table that is long</th></tr></thead>
    <tr><td>a row with words enough</td><td>and &lt;more&gt;</td></tr>
    <tr><td>figures</td><td>12.3 45.6 78.9 12.3 45.6</td></tr></table>"""
    entries = [
        {"location": "x.html", "title": "Page", "text": first},
        {"location": "x.html#b", "title": "Part", "text": table},
        {"location": "changelog.html#1", "title": "One", "text": first},
    ]
    assert list(passages(entries)) == [
        ("Page", "x.html", "The first paragraph is long enough to be found."),
        ("Page › Part", "x.html#b", "An item of a list, which is one passage."),
        ("Page › Part", "x.html#b", "a row with words enough and <more>"),
    ]
