"""robots.txt: one host for each case of RFC 9309, all crawled at once; and cases that need no server."""

import gzip
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from news_crawler.robots import LARGEST, LONGEST_CACHED, Robots, Ruling, decode, ruling
from tests.news_crawler.conftest import Crawl, assert_polite
from tests.news_crawler.layouts import render
from tests.news_crawler.site import Reply, Site, hang, page, stories

TEXT = {"Content-Type": "text/plain"}
RULES = b"User-agent: *\nDisallow: /forbidden.html\n"
HTTP_CASES = {"missing": 404, "failing": 500, "hurried": 429}
CASES = [
    *HTTP_CASES,
    *("silent", "hops5", "hops11", "inward", "abroad", "large", "latin", "html", "ours", "slowly", "packed"),
]
ADDRESSES = {name: f"127.0.1.{number}" for number, name in enumerate(CASES, start=1)}
UNREACHABLE = "robots.txt unreachable"


def _redirects(site: Site, host: str, count: int) -> None:
    names = ["/robots.txt", *(f"/hop{hop}" for hop in range(1, count)), "/rules"]
    for here, there in pairwise(names):
        site.add(here, Reply(b"", 302, {"Location": there}), host)
    site.add("/rules", Reply(RULES, 200, TEXT), host)


def _fill(site: Site) -> None:
    """Give each host its own robots.txt, a page that this forbids, and one that it allows."""
    for host in CASES:
        for path, article in zip(("/forbidden.html", "/allowed.html"), stories()[:2], strict=True):
            site.add(path, page(render(article)), host)
        site.add("/", page('<a href="/forbidden.html">1</a><a href="/allowed.html">2</a>'), host)
    for host, status in HTTP_CASES.items():
        site.add("/robots.txt", Reply(RULES, status, TEXT), host)
    site.add("/robots.txt", Reply(write=hang), "silent")
    _redirects(site, "hops5", 5)
    _redirects(site, "hops11", 11)
    site.add("/robots.txt", Reply(b"", 301, {"Location": "http://10.1.2.3/robots.txt"}), "inward")
    site.add("/robots.txt", Reply(b"", 301, {"Location": site.url("/robots-of-abroad.txt", "ours")}), "abroad")
    site.add("/robots-of-abroad.txt", Reply(RULES, 200, TEXT), "ours")
    comments = b"# nothing\n" * (LARGEST // 10)
    site.add("/robots.txt", Reply(RULES + comments * 40 + b"Disallow: /allowed.html\n", 200, TEXT), "large")
    site.add("/robots.txt", Reply("# Café\nUser-agent: *\n".encode("latin-1") + RULES[14:], 200, TEXT), "latin")
    site.add("/robots.txt", page("<html><body><h1>Welcome</h1></body></html>"), "html")
    ours = b"User-agent: Sentence-Distillery\nDisallow: /forbidden.html\n\nUser-agent: *\nDisallow: /\n"
    site.add("/robots.txt", Reply(ours, 200, TEXT), "ours")
    site.add("/robots.txt", Reply(RULES + b"Crawl-delay: 0.5\n", 200, TEXT), "slowly")
    site.add("/robots.txt", Reply(gzip.compress(RULES), 200, TEXT | {"Content-Encoding": "gzip"}), "packed")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    with Site(addresses=ADDRESSES).serving() as site:
        _fill(site)
        crawl = Crawl(tmp_path_factory.mktemp("robots"), site)
        crawl.web["sites"] = [crawl.named(host, sections=[site.url("/", host)]) for host in CASES]
        crawl.web["private_hosts"] = [site.host(host) for host in CASES]
        crawl.run()
        yield crawl


@pytest.mark.parametrize("host", ["missing", "html"])
@pytest.mark.fault(29)
def test_what_is_not_there_forbids_nothing(crawled: Crawl, host: str) -> None:
    """4xx is "unavailable" (RFC 9309, 2.3.1.3); so is a page without rules."""
    asked = {asked.path for asked in crawled.site.requests(host)}
    assert {"/robots.txt", "/", "/forbidden.html", "/allowed.html"} <= asked


@pytest.mark.parametrize("host", ["failing", "hurried", "silent", "hops11", "inward"])
@pytest.mark.fault(29, 31)
def test_what_cannot_be_reached_forbids_all(crawled: Crawl, host: str) -> None:
    """5xx, 429, no answer, endless redirects and redirects inside (RFC 9309, 2.3.1.4)."""
    hops = {f"/hop{hop}" for hop in range(1, 11)} | {"/robots.txt"}
    assert {asked.path for asked in crawled.site.requests(host)} <= hops
    assert crawled.reason("/", host) == UNREACHABLE


@pytest.mark.parametrize("host", ["hops5", "abroad", "large", "latin", "ours", "slowly", "packed"])
@pytest.mark.fault(29)
def test_rules_are_heeded(crawled: Crawl, host: str) -> None:
    """After five redirects, from another host, in 20 MB, in Latin-1, for us by name, compressed unasked."""
    asked = {asked.path for asked in crawled.site.requests(host)}
    assert "/forbidden.html" not in asked
    assert "/allowed.html" in asked
    assert crawled.reason("/forbidden.html", host) == "robots.txt forbids it"


def test_crawl_delay_is_heeded(crawled: Crawl) -> None:
    pages = [asked for asked in crawled.site.requests("slowly") if asked.path != "/robots.txt"]
    assert_polite(pages, 2.0)


def test_an_unreachable_file_is_asked_for_again_in_the_next_run(crawled: Crawl) -> None:
    """The pages wait for it; fetched pages are not fetched again."""
    for host in ("failing", "silent"):
        crawled.site.add("/robots.txt", Reply(RULES, 200, TEXT), host)
    before = len(crawled.site.log)
    crawled.run()
    later = [(asked.host, asked.path) for asked in crawled.site.log[before:]]
    assert {("failing", "/allowed.html"), ("silent", "/allowed.html")} <= set(later)
    assert not {("failing", "/forbidden.html"), ("silent", "/forbidden.html")} & set(later)
    assert {path for host, path in later if host in ("missing", "ours", "large")} == set()


@pytest.mark.parametrize(
    ("status", "expected"),
    [(status, Ruling.RULES) for status in (200, 204)]
    + [(status, Ruling.ALLOWED) for status in (401, 403, 404, 410, 418)]
    + [(status, Ruling.UNREACHABLE) for status in (100, 304, 429, 500, 503)],
)
@pytest.mark.fault(29)
def test_what_a_status_means(status: int, expected: Ruling) -> None:
    """RFC 9309, 2.3.1; a wrong Content-Encoding is not a permission."""
    assert ruling(status, b"").ruling is expected
    assert ruling(status, gzip.compress(b""), "gzip").ruling is expected
    assert ruling(200, b"Disallow: /", "gzip").ruling is Ruling.UNREACHABLE


@pytest.mark.fault(29)
def test_24_hours() -> None:
    """RFC 9309, 2.4."""
    robots = Robots(Ruling.ALLOWED, fetched=1000.0)
    assert not robots.expired(1000.0 + LONGEST_CACHED - 1)
    assert robots.expired(1000.0 + LONGEST_CACHED)
    assert robots.expired(999.0)
    assert LONGEST_CACHED <= 24 * 3600


@pytest.mark.fault(29)
def test_500_kib() -> None:
    """RFC 9309, 2.5; half a line is ignored."""
    text = decode((b"Disallow: /" + b"x" * 88 + b"\n") * 6000)
    assert len(text) == LARGEST // 100 * 100


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/a", False),
        ("/a/b", True),
        ("/A", True),
        ("/x.php", False),
        ("/x.php?y", True),
        ("/z/q/1", False),
        ("/%7Ejoe", False),
    ],
)
def test_rules_by_longest_match(path: str, allowed: bool) -> None:
    """RFC 9309, 2.2.2 and 2.2.3: the longest rule wins, * and $, percent-encoding."""
    text = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.php$\nDisallow: /*/q/\nDisallow: /~joe\n"
    assert Robots(Ruling.RULES, text).allows(f"http://news.example{path}") is allowed


@pytest.mark.parametrize(
    "agent",
    [
        "sentence-distillery",
        "sentence-distillery/1.0",
        "Sentence-Distillery/2 (+mailto:a@a.example)",
        "sentence-distillery 1.0",
        "sentence-distillery\tbot",
        "sentence-distillery*",
        "* # all",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.fault(29)
def test_the_product_token_counts(agent: str, encoding: str) -> None:
    """RFC 9309, 2.2.1, has no version in a name, but sites write one; byte order marks are read."""
    text = f"User-agent: {agent}\nDisallow: /x\n\nUser-agent: other/1.0\nDisallow: /\n"
    robots = ruling(200, text.encode(encoding))
    assert (robots.allows("http://a.example/x"), robots.allows("http://a.example/y")) == (False, True)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.fault(29)
def test_a_name_ends_with_its_line(end: str) -> None:
    """An empty name does not take the rule of the next line; other names are not ours."""
    lines = ["User-agent:", "Disallow: /x", "User-agent: *", "Disallow: /y"]
    for name in ("s", "Sentence", "s~snapchat-proxy", "sentence 1.0", "sentence-distillery-2", "*bot", "other"):
        robots = ruling(200, end.join([*lines, f"User-agent: {name}", "Disallow: /"]).encode())
        assert [robots.allows(f"http://a.example/{path}") for path in "xyz"] == [True, False, True], name


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        (b"Crawl-delay: 0.5", 0.5),
        (b"Crawl-delay: -3", 0.0),
        (b"Crawl-delay: nan", 0.0),
        (b"Crawl-delay: soon", 0.0),
        (b"Request-rate: 1/20", 20.0),
        (b"Request-rate: 1/" + b"9" * 400, math.inf),
        (b"Request-rate: 0/5", 0.0),
    ],
)
@pytest.mark.fault(29)
def test_delays_that_are_numbers(lines: bytes, delay: float) -> None:
    """A demand that is no number above nothing is no demand."""
    assert ruling(200, b"User-agent: *\n" + lines + b"\n").delay() == delay


@pytest.mark.fault(29)
def test_long_delays_are_said(tmp_path: Path) -> None:
    """A delay of 12 s is one line; one of more than an hour leaves the host out, with a reason."""
    with Site(addresses={"patient": "127.0.2.1", "endless": "127.0.2.2", "other": "127.0.2.3"}).serving() as site:
        for host, delay in (("patient", 12), ("endless", 4000)):
            site.add("/robots.txt", Reply(f"User-agent: *\nCrawl-delay: {delay}\n".encode(), 200, TEXT), host)
            site.add("/", page("<p>Nothing here.</p>"), host)
        crawl = Crawl(tmp_path, site)
        crawl.web["sites"] = [crawl.named(host, sections=[site.url("/", host)]) for host in ("patient", "endless")]
        errors = crawl.run(status=1)  # there is no article on these pages
        assert errors.count("asks for 12 s between two requests: 7200 pages a day") == 1
        assert errors.count("asks for 4000 s between two requests, so none of its pages is fetched") == 1
        assert "'robots.txt asks for too long a delay': 1" in errors
        assert [asked.path for asked in site.requests("endless")] == ["/robots.txt"]
