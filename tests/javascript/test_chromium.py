"""The JavaScript file in Chromium: Python's vectors, progress, and what was loaded loads without a network."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from measurements.sites import served
from sentence_distillery import load
from sentence_distillery.encoder.persistence.finding import RELEASED_DIRECTORY
from tests.look import browser_needed, chromium
from tests.strings import any_strings
from tests.waiting import LIMIT

HOSTILE = 10_000
LOAD = """async ([texts, options]) => {
  const { load } = await import("./sentence-distillery.js");
  const steps = [];
  const encoder = await load("model", { ...options, progress: (loading) => steps.push(loading) });
  window.encoder = encoder;
  const vectors = encoder.encode(texts);
  const numbers = new Uint8Array(vectors.length ? vectors[0].buffer : new ArrayBuffer(0));
  const bytes = [];
  for (let start = 0; start < numbers.length; start += 2 ** 15) {
    bytes.push(String.fromCharCode(...numbers.subarray(start, start + 2 ** 15)));
  }
  return { steps, vectors: bytes.join("") };
}"""

pytestmark = [pytest.mark.browser, browser_needed]


@pytest.fixture(scope="module")
def address(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site with the file and the released model."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(library, folder)
    shutil.copytree(RELEASED_DIRECTORY, folder / "model")
    (folder / "index.html").write_text("<!doctype html><title>x</title><link rel=icon href=data:,>", encoding="utf-8")
    with served(folder) as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of the site, with an empty cache."""
    context = browser.new_context()
    made = context.new_page()
    made.set_default_timeout(LIMIT * 1000)
    made.goto(address)
    yield made
    context.close()


def test_hostile_texts(page: Page) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in any_strings(HOSTILE)]
    found = page.evaluate(LOAD, [texts, {}])
    vectors = np.frombuffer(found["vectors"].encode("latin-1"), np.float32).reshape(len(texts), -1)
    np.testing.assert_allclose(vectors, load().encode(texts), atol=1e-6)


def test_progress(page: Page) -> None:
    """The steps grow, and end with the size of the file."""
    size = (RELEASED_DIRECTORY / "model.safetensors").stat().st_size
    steps = page.evaluate(LOAD, [[], {}])["steps"]
    loaded = [step["loaded"] for step in steps]
    assert loaded == sorted(loaded) and loaded[-1] == size
    assert {step["total"] for step in steps} == {size}


def test_without_a_network(page: Page) -> None:
    """What was loaded once loads again from the cache of the browser, and not if it is told to keep nothing."""
    page.evaluate(LOAD, [[], {}])
    page.evaluate("import('./sentence-distillery.js')")
    page.context.set_offline(True)
    assert page.evaluate("encoder.encode('The storm').length") == 256
    assert len(page.evaluate(LOAD, [["The storm"], {}])["vectors"]) == 256 * 4
    with pytest.raises(Exception, match="cannot be fetched"):
        page.evaluate(LOAD, [[], {"cache": False}])


def test_a_damaged_copy_is_fetched_again(page: Page) -> None:
    page.evaluate(LOAD, [[], {}])
    damage = """async () => {
      const cache = await caches.open("sentence-distillery");
      const [key] = (await cache.keys()).filter((request) => request.url.includes("sha256"));
      await cache.put(key, new Response("damaged"));
    }"""
    page.evaluate(damage)
    assert len(page.evaluate(LOAD, [["The storm"], {}])["vectors"]) == 256 * 4
