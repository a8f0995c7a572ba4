"""The crawl of the test site, article by article, request by request."""

import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.news_crawler.conftest import REQUESTS_PER_SECOND, Crawl, archived_once, assert_polite, word_f1
from tests.news_crawler.site import SECTIONS, Site, newspaper
from tests.waiting import LIMIT
from tests.workspace import ROOT


def test_every_article_once(finished: Crawl) -> None:
    """By its canonical URL, whatever led to it: sections, pages, sitemaps, feeds, redirects, session numbers."""
    found = finished.articles()
    assert set(found) == set(finished.site.articles)
    for url, article in finished.site.articles.items():
        assert found[url]["source"] == ("archive" if "/archive/" in url else "news")
        assert word_f1(found[url]["text"], article.text) > 0.9, url
        assert (found[url]["published"], found[url]["title"]) == (article.published, article.title)


def test_each_page_was_asked_for_once(finished: Crawl) -> None:
    """Except for those that failed at first."""
    times = Counter((asked.host, asked.path) for asked in finished.site.log)
    again = {path for (_, path), count in times.items() if count > 1}
    assert again == {"/world/flaky.html", "/broken.html", "/slow.html", "/cut-off.html"}


def test_no_more_requests_a_second_than_configured(finished: Crawl) -> None:
    for host in ("news", "archive"):
        assert_polite(finished.site.requests(host), REQUESTS_PER_SECOND)


@pytest.mark.fault(29)
def test_nothing_that_robots_txt_forbids(finished: Crawl) -> None:
    """The forbidden pages are linked from every section, listed with the reason, and never requested."""
    forbidden = [asked.path for asked in finished.site.log if "/private/" in asked.path or "print=" in asked.path]
    assert forbidden == []
    assert finished.site.requests("news")[0].path == "/robots.txt"


def test_the_crawler_says_who_it_is(finished: Crawl) -> None:
    agents = {asked.headers["user-agent"] for asked in finished.site.log}
    assert agents == {f"sentence-distillery/{version('sentence-distillery')} (+mailto:tests@example.org)"}


REASONS = {
    # broken pages cost themselves and nothing else
    "/bomb.html": "too large",
    "/photo": "content type: image/jpeg",
    "/huge.html": "too large",
    "/endless-stream.html": "too large",
    "/deep.html": "not HTML",
    "/slow.html": "timeout",
    "/cut-off.html": "cut off",
    "/missing.html": "HTTP 404",
    "/gone.html": "HTTP 410",
    "/broken.html": "HTTP 500",
    # redirects to another host, to a private address in any notation, to a file
    "/elsewhere": "redirect refused: private address",
    "/abroad": "redirect refused: another host",
    "/inside": "redirect refused: private address",
    "/metadata": "redirect refused: private address",
    "/decimal": "redirect refused: private address",
    "/file": "redirect refused: file address",
    "/itself": "redirect refused: to itself",
    "/endless/10": "redirect refused: too many",
    "/ping": "redirect",
    "/pong": "redirect",
    "/old/1": "redirect",
    # other pages
    "/private/world-1.html": "robots.txt forbids it",
    "/mobile/3.html": "duplicate: canonical",
    "/zz-mirror/1.html": "duplicate: text",
    "/calendar/?month=26": "too deep",
    "/loop/more/more/more/": "trap: repeated path",
    "/": "list of links",
    "/world/?page=2": "list of links",
}


@pytest.mark.fault(28, 31)
def test_pages_are_dropped_with_their_reason(finished: Crawl) -> None:
    dropped = finished.dropped()
    assert {path: dropped[finished.site.url(path)]["reason"] for path in REASONS} == REASONS
    assert finished.site.requests("other") == []  # not even for its robots.txt


def test_counters(finished: Crawl) -> None:
    """total = kept + dropped, and each dropped page is in the table."""
    counters = finished.counters()
    assert counters["kept"] == len(finished.site.articles)
    assert counters["dropped"] == dict(Counter(row["reason"] for row in finished.dropped().values()))
    robots = sum(asked.path == "/robots.txt" for asked in finished.site.log)
    assert counters["details"]["requests"] == len(finished.site.log) - robots
    assert counters["details"]["error: HTTP 503"] == 1


def test_fetched_pages_are_kept(finished: Crawl) -> None:
    """Each response is complete in a WARC file; the payload of an earlier page is only referred to."""
    assert set(finished.site.articles) <= archived_once(finished)


def test_a_finished_snapshot_is_read_again_without_the_network(finished: Crawl) -> None:
    """The same articles; with another extractor (here: another limit) they are extracted again from stored pages."""
    before, asked = finished.articles(), len(finished.site.log)
    finished.run()
    assert finished.articles() == before
    finished.web["extraction_seconds"] += 1.0
    assert "pages that an earlier run had fetched" in finished.run()
    assert finished.articles() == before
    assert len(finished.site.log) == asked


@pytest.mark.fault(31)
def test_a_name_that_resolves_to_a_private_address(site: Site, crawl: Crawl) -> None:
    """The address from DNS is checked for each connection, not only the host in the URL."""
    port = site.ports["news"]
    crawl.web["sites"] = [crawl.named("news", sections=[]) | {"hosts": [f"localhost:{port}"]}]
    crawl.web["sites"][0]["sections"] = [f"http://localhost:{port}/"]
    assert "crawl: the crawl found no article (pages by reason: {'private address': 1})" in crawl.run(status=1)
    assert site.log == []
    crawl.web["private_hosts"] = [f"localhost:{port}"]
    crawl.web["snapshot"] = "2"
    crawl.run(status=1)
    assert [asked.path for asked in site.log] == ["/robots.txt", "/"]


def test_other_sources_load_no_crawler() -> None:
    """`crawl.source: package` starts at once: Scrapy and trafilatura are imported only if they are used."""
    program = "import sys, stages.corpus.crawl; print({'scrapy', 'twisted', 'trafilatura', 'lxml'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


FEW = 24


def command_line(site: Site, directory: Path, *more: str) -> tuple[int, str]:
    """Run `sentence-distillery crawl` on a section; return its status and what it says."""
    command = [sys.executable, "-W", "error", "-m", "sentence_distillery.cli", "crawl", site.url(f"/{SECTIONS[0]}/")]
    command += ["--contact", "tests@example.org", "--output", "articles", "--requests-per-second", "100", *more]
    process = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=LIMIT)
    return process.returncode, process.stderr


@pytest.mark.fault(31)
def test_articles_of_a_site(tmp_path: Path) -> None:
    """Without --private-host nothing on this machine; then each article of a section, once, and none in a later run."""
    with Site(FEW).serving() as site:
        newspaper(site)
        status, told = command_line(site, tmp_path)
        assert status == 1 and "private" in told and site.log == []
        private = ("--private-host", site.host("news"))
        status, told = command_line(site, tmp_path, *private)
        assert status == 0, told
        table = pq.read_table(tmp_path / "articles/part-00000.parquet")
        assert f"{len(table)} articles in articles" in told
        assert len(table) == len(set(table["url"].to_pylist())) > FEW // 6
        asked = len(site.log)
        assert {entry.host for entry in site.log} == {"news"}
        assert command_line(site, tmp_path, *private)[0] == 0
        assert len(site.log) == asked
        assert pq.read_table(tmp_path / "articles/part-00000.parquet") == table
        status, told = command_line(site, tmp_path, *private, "--articles", "nothing")
        assert status == 1 and "check the URLs, --private-host, --articles and --language." in told
