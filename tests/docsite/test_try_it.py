"""The page "Try it" in Chromium, served as a site: loading, search as one types, the network cut, own texts."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from docsite.try_it import passages
from measurements.sites import served
from tests.javascript.building import built
from tests.look import WIDTHS, browser_needed, chromium
from tests.waiting import LIMIT
from tests.workspace import ROOT


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, which is built as `make site` builds it."""
    built()
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    with served(place) as site:
        yield f"{site}try-it.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(params=WIDTHS)
def page(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page at a width, whose console has to stay empty, and that sends nothing."""
    context = browser.new_context(viewport={"width": request.param, "height": 900})
    made = context.new_page()
    made.set_default_timeout(LIMIT * 1000)
    said: list[str] = []
    made.on("console", lambda message: said.append(message.text))
    made.on("pageerror", lambda error: said.append(str(error)))
    made.on("request", lambda sent: said.append(sent.url) if sent.method != "GET" or "?" in sent.url else None)
    made.goto(address)
    yield made
    context.close()
    assert not said


@pytest.mark.browser
@browser_needed
def test_a_visitors_way(page: Page) -> None:
    """Nothing large is loaded unasked; without a network the search goes on; the next visit loads what was kept."""
    assert (
        page.evaluate("performance.getEntriesByType('resource').filter((it) => it.name.includes('model/')).length") == 0
    )
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


@pytest.mark.browser
@browser_needed
def test_links_lead_to_sections(page: Page) -> None:
    page.get_by_role("button", name="Load the encoder").click()
    page.get_by_role("button", name="which teacher should I take").click()
    page.locator("#try-hits a").first.click()
    expect(page.locator("h1")).to_contain_text("Choose a teacher")


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
