"""Look at a page in Chromium, at the width of a telephone and of a laptop."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.waiting import LIMIT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (390, 1280)
browser_needed = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")

# An overflow; pictures that did not load; paragraphs, headings and tables that overlap; labels of charts that overlap,
# without turned ones, whose boxes always do.
FAULTS = """
() => {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`wider than the window: ${root.scrollWidth}`);
  for (const image of document.images) if (!image.naturalWidth) found.push(`no image: ${image.src}`);
  const boxes = (elements) => elements
    .map((element) => [element, element.getBoundingClientRect()])
    .filter(([element, box]) => box.width > 0 && box.height > 0 && element.textContent.trim());
  const overlaps = (list) => {
    for (const [place, [one, a]] of list.entries()) for (const [other, b] of list.slice(place + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const names = [one, other].map((each) => each.textContent.trim().slice(0, 30));
      if (width > 2 && height > 3) found.push(`overlap: ${names.join(" and ")}`);
    }
  };
  const content = document.querySelector("article") || document.querySelector("main");
  const blocks = content.querySelectorAll("p, li, h1, h2, h3, h4, table, figure, dl, pre");
  overlaps(boxes([...blocks].filter((each) => !each.closest("svg, details:not([open])"))));
  for (const chart of document.querySelectorAll("svg"))
    overlaps(boxes([...chart.querySelectorAll("text:not([transform*=rotate])")]));
  return found;
}
"""


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """Start the browser, and end it with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *arguments])
        yield browser
        browser.close()


@contextmanager
def silent_page(browser: Browser, *, width: int = WIDTHS[0], offline: bool = False) -> Iterator[Page]:
    """Open a page, at the width of a telephone or another; its console has to stay empty."""
    context = browser.new_context(viewport={"width": width, "height": 844}, offline=offline)
    page = context.new_page()
    page.set_default_timeout(LIMIT * 1000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert not said


def faults(browser: Browser, page: Path, width: int, scheme: str = "light") -> list[str]:
    """Return the faults of a page's look, and the messages of its console."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(page.as_uri())
    found: list[str] = opened.evaluate(FAULTS)
    context.close()
    return found + said
