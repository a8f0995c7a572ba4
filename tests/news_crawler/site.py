"""A news site on loopback with real HTTP: it serves a table of paths and logs each request.

Three hosts have separate addresses, so that limits hold for each: `news` with sections, pages and every fault,
`archive` with only sitemaps and feeds, and `other`, which no crawl of the two may visit.
"""

import gzip
import hashlib
import importlib.util
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.news_crawler.layouts import LAYOUTS, Article, listing, render

ADDRESSES = {"news": "127.0.0.1", "archive": "127.0.0.2", "other": "127.0.0.3"}
SECTIONS = ("world", "business", "culture")
PAGE = 10
FIRST_DAY = date(2024, 1, 1)


@dataclass(frozen=True)
class Reply:
    """A response; `write` gets the socket itself, to send a malformed response."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    validators: str = ""  # "etag", "date" or none
    write: Callable[[BaseHTTPRequestHandler], None] | None = None


@dataclass(frozen=True)
class Asked:
    """One request as the server saw it; `when` in seconds of the monotonic clock."""

    host: str
    path: str
    when: float
    headers: dict[str, str]
    status: int


def page(html: str, validators: str = "", **headers: str) -> Reply:
    return Reply(html.encode(), 200, {"Content-Type": "text/html; charset=utf-8"} | headers, validators)


def stories() -> list[Article]:
    """The articles of the Lee corpus as paragraphs of two sentences each, each text once, in turn in every layout."""
    package = importlib.util.find_spec("gensim")
    assert package and package.origin
    corpus = Path(package.origin).parent / "test/test_data/lee_background.cor"
    found: list[Article] = []
    for line in dict.fromkeys(corpus.read_text(encoding="utf-8").splitlines()):
        number = len(found)
        sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z\"'])", line.strip())
        paragraphs = tuple(" ".join(sentences[start : start + 2]) for start in range(0, len(sentences), 2))
        if len(paragraphs) < 3:
            continue
        title = f"{' '.join(sentences[0].split()[:7]).rstrip('.,')} ({number})"
        layout = [*LAYOUTS][number % len(LAYOUTS)]
        found.append(Article(f"/story-{number}.html", title, FIRST_DAY + timedelta(days=number), paragraphs, layout))
    return found


class Site:
    """Return the response of each path of each host."""

    def __init__(self, count: int = 240, addresses: dict[str, str] = ADDRESSES) -> None:
        self.addresses = addresses
        self.log: list[Asked] = []
        self.ports: dict[str, int] = {}
        self.asked: dict[tuple[str, str], int] = {}
        self.replies: dict[tuple[str, str], Callable[[str, int], Reply]] = {}
        self.articles: dict[str, Article] = {}  # the articles that a crawl has to find, by their canonical URL
        self._count = count
        self._lock = threading.Lock()

    def url(self, path: str, host: str = "news") -> str:
        return f"http://{self.host(host)}{path}"

    def host(self, name: str) -> str:
        return f"{self.addresses[name]}:{self.ports[name]}"

    def add(self, path: str, reply: Reply | Callable[[str, int], Reply], host: str = "news") -> str:
        """Serve a reply, or the result of a function of the query and the number of earlier requests for the path."""
        self.replies[host, path] = reply if callable(reply) else lambda query, times: reply
        return self.url(path, host)

    def article(self, article: Article, path: str, host: str = "news", **kwargs: Any) -> str:
        """Serve an article that a crawl has to find."""
        url = self.add(path, page(render(article), **kwargs), host)
        self.articles[url] = article
        return url

    def answer(self, host: str, target: str, headers: dict[str, str]) -> Reply:
        parts = urlsplit(target)
        with self._lock:
            times = self.asked.get((host, target), 0)
            self.asked[host, target] = times + 1
        make = self.replies.get((host, parts.path))
        reply = make(parts.query, times) if make else Reply(b"<h1>Not found</h1>", 404)
        reply = _with_validators(reply, headers)
        asked = Asked(host, target, time.monotonic(), headers, reply.status)
        with self._lock:
            self.log.append(asked)
        return reply

    def requests(self, host: str) -> list[Asked]:
        return [asked for asked in self.log if asked.host == host]

    @contextmanager
    def serving(self) -> Iterator["Site"]:
        servers = []
        try:
            for host, address in self.addresses.items():
                server = _Server((address, 0), self._handler(host))
                self.ports[host] = server.server_address[1]
                servers.append(server)
                threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            yield self
        finally:
            for server in servers:
                server.shutdown()
                server.server_close()

    def _handler(self, host: str) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                reply = site.answer(host, self.path, {name.lower(): value for name, value in self.headers.items()})
                try:
                    if reply.write:
                        reply.write(self)
                    else:
                        self._send(reply)
                except OSError:
                    self.close_connection = True  # the crawler has hung up, as it should now and then

            def _send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a killed crawler resets its connections


def _with_validators(reply: Reply, headers: dict[str, str]) -> Reply:
    if not reply.validators or reply.status != 200:
        return reply
    tag = f'"{hashlib.sha256(reply.body).hexdigest()[:16]}"'
    days = int(tag[1:4], 16)
    changed = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(1_700_000_000 + 86_400 * days))
    sent = {"ETag": tag} if reply.validators == "etag" else {"Last-Modified": changed}
    if headers.get("if-none-match") == tag or headers.get("if-modified-since") == changed:
        return Reply(b"", 304, sent)
    return Reply(reply.body, 200, reply.headers | sent)


# The site itself


def newspaper(site: Site) -> None:
    """Fill a site with a few hundred pages."""
    everything = stories()[: site._count]
    cut = len(everything) * 2 // 3
    _sections(site, everything[:cut])
    _archive(site, everything[cut:])
    site.add("/robots.txt", Reply(b"Disallow: /\n", 200, {"Content-Type": "text/plain"}), "other")
    site.add("/stolen.html", page("<p>Nobody should have come here.</p>"), "other")


def _sections(site: Site, articles: list[Article]) -> None:
    rules = b"User-agent: *\nDisallow: /private/\nDisallow: /*?print=\n\nUser-agent: otherbot\nDisallow: /\n"
    site.add("/robots.txt", Reply(rules, 200, {"Content-Type": "text/plain"}))
    for number, section in enumerate(SECTIONS):
        mine = [(f"/{section}/{article.published:%Y/%m/%d}{article.path}", article) for article in articles[number::3]]
        for position, (path, article) in enumerate(mine):
            site.article(article, path, validators=("etag", "date", "")[position % 3])
        pages = [mine[start : start + PAGE] for start in range(0, len(mine), PAGE)]
        site.add(f"/{section}/", _section_pages(section, pages))
    links = [f"/{section}/" for section in SECTIONS] + [*_trouble(site, articles)]
    site.add("/", page(listing("Front page", [], links, None), "etag"))


def _section_pages(section: str, pages: list[list[tuple[str, Article]]]) -> Callable[[str, int], Reply]:
    """Pages by ?page=, with tracking parameters and session numbers in the links, and with forbidden articles."""

    def reply(query: str, times: int) -> Reply:
        number = int(parse_qs(query).get("page", ["1"])[0])
        if not 1 <= number <= len(pages):
            return Reply(b"<h1>No such page</h1>", 404)
        cards = [
            (f"{path}?utm_source=front&sid=4711" if position % 4 == 0 else path, article)
            for position, (path, article) in enumerate(pages[number - 1])
        ]
        following = f"/{section}/?page={number + 1}" if number < len(pages) else None
        links = [f"/private/{section}-{number}.html", f"{cards[0][0].partition('?')[0]}?print=1"]
        return page(listing(f"{section.title()}, page {number}", cards, links, following), "etag")

    return reply


def _trouble(site: Site, articles: list[Article]) -> Iterator[str]:
    """Links of the front page to duplicates, traps, redirects, errors, and slow and broken pages."""
    yield from _duplicates(site, articles)
    yield from _traps(site)
    yield from _redirects(site, articles)
    yield from _errors(site)


def _duplicates(site: Site, articles: list[Article]) -> Iterator[str]:
    known = {article: url for url, article in site.articles.items()}
    for number, article in enumerate(articles[:6]):
        twin = Article(article.path, article.title, article.published, article.paragraphs, "tables")
        yield site.add(f"/mobile/{number}.html", page(render(twin, canonical=known[article])))
    for number, article in enumerate(articles[6:9]):
        yield site.add(f"/zz-mirror/{number}.html", page(render(article)))  # the same text, and no word of it


def _traps(site: Site) -> Iterator[str]:
    def calendar(query: str, times: int) -> Reply:
        month = int(query.partition("=")[2] or 1)
        return page(f'<p>Month {month}: nothing.</p><a href="/calendar/?month={month + 1}">next</a>')

    def deeper(query: str, times: int) -> Reply:
        return page('<p>A wrong relative link.</p><a href="more/">more</a>')

    yield site.add("/calendar/", calendar)
    yield site.add("/loop/", deeper)
    for depth in range(1, 10):
        site.add(f"/loop/{'more/' * depth}", deeper)
    yield site.url("/search/" + "long-" * 120)


def _redirects(site: Site, articles: list[Article]) -> Iterator[str]:
    def to(location: str, status: int = 301) -> Reply:
        return Reply(b"", status, {"Location": location})

    known = {article: url for url, article in site.articles.items()}
    target = urlsplit(known[articles[0]]).path
    yield site.add("/old/1", to(target))
    for hop in range(3):
        site.add(f"/chain/{hop}", to(f"/chain/{hop + 1}", 302))
    site.add("/chain/3", to(target, 307))
    yield site.url("/chain/0")
    yield site.add("/itself", to("/itself"))
    site.add("/ping", to("/pong"))
    yield site.add("/pong", to("/ping"))
    yield site.add("/elsewhere", to(site.url("/stolen.html", "other")))
    yield site.add("/inside", to("http://10.0.0.1/admin"))
    yield site.add("/metadata", to("http://169.254.169.254/latest/meta-data/"))
    yield site.add("/decimal", to("http://2130706433/"))
    yield site.add("/abroad", to("https://other.example/"))
    yield site.add("/file", to("file:///etc/passwd"))
    for hop in range(15):
        site.add(f"/endless/{hop}", to(f"/endless/{hop + 1}"))
    yield site.url("/endless/0")


def _errors(site: Site) -> Iterator[str]:
    yield site.url("/missing.html")
    yield site.add("/gone.html", Reply(b"gone", 410))
    yield site.add("/broken.html", Reply(b"sorry", 500))
    found = stories()[len(site.articles) + 100]

    def flaky(query: str, times: int) -> Reply:
        return Reply(b"later", 503, {"Retry-After": "1"}) if times == 0 else page(render(found))

    path = "/world/flaky.html"
    site.articles[site.add(path, flaky)] = found
    yield path
    yield site.add("/slow.html", Reply(write=hang))
    yield site.add("/cut-off.html", Reply(write=_cut_off))
    yield site.add("/endless-stream.html", Reply(write=_endless))
    yield from _broken_pages(site)


def hang(handler: BaseHTTPRequestHandler) -> None:
    """Send nothing until the crawler closes the connection."""
    handler.connection.recv(1)
    handler.close_connection = True


def _cut_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"<p>And then the line went")
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def _endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    while True:
        handler.wfile.write(b"<p>and so on</p>" * 4096)


def _broken_pages(site: Site) -> Iterator[str]:
    bomb = gzip.compress(bytes(200_000_000))
    yield site.add("/bomb.html", Reply(bomb, 200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}))
    yield site.add("/photo", Reply(b"\xff\xd8" + bytes(9000), 200, {"Content-Type": "image/jpeg"}))
    yield site.add("/deep.html", page("<div>" * 100_000 + "deep" + "</div>" * 100_000))
    yield site.add("/huge.html", page("<p>" + "far too long " * 300_000))


def _archive(site: Site, articles: list[Article]) -> None:
    """Sitemaps (an index, one plain and one compressed) and feeds (RSS and Atom); no robots.txt, no links."""
    paths = [f"/archive{article.path}" for article in articles]
    for path, article in zip(paths, articles, strict=True):
        site.article(article, path, "archive", validators="etag" if len(path) % 2 else "")
    quarter = len(paths) // 4
    site.add("/sitemap.xml", Reply(_index(site, ["/sitemap-1.xml", "/sitemap-2.xml.gz"]), 200, _XML), "archive")
    site.add("/sitemap-1.xml", Reply(_sitemap(site, paths[:quarter]), 200, _XML, "etag"), "archive")
    packed = gzip.compress(_sitemap(site, paths[quarter : 2 * quarter]), mtime=0)
    site.add("/sitemap-2.xml.gz", Reply(packed, 200, {"Content-Type": "application/gzip"}), "archive")
    site.add("/rss.xml", Reply(_rss(site, paths[2 * quarter : 3 * quarter]), 200, _XML, "etag"), "archive")
    site.add("/atom.xml", Reply(_atom(site, paths[3 * quarter :]), 200, _XML), "archive")


_XML = {"Content-Type": "application/xml"}


def _index(site: Site, paths: list[str]) -> bytes:
    entries = "".join(f"<sitemap><loc>{site.url(path, 'archive')}</loc></sitemap>" for path in paths)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'.encode()


def _sitemap(site: Site, paths: list[str]) -> bytes:
    entries = "".join(f"<url><loc>{site.url(path, 'archive')}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()


def _rss(site: Site, paths: list[str]) -> bytes:
    entries = "".join(f"<item><title>One</title><link>{site.url(path, 'archive')}</link></item>" for path in paths)
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>All</title>{entries}</channel></rss>'.encode()


def _atom(site: Site, paths: list[str]) -> bytes:
    entries = "".join(f'<entry><link href="{site.url(path, "archive")}"/></entry>' for path in paths)
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()
