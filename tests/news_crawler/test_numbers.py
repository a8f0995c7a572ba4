"""Headers, attributes and tags that are read as numbers, dates, names or addresses, from any bytes.

A page is lost at most, never a crawl: what decides in the crawler's own process never raises, and what is read in a
child process gives a result or a reason.
"""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from news_crawler.decoding import Unreadable, check_type
from news_crawler.extraction import analyse
from news_crawler.policy import Link, Refused
from news_crawler.robots import ruling
from news_crawler.spider import LONGEST_PAUSE, retry_after
from news_crawler.store import Answer
from tests.news_crawler.conftest import Crawl
from tests.news_crawler.layouts import render
from tests.news_crawler.site import Reply, Site, stories
from tests.news_crawler.test_policy import HOME, scope

pytestmark = pytest.mark.fault(28)

NUMBERS = [b"\xb2", "٣".encode(), b"1e999", b"-1", b"nan", b"inf", b"9" * 400, b"9" * 5000, b"0x10", b"1_0", b"+5", b""]
DATES = [b"Mon, 01 Jan 99999999999999 00:00:00 GMT", b"1 Jan 0 0:0:0 +9999999999", b"2024-02-30", b"0000-00-00", b","]
DATES += [b"Mon, 01 Jan 0001 00:00:00 -0000", "２０２４-０１-０２".encode(), b"99999-01-01", b"20240230", b"9th of"]
NAMES = [b"idna", b"punycode", b"undefined", b"unicode_escape", b"base64", b"rot13", b"utf-7", b"mbcs", b"x" * 300]
ADDRESSES = [b"http://[", b"http://a:b@c/", b"//", b"http://a.example:99999/", b"\x00", b"http://\xff/", b"?" * 600]
HOSTILE = [*NUMBERS, *DATES, *NAMES, *ADDRESSES, b"1/0", b"9" * 400 + b"/1", b"1/" + b"9" * 400, b"1/5 9999-0000"]
VALUES = st.sampled_from(HOSTILE) | st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8"))

PLACES = {
    "lastmod": ("sitemap", b"<urlset><url><loc>/1</loc><lastmod>%s</lastmod></url></urlset>"),
    "loc": ("sitemap", b"<urlset><url><loc>%s</loc></url></urlset>"),
    "news": ("sitemap", b"<urlset><url><loc>/1</loc><publication_date>%s</publication_date></url></urlset>"),
    "priority": ("sitemap", b"<urlset><url><loc>/1</loc><priority>%s</priority></url></urlset>"),
    "pubDate": ("feed", b"<rss><item><link>/1</link><pubDate>%s</pubDate></item></rss>"),
    "published": ("feed", b"<feed><entry><link href='/1'/><published>%s</published></entry></feed>"),
    "xml:base": ("feed", b"<feed xml:base='%s'><entry xml:base='%s'><link href='1'/></entry></feed>"),
    "href": ("feed", b"<feed xml:base='/a/'><entry><link href='%s'/></entry></feed>"),
    "XML encoding": ("feed", b"<?xml version='1.0' encoding='%s'?><rss><item><link>/\xe9</link></item></rss>"),
    "refresh": ("page", b"<meta http-equiv=refresh content='%s; url=%s'><p>x"),
    "charset": ("page", b"<meta charset='%s'><p>\xe9"),
    "base": ("page", b"<base href='%s'><a href='1'>1</a><link rel=canonical href='%s'>"),
    "time": ("page", b"<meta property='article:published_time' content='%s'><time datetime='%s'>%s</time><p>x"),
    "size": ("page", b"<img width='%s' height='%s'><table><td colspan='%s' rowspan='%s'>x</table>"),
    "JSON-LD": ("page", b'<script type="application/ld+json">{"datePublished": "%s", "@type": "%s"}</script><p>x'),
    "JSON-LD number": ("page", b'<script type="application/ld+json">{"datePublished": %s, "@type": %s}</script><p>x'),
}


def asked(kind: str, content_type: str | None = "text/html") -> dict[str, Any]:
    url = "https://a.example/"
    return {"url": url, "kind": kind, "content_type": content_type, "content_encoding": None, "limit": 1_000_000}


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=60)
@given(value=VALUES)
def test_bodies(place: str, value: bytes) -> None:
    kind, body = PLACES[place]
    result = analyse(asked(kind), body.replace(b"%s", value))
    assert result["article"] or result["reason"]
    assert all(isinstance(link[0], str) for link in result["links"])


@given(value=VALUES)
@example(b"\xb2")
@example(b"Mon, 01 Jan 99999999999999 00:00:00 GMT")
def test_headers(value: bytes) -> None:
    text = value.decode("latin-1")
    assert 0 <= retry_after(Answer(503, [("Retry-After", text)], b"", 0.0)) <= LONGEST_PAUSE
    for header in (text, f"text/html; charset={text}"):
        try:
            check_type(header)
        except Unreadable as unreadable:
            assert str(unreadable).startswith("content type: ")
        assert analyse(asked("page", header), "<p>é".encode())["reason"]
    try:
        assert isinstance(scope().redirect(text, HOME), Link)
    except Refused as refused:
        assert refused.reason.startswith("redirect refused: ")


@given(value=VALUES)
def test_rules(value: bytes) -> None:
    body = b"User-agent: *\nCrawl-delay: %s\nRequest-rate: %s\nVisit-time: %s\nDisallow: /x%s\n".replace(b"%s", value)
    found = ruling(200, body, value.decode("latin-1"))
    assert 0 <= found.delay() <= math.inf
    found = ruling(200, b"User-agent: %s\nDisallow: /\n".replace(b"%s", value))
    assert found.allows("http://a.example/") in (True, False)


def test_seconds_and_dates() -> None:
    """Retry-After as RFC 9110, 10.2.3 has it."""
    for value, low, high in (
        ("120", 120, 120),
        ("7200", LONGEST_PAUSE, LONGEST_PAUSE),
        ("\xb2", 0, 0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0, 0),
        ("Fri, 31 Dec 2999 23:59:59 GMT", LONGEST_PAUSE, LONGEST_PAUSE),
        ("Fri, 31 Dec 2999 23:59:59 -0000", LONGEST_PAUSE, LONGEST_PAUSE),
    ):
        assert low <= retry_after(Answer(503, [("Retry-After", value)], b"", 0.0)) <= high, value


def test_a_crawl_of_hostile_headers(tmp_path: Path, site: Site) -> None:
    """Every page is kept or listed with its reason, and a good one among them is an article."""
    names = ("Retry-After", "Content-Type", "Last-Modified", "Age", "ETag", "Expires", "Content-Encoding", "Refresh")
    values = [value.decode("latin-1") for value in HOSTILE if not {*value} & {0, 10, 13} and len(value) < 1000]
    body, paths = render(stories()[0]).encode(), []
    for number, value in enumerate(values):
        for status in (200, 301, 304, 503):
            headers = dict.fromkeys((*names, "Location"), value) | ({} if number % 2 else {"Content-Type": "text/html"})
            paths.append(f"/{status}-{number}.html")
            site.add(paths[-1], Reply(body, status, headers))
    good = site.add("/zz/good.html", Reply(body, 200, {"Content-Type": "text/html"}))
    lines = "".join(f"{site.url(path)}\n" for path in [*paths, "/zz/good.html"])
    site.add("/sitemap.txt", Reply(lines.encode(), 200, {"Content-Type": "text/plain"}))
    site.add("/robots.txt", Reply(b"", 404))
    crawl = Crawl(tmp_path, site)
    crawl.web |= {"sites": [crawl.named("news", sitemaps=[site.url("/sitemap.txt")])], "retries": 0}
    crawl.run()
    articles, dropped = crawl.articles(), crawl.dropped()
    assert {site.url(path) for path in paths} <= articles.keys() | dropped.keys()
    assert len({row["text"] for row in articles.values()}) == 1
    assert good in articles or dropped[good]["reason"].startswith("duplicate")
