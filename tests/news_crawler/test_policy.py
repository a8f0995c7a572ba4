"""Which URLs belong to a crawl, in which form."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_crawler.options import Crawl, Web
from news_crawler.policy import Link, Refused, Scope, is_private_literal, is_public, normalise
from tests.workspace import demo_params

SITE = {
    "name": "daily",
    "hosts": ["news.example", "eu.news.example"],
    "sections": ["https://news.example/world/index.html", "https://news.example/china"],
    "sitemaps": ["https://eu.news.example/sitemap.xml"],
    "feeds": [],
    "articles": r"/a/\d{6}/",
}
HOME = Link("https://news.example/world/", "daily")


def scope(**changes: Any) -> Scope:
    return Scope(Web.model_validate(demo_params()["web"] | {"sites": [SITE | changes]}))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://News.Example:80/a//b/?utm_source=x&id=2#top", "http://news.example/a/b/?id=2"),
        ("https://news.example", "https://news.example/"),
        ("../x.html", "https://news.example/x.html"),
        ("?b=2&a=1", "https://news.example/world/?a=1&b=2"),
        ("/x;jsessionid=1f?PHPSESSID=3&q=1", "https://news.example/x?q=1"),
        (" /x y ", "https://news.example/x%20y"),
        ("//eu.news.example/é", "https://eu.news.example/%C3%A9"),
        ("//Bücher.example:8080/", "https://xn--bcher-kva.example:8080/"),
        ("//xn--strae-oqa.example/", "https://xn--strae-oqa.example/"),
        ("mailto:a@b.example", None),
        ("javascript:void(0)", None),
        ("file:///etc/passwd", None),
        ("http://a:b@news.example/", None),
        ("http://[::1/", None),
    ],
)
@pytest.mark.fault(31)
def test_normalise(url: str, expected: str | None) -> None:
    """A file, a script and an address with a password are refused."""
    with nullcontext() if expected else pytest.raises(Refused):
        assert normalise(url, HOME.url) == expected


def test_a_pattern_of_articles_in_another_script() -> None:
    """It fits a URL as people read it, too."""
    assert scope(articles="/खबर/").follow("https://news.example/खबर/x", HOME).url.isascii()
    assert scope().is_article("daily", "https://news.example/a/202401/")
    assert scope().is_article("daily", "https://news.example/") is False
    assert scope(articles=None).is_article("daily", "https://news.example/") is None


@given(
    st.text(st.characters(codec=None), max_size=80), st.sampled_from(["", "http://", "http://news.example/", "?", "//"])
)
def test_any_text_is_an_address_or_refused(text: str, start: str) -> None:
    try:
        found = normalise(start + text, HOME.url)
    except Refused:
        return
    assert found.startswith(("http://", "https://"))
    assert normalise(found) == found


DEEP = replace(HOME, depth=25)
SITEMAP = Link("https://eu.news.example/sitemap.xml", "daily", "sitemap")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("/world/a.html", None),
        ("/china", None),
        ("/china/1/", None),
        ("/chinaware/", "outside the sections"),
        ("/sports/", "outside the sections"),
        ("/sports/a/202401/x.html", None),
        ("https://eu.news.example/a/202401/x.html", None),
        ("https://evil.example/world/", "another host"),
        ("https://news.example.evil.example/world/", "another host"),
        ("/world/photo.JPG", "another kind of file"),
        ("/world/x/x/x/", "trap: repeated path"),
        ("/world/" + "x" * 500, "trap: long URL"),
        ("/world/" + "योजना-" * 50, None),
        ("ftp://news.example/world/", "ftp address"),
    ],
)
def test_follow(url: str, reason: str | None) -> None:
    if reason is None:
        assert scope().follow(url, HOME).depth == 1
        return
    with pytest.raises(Refused) as refused:
        scope().follow(url, HOME)
    assert refused.value.reason == reason
    assert (refused.value.link is not None) == reason.startswith("trap")


def test_follow_by_where_a_link_stands() -> None:
    """A page is not fetched by both schemes; a sitemap may name what is outside the sections, of its hosts alone."""
    assert scope().follow("http://news.example/world/x", HOME).url == "https://news.example/world/x"
    assert scope().follow("https://news.example/sports/1.html", SITEMAP).kind == "page"
    for url, link, reason in (("/world/x", DEEP, "too deep"), ("https://evil.example/1.html", SITEMAP, "another host")):
        with pytest.raises(Refused, match=reason):
            scope().follow(url, link)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, "/world/1.html"),
        ("/world/2.html", "/world/2.html"),
        ("https://news.example/", "/world/1.html"),
        ("https://evil.example/1.html", "/world/1.html"),
        ("javascript:1", "/world/1.html"),
    ],
)
def test_canonical(declared: str | None, expected: str) -> None:
    found = scope().canonical("daily", "https://news.example/world/1.html", declared)
    assert found == f"https://news.example{expected}"


PRIVATE = "127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 10.0.0.1:80 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0"
PRIVATE += " 224.0.0.1 [::1] [fe80::1] [fc00::1] [::ffff:127.0.0.1] [::ffff:10.0.0.1] [64:ff9b:1::1] [64:ff9b::a00:1]"
PUBLIC = "news.example 8.8.8.8 [2606:4700::1111] [64:ff9b::808:808] 1.news.example 127.0.0.1.example"


@pytest.mark.fault(31)
def test_private_addresses() -> None:
    """In every notation that passes for an address."""
    assert [host for host in (*PRIVATE.split(), "999.1.1.1") if not is_private_literal(host)] == []
    assert [host for host in PUBLIC.split() if is_private_literal(host)] == []
    assert is_public("1.1.1.1") and not is_public("10.0.0.1") and not is_public("fe80::1%eth0")


def test_a_crawl_without_a_folder() -> None:
    """DVC would watch the whole repository."""
    assert Crawl(folder="data/external").source == "files"
    with pytest.raises(ValueError, match="folder"):
        Crawl(folder="")
