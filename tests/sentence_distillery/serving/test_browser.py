"""The page in a real browser: a person's way through it, and a foreign page that tries to use the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from measurements.sites import served
from tests.look import browser_needed, silent_page

from .conftest import TEXTS, Server

pytestmark = [pytest.mark.browser, browser_needed]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with silent_page(browser) as made:
        yield made


def test_a_persons_way(page: Page, server: Server) -> None:
    """A search with a word that is cut, then the neighbours of a text, the student's beside the teacher's."""
    page.goto(server.link)
    expect(page.locator("#facts")).to_contain_text("6 texts · 256 dimensions")
    expect(page.locator("#points circle")).to_have_count(len(TEXTS))
    expect(page.locator("#map")).to_be_hidden()
    page.get_by_role("button", name="Show the map of the texts").click()
    expect(page.locator("#map-note")).to_contain_text("6 texts, placed by PCA.")
    page.get_by_role("button", name="Hide the map of the texts").click()
    expect(page.locator("#map")).to_be_hidden()
    page.locator("#examples").get_by_role("button", name=TEXTS[0]).click()
    expect(page.locator("#lists li").first).to_contain_text(TEXTS[0])
    expect(page.locator("#examples")).to_be_hidden()
    page.get_by_label("Find similar texts").fill("a storm in the port, flabbergastingly 𓀀")
    page.keyboard.press("Enter")
    expect(page.locator("#lists li").first).to_contain_text(TEXTS[0])
    expect(page.locator("#words")).to_contain_text(
        "Unknown words: 𓀀. Not in the vocabulary, read as word pieces: flabbergastingly"
    )
    expect(page.locator("#marks circle.near")).to_have_count(len(TEXTS))
    page.get_by_role("button", name=TEXTS[2]).click()
    expect(page.locator("#asked")).to_have_text(f"Texts like “{TEXTS[2]}”")
    expect(page.locator("#lists h3")).to_have_text(["Student, 5 of 5 as the teacher", "Teacher"])
    expect(page.locator("#lists ol").nth(1).locator("li").first).to_contain_text(TEXTS[3])
    expect(page.locator("#marks circle.asked")).to_have_count(1)
    expect(page.locator("#lists b")).to_have_count(0)  # a text is no HTML
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_text_without_a_known_word(page: Page, server: Server) -> None:
    page.goto(server.link)
    page.get_by_label("Find similar texts").fill("?!")
    page.keyboard.press("Enter")
    expect(page.locator("#words")).to_have_text("The query has no word.")
    expect(page.locator("#lists")).to_have_text("None: the student does not know any of its words.")


def test_the_columns_of_a_table(page: Page, table: Server) -> None:
    """They stand at each hit; an address of the web is a link, and nothing else is; a filter keeps some."""
    page.goto(table.link)
    page.get_by_label("Find similar texts").fill("a storm in the port")
    page.keyboard.press("Enter")
    hits = page.locator("#lists > div > ol > li")
    expect(hits).to_have_count(3)
    expect(hits.first.locator("dl").first).to_have_text("id000topicweatherlinkhttps://example.org/?a=1&b=<2>")
    expect(page.locator("#lists a")).to_have_count(1)
    expect(page.locator("#lists a")).to_have_attribute("href", "https://example.org/?a=1&b=<2>")
    expect(page.locator("#lists a")).to_have_attribute("rel", "noopener noreferrer")
    hits.first.get_by_text("1 nearly the same").click()
    expect(hits.first.locator("details li")).to_contain_text("the storm CLOSED the port!")
    page.get_by_label("Column").select_option("topic")
    page.get_by_label("Value", exact=True).select_option("other")
    expect(hits).to_have_count(1)
    expect(hits).to_contain_text("Shares fell in London.")
    page.get_by_label("Column").select_option("")
    expect(hits).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_link_has_the_key(page: Page, locked: Server) -> None:
    """It goes from the address to the requests, and is not left in the address."""
    page.goto(locked.link)
    expect(page.locator("#facts")).to_contain_text("6 texts")
    assert page.url == f"{locked.address}/"


def test_without_the_key(browser: Browser, locked: Server) -> None:
    page = browser.new_page()
    page.goto(locked.address)
    expect(page.locator("#problem")).to_have_text("A key is needed: Authorization: Bearer <key>.")
    page.close()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of another web site, which has an empty page."""
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title>", encoding="utf-8")

    with served(tmp_path) as site:
        yield site.replace("127.0.0.1", "localhost")


ATTACKS = """async (address) => {
  const body = JSON.stringify({ model: "released", input: "a" });
  const post = `${address}/v1/embeddings`;
  const tries = {
    read: () => fetch(`${address}/api/map`).then((answer) => answer.text()),
    json: () => fetch(post, { method: "POST", body, headers: { "Content-Type": "application/json" } }),
    blind: () => fetch(post, { method: "POST", body, mode: "no-cors" }).then((answer) => answer.type),
    image: () => new Promise((done, failed) => {
      const image = new Image();
      image.onload = done;
      image.onerror = () => failed(new Error("no image"));
      image.src = `${address}/api/map`;
    }),
    frame: () => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.onload = () => done(String(frame.contentDocument && frame.contentDocument.title));
      frame.src = `${address}/`;
      document.body.append(frame);
    }),
  };
  const results = {};
  for (const [name, attempt] of Object.entries(tries)) {
    try { results[name] = String(await attempt()); } catch (error) { results[name] = "refused"; }
  }
  return results;
}"""


def test_a_foreign_page_gets_nothing(browser: Browser, server: Server, elsewhere: str) -> None:
    """It can read nothing, and what it sends blindly is refused before it is encoded."""
    page = browser.new_page()
    statuses: dict[str, int] = {}
    page.on("response", lambda answer: statuses.update({f"{answer.request.method} {answer.url}": answer.status}))
    page.goto(elsewhere)
    results = page.evaluate(ATTACKS, server.address)
    page.close()
    assert results["read"] == results["json"] == results["image"] == "refused"
    assert results["blind"] in ("refused", "opaque")
    assert results["frame"] in ("null", "")
    reached = {place: status for place, status in statuses.items() if server.address in place}
    assert all(status == 403 for place, status in reached.items() if not place.endswith(f"{server.host}/"))
