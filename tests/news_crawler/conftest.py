"""A crawl of the test site as a user starts it: `python -m stages.corpus.crawl` in a workspace, in its own process."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from sentence_distillery.corpus.schema import DROPPED_FILE
from sentence_distillery.corpus.text import tokenize
from stages import paths
from tests.news_crawler.site import Asked, Site, newspaper
from tests.waiting import LIMIT
from tests.workspace import ROOT, write_params

with warnings.catch_warnings():
    # It asks urllib3 for SOCKS, which warns that there is none; pytest would turn that into an error.
    warnings.simplefilter("ignore")
    importlib.import_module("trafilatura")

# High enough for a short test; the test checks that the server never gets more.
REQUESTS_PER_SECOND = 50.0
TIMEOUT = 10.0  # only a page that hangs takes that long, even on a busy machine

Row = dict[str, Any]


class Crawl:
    """The crawl stage in a separate directory, on a site."""

    def __init__(self, directory: Path, site: Site) -> None:
        self.directory = directory
        self.site = site
        self.web: dict[str, Any] = {
            "contact": "tests@example.org",
            "sites": self.newspaper() if "archive" in site.addresses else [],
            "requests_per_second": REQUESTS_PER_SECOND,
            "timeout_seconds": TIMEOUT,
            "retries": 1,
            "page_megabytes": 2.0,
            "extraction_seconds": LIMIT,
            "private_hosts": [site.host(name) for name in site.addresses if name != "other"],
        }

    def newspaper(self) -> list[dict[str, Any]]:
        """One site by its front page, one by its sitemaps and feeds."""
        feeds = [self.site.url(path, "archive") for path in ("/rss.xml", "/atom.xml")]
        sitemaps = [self.site.url("/sitemap.xml", "archive")]
        return [
            self.named("news", sections=[self.site.url("/")]),
            self.named("archive", sitemaps=sitemaps, feeds=feeds),
        ]

    def named(self, host: str, **starts: list[str]) -> dict[str, Any]:
        """A site of the parameters on one of the test site's hosts."""
        nothing: dict[str, Any] = {"sections": [], "sitemaps": [], "feeds": [], "articles": None}
        return {"name": host, "hosts": [self.site.host(host)]} | nothing | starts

    def start(self) -> subprocess.Popen[str]:
        write_params(self.directory / "params.yaml", crawl={"source": "web"}, web=self.web)
        command = [sys.executable, "-W", "error", "-m", "stages.corpus.crawl"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command, cwd=self.directory, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, status: int = 0) -> str:
        """Run to the end, check the exit status, return the standard error."""
        process = self.start()
        try:
            errors = process.communicate(timeout=LIMIT)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert process.returncode == status, errors
        return errors

    def run_until(self, requests: int, seconds: float) -> bool:
        """Kill the crawl by SIGKILL so many requests and seconds later; whether it was still running then."""
        wanted = len(self.site.log) + requests
        process = self.start()
        while process.poll() is None and len(self.site.log) < wanted:
            time.sleep(0.002)
        time.sleep(seconds)
        killed = process.poll() is None
        process.kill()  # only the crawl: its children have to notice
        errors = process.communicate()[1]
        assert killed or process.returncode == 0, errors
        return killed

    def articles(self) -> dict[str, Row]:
        rows = [
            row
            for path in sorted((self.directory / paths.ARTICLES).glob("part-*.parquet"))
            for row in pq.read_table(path).to_pylist()
        ]
        assert len({row["url"] for row in rows}) == len(rows)
        return {row["url"]: row for row in rows}

    def dropped(self) -> dict[str, Row]:
        rows = pq.read_table(self.directory / paths.ARTICLES / DROPPED_FILE).to_pylist()
        assert len({row["url"] for row in rows}) == len(rows)
        return {row["url"]: row for row in rows}

    def reason(self, path: str, host: str = "news") -> str:
        return str(self.dropped()[self.site.url(path, host)]["reason"])

    def counters(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "reports/counters/crawl.json").read_text())
        return found


@pytest.fixture
def site() -> Iterator[Site]:
    """A site without pages."""
    with Site().serving() as site:
        yield site


@pytest.fixture
def crawl(tmp_path: Path, site: Site) -> Crawl:
    return Crawl(tmp_path, site)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """Crawl the entire newspaper once."""
    with Site(120).serving() as site:
        newspaper(site)
        crawl = Crawl(tmp_path_factory.mktemp("newspaper"), site)
        crawl.run()
        yield crawl


def assert_polite(asked: list[Asked], requests_per_second: float) -> None:
    """Check that no two requests are closer than the limit allows, so that no period of a second has more."""
    times = sorted(request.when for request in asked)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 1 / requests_per_second


def archived_once(crawl: Crawl) -> set[str]:
    """Check that every WARC file is complete, although a kill may have cut it off, and that no page is there twice."""
    urls: Counter[str] = Counter()
    for path in (crawl.directory / paths.CRAWL_STATE / "warc").glob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                urls[record.rec_headers.get_header("WARC-Target-URI")] += record.rec_type != "warcinfo"
    assert set(urls.values()) <= {0, 1}
    return set(urls)


def word_f1(found: str, known: str) -> float:
    """Harmonic mean of precision and recall over words, each counted as often as it occurs."""
    left, right = Counter(tokenize(found)), Counter(tokenize(known))
    return 2 * (left & right).total() / max(left.total() + right.total(), 1)
