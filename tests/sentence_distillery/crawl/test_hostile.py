"""A crawl of hostile pages and sitemaps; with HOSTILE_PAGES=1000 in the environment, of many."""

import math
import os
import random
from pathlib import Path

import pytest

from sentence_distillery.crawl.robots import ruling
from tests.sentence_distillery.crawl import hostile
from tests.sentence_distillery.crawl.conftest import Crawl
from tests.sentence_distillery.crawl.site import Site

PAGES = int(os.environ.get("HOSTILE_PAGES", "60"))
SEED = int(os.environ.get("HOSTILE_SEED", "1"))
SITEMAPS = max(3, PAGES // 20)


@pytest.mark.fault(28)
def test_each_hostile_page_is_kept_or_dropped_by_reason(tmp_path: Path, site: Site) -> None:
    """The crawl ends; each page that was asked for is an article, or is dropped with a reason."""
    draw, articles = random.Random(SEED), hostile.some_stories()
    crawl = Crawl(tmp_path, site)
    pages = [f"/hostile-{number}.html" for number in range(PAGES)]
    maps = [f"/sitemap-{number}.xml" for number in range(SITEMAPS)]
    for path in pages:
        site.add(path, hostile.reply(hostile.page(draw, articles)))
    urls = [site.url(path) for path in (*maps, *pages)]
    for path in maps:
        site.add(path, hostile.reply((hostile.sitemap(draw, urls), "application/xml", "")))
    links = "".join(f'<a href="{path}">{path}</a>' for path in pages)
    site.add("/", hostile.reply((f"<html><body>{links}</body></html>".encode(), "text/html", "")))
    starts = {"sections": [site.url("/")], "sitemaps": [site.url(path) for path in maps]}
    crawl.web |= {"sites": [crawl.named("news", **starts)], "extraction_seconds": 20.0, "timeout_seconds": 20.0}
    errors = crawl.run()
    assert "Traceback" not in errors
    kept, dropped = crawl.articles(), crawl.dropped()
    for path in pages:
        url = site.url(path)
        found = url in kept or bool(dropped[url]["reason"])
        assert found, path
    assert all(row["reason"] for row in dropped.values())
    counters = crawl.counters()
    assert counters["total"] == counters["kept"] + sum(counters["dropped"].values())


@pytest.mark.fault(29)
def test_hostile_rules_give_an_answer() -> None:
    """Every robots.txt allows or forbids a page, and asks for a delay that is a number from 0 on."""
    for seed in range(20 * PAGES):
        found = ruling(200, hostile.robots(random.Random(seed)))
        assert found.allows("http://news.example/world/story.html?id=3") in (True, False)
        assert found.delay() >= 0 and not math.isnan(found.delay()), seed
