"""Hostile pages, sitemaps and robots.txt from a seed: each is a page as others have it, with several faults at once."""

import gzip
import random
import zlib
from collections.abc import Callable

from tests.sentence_distillery.crawl.layouts import Article, render
from tests.sentence_distillery.crawl.site import Reply, stories

Body = tuple[bytes, str, str]  # content, Content-Type, Content-Encoding
Texts = tuple[str, ...]
TYPES: Texts = ("text/html; charset=utf-8", "text/html", "TEXT/HTML;CHARSET=latin1", "text/html; charset=x", "", ";;")
JUNK: Texts = ("<", ">", "&", "&#0;", "&#xD800;", "&#99999999;", "\0", "\x1b[2J", "\ud800", "<!--", "-->", "<![CDATA[")
JUNK += ("]]>", "</html>", "<plaintext>", "<script>", "</script>", "<svg><math>", "<table><td>", "<select>", "\u202e")
JUNK += ("\ufeff", '<base href="http://[">', '<base href="javascript:x">', "<frameset>", "<template>", "<?php")
JUNK += ("<!DOCTYPE x [",)
LINKS: Texts = (
    "http://[::1",
    "//",
    "?",
    "#",
    "javascript:alert(1)",
    "data:text/html,x",
    "http://10.0.0.1/",
    "mailto:a@b",
)
LINKS += ("http://a:b@c/", "/" + "a/" * 300, "http://\0/", "http://host:99999/", "\ud800", " ", "../" * 50)
DATES: Texts = (
    "03/04/2019",
    "2019-02-31",
    "0000-00-00",
    "99999-01-01",
    "2019-13-01",
    "yesterday",
    "1e9",
    "-1",
    "\ud800",
)
LD: Texts = ('{"@type": "NewsArticle"', '{"@type": {"@type": []}}', "[[[[" * 5_000, '{"@graph": null}', "nul", "")
LD += ('"NewsArticle"', '{"@type": ["NewsArticle", 3, null]}')
LD += ('{"datePublished": "03/04/2019", "@type": "NewsArticle"}',)


def cut(text: str, draw: random.Random) -> str:
    return text[: draw.randrange(1, len(text))]


def sprinkled(text: str, draw: random.Random) -> str:
    for _ in range(draw.randrange(1, 30)):
        place = draw.randrange(len(text))
        text = text[:place] + draw.choice(JUNK) + text[place:]
    return text


def nested(text: str, draw: random.Random) -> str:
    tag = draw.choice(("div", "span", "table", "ul", "b", "a", "object", "font", "svg", "details"))
    return f"<{tag}>" * draw.choice((50, 2_000, 60_000)) + text


def linked(text: str, draw: random.Random) -> str:
    return "".join(f'<a href="{draw.choice(LINKS)}">x</a>' for _ in range(draw.randrange(2_000))) + text


def described(text: str, draw: random.Random) -> str:
    return f'<script type="application/ld+json">{draw.choice(LD)}</script>{text}'


def dated(text: str, draw: random.Random) -> str:
    day, other = draw.choice(DATES), draw.choice(DATES)
    return f'<meta property="article:published_time" content="{day}"><time>{other}</time>{text}'


def refreshed(text: str, draw: random.Random) -> str:
    target = draw.choice(("0", "0;url=", "x; URL=/again")) + draw.choice(LINKS)
    return f'<meta http-equiv="refresh" content="{target}">{text}'


def long(text: str, draw: random.Random) -> str:
    ends = ("x" * 900_000, "<p>" * 200_000, "word " * 100_000, "&" * 300_000, '<p a="' + "b" * 500_000)
    return text + draw.choice(ends)


def attributed(text: str, draw: random.Random) -> str:
    value = draw.choice(("9007199254740991", "-1", "1e400", "\ud800", "x" * 10_000))
    return f'<table><tr><td colspan="{value}" rowspan="{value}">' + "".join(f"<i a{n}>" for n in range(3_000)) + text


def shuffled(text: str, draw: random.Random) -> str:
    parts = text.split(">")
    draw.shuffle(parts)
    return ">".join(parts)


FAULTS: tuple[Callable[[str, random.Random], str], ...] = (
    cut,
    sprinkled,
    nested,
    linked,
    described,
    dated,
    refreshed,
    long,
    attributed,
    shuffled,
)


def encoded(text: str, draw: random.Random) -> bytes:
    name = draw.choice(("utf-8", "utf-8", "utf-16", "utf-32", "latin-1", "shift_jis", "utf-7", "cp037"))
    return text.encode(name, "surrogatepass" if name.startswith("utf-") and name != "utf-7" else "replace")


def packed(content: bytes, draw: random.Random) -> tuple[bytes, str]:
    kind = draw.randrange(8)
    match kind:
        case 0:
            return gzip.compress(content), "gzip"
        case 1:
            return gzip.compress(content)[: draw.randrange(1, 40)], "gzip"
        case 2:
            return zlib.compress(content), "deflate"
        case 3:
            return content, draw.choice(("gzip", "br", "zstd", "x" * 200, "gzip, gzip, gzip"))
        case 4:
            return gzip.compress(gzip.compress(bytes(30_000_000))), "gzip, gzip"
        case _:
            return content, ""


def page(draw: random.Random, articles: list[Article]) -> Body:
    """Make a page of an article with one to four faults, in some encoding."""
    text = render(draw.choice(articles))
    for fault in draw.sample(FAULTS, draw.randrange(1, 5)):
        text = fault(text, draw)
    content, encoding = packed(encoded(text, draw), draw)
    return content, draw.choice(TYPES), encoding


def sitemap(draw: random.Random, urls: list[str]) -> bytes:
    """Make a sitemap or an index with faults: of itself, of nothing, of what it is not, without an end."""
    entries = "".join(
        f"<url><loc>{draw.choice((*urls, *LINKS))}</loc><lastmod>{draw.choice(DATES)}</lastmod></url>"
        for _ in range(draw.randrange(60))
    )
    index = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls if "sitemap" in url)
    bomb = '<!DOCTYPE a [<!ENTITY x "x">' + "".join(f'<!ENTITY x{n} "&x;&x;">' for n in range(50)) + "]>"
    text = draw.choice(("", bomb)) + f"<urlset>{entries}</urlset>"
    index = f"<sitemapindex>{index}</sitemapindex>"
    text = draw.choice((text, index, cut(text, draw), sprinkled(text, draw), "\n".join(urls)))
    content = encoded(text, draw)
    return draw.choice((content, gzip.compress(content), content[:-3], b"", b"<html><body>Not here</body></html>"))


def robots(draw: random.Random) -> bytes:
    """Make a robots.txt with lines that parsers have stumbled over."""
    values = ("0.01", "-1", "1e400", "nan", "x", "", "5", "1/0", "0/5", "1/10s 9999-0000", "99999999999999999999")
    lines = ["User-agent: *", "user-agent : sentence-distillery/9", "Disallow: /nowhere", "Disallow:", "Allow: /*$*$"]
    lines += ["Disallow: /%", "\ud800", "Disallow: " + "*" * 2_000 + "x", "Sitemap: http://[", ":", "\0"]
    lines.append("Disallow: /" + "a" * 9_000)
    lines += [f"{name}: {value}" for name in ("Crawl-delay", "Request-rate", "Visit-time") for value in values]
    chosen = draw.choices(lines, k=draw.randrange(1, 80))
    return encoded(draw.choice(("\n", "\r", "\r\n")).join(chosen), draw)


def reply(body: Body) -> Reply:
    content, kind, encoding = body
    headers = {"Content-Type": kind} if kind else {}
    return Reply(content, 200, headers | ({"Content-Encoding": encoding} if encoding else {}))


def some_stories() -> list[Article]:
    return stories()[:40]
