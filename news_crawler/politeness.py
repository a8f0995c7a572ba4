"""Scrapy middlewares that keep a crawl polite: robots.txt before each page, and one request at a time to a host.

A host is asked again only 1 / `requests_per_second` seconds after the end of its last answer. Counted from the end,
the limit holds at the server whatever the network does in between; Scrapy's own delay counts from the start.
"""

import asyncio
import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, StopDownload
from scrapy.http import Response

from news_crawler import robots
from news_crawler.network import PublicResolver
from news_crawler.options import Web
from news_crawler.pages import Pages
from news_crawler.policy import PAGE_LIMIT, Refused, Scope, host_of, is_private_literal, normalise
from news_crawler.robots import Robots, Ruling
from news_crawler.store import Store
from sentence_distillery.io.errors import option

BACKOFF_SECONDS = 1.0
MEGABYTE = 1_000_000
FORBIDDEN = "robots.txt forbids it"
NO_ROBOTS = "robots.txt unreachable"
TOO_SLOW = "robots.txt asks for too long a delay"
LONG_DELAY = 10.0  # seconds between two requests, which are worth a line
LONGEST_DELAY = 3600.0
PRIVATE = "private address"

log = logging.getLogger(__name__)


class Gate:
    """Permission to request a host. `delay` in seconds between the end of an answer and the next request."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._longer: dict[str, float] = {}
        # The previous process may have sent a request a moment ago, so each host's first request waits as well.
        self._ready: defaultdict[str, float] = defaultdict(lambda: time.monotonic() + delay)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def enter(self, host: str) -> None:
        await self._locks[host].acquire()
        while (wait := self._ready[host] - time.monotonic()) > 0:
            await asyncio.sleep(wait)

    def leave(self, host: str) -> None:
        self.pause(host, max(self._delay, self._longer.get(host, 0.0)))
        self._locks[host].release()

    def pause(self, host: str, seconds: float) -> None:
        """Block requests to the host for this many seconds."""
        self._ready[host] = max(self._ready[host], time.monotonic() + seconds)

    def slow_down(self, host: str, seconds: float) -> None:
        """Wait this long between requests from now on, as Crawl-delay demands."""
        self._longer[host] = max(seconds, self._longer.get(host, 0.0))


@dataclass
class Work:
    """The state that the parts of a crawl share; the spider passes it to those that Scrapy creates."""

    store: Store
    scope: Scope
    web: Web
    pages: Pages
    gate: Gate
    failure: Exception | None = None

    def limit(self, under_way: int = 0) -> str | None:
        """Return the limit that the snapshot has reached; None if the crawl may continue."""
        requests, size = self.store.totals()
        if requests + under_way >= self.web.pages:
            return PAGE_LIMIT
        return "byte limit" if size >= self.web.megabytes * MEGABYTE else None


def work_of(crawler: Crawler) -> Work:
    spider: Any = crawler.spider
    assert isinstance(spider.work, Work)
    return spider.work


class GateMiddleware:
    """The last middleware before the downloader: every request of Scrapy passes the gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "GateMiddleware":
        return cls(work_of(crawler).gate)

    async def process_request(self, request: Request) -> None:
        host = host_of(request.url)
        await self._gate.enter(host)
        request.meta["gate"] = host

    def process_response(self, request: Request, response: Response) -> Response:
        self._leave(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._leave(request)

    def _leave(self, request: Request) -> None:
        host = request.meta.pop("gate", None)
        if host is not None:
            self._gate.leave(host)


class RobotsMiddleware:
    """Fetch robots.txt of an origin before its first page, and drop the pages that it forbids (RFC 9309)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        work = work_of(crawler)
        self._store, self._gate, self._web = work.store, work.gate, work.web
        self._slow: set[str] = set()  # hosts of which it was said
        self._unreachable: dict[str, Robots] = {}  # for this run only: the next one asks again
        self._received: defaultdict[Request, int] = defaultdict(int)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        crawler.signals.connect(self._enough, signals.bytes_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "RobotsMiddleware":
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        if request.meta.get("robots"):
            return
        origin = robots.address(request.url)
        async with self._locks[origin]:  # pages that arrive while the file is fetched wait for it
            found = await self._robots(origin)
        if found.ruling is Ruling.UNREACHABLE:
            raise IgnoreRequest(NO_ROBOTS)
        if not found.allows(request.url):
            raise IgnoreRequest(FORBIDDEN)
        self._slow_down(host_of(request.url), found.delay())

    def _slow_down(self, host: str, delay: float) -> None:
        """Wait as long as robots.txt asks; say so if that is long, and leave out a host that asks for too long."""
        if delay > LONGEST_DELAY:
            if host not in self._slow:
                log.warning(
                    "%s asks for %g s between two requests, so none of its pages is fetched; write to its operators, "
                    "or remove it from %s",
                    host,
                    delay,
                    option("web.sites", "the URLs"),
                )
            self._slow.add(host)
            raise IgnoreRequest(TOO_SLOW)

        # Said once for a host: the crawl goes on, but it takes days.
        if delay >= LONG_DELAY and host not in self._slow:
            self._slow.add(host)
            log.warning("%s asks for %g s between two requests: %d pages a day", host, delay, 86_400 // delay)
        self._gate.slow_down(host, delay)

    async def _robots(self, origin: str) -> Robots:
        known = self._unreachable.get(origin) or self._store.robots(origin)
        if known is not None and not known.expired(time.time()):
            return known
        robots = await self._fetched(origin)
        if robots.ruling is Ruling.UNREACHABLE:
            log.warning("%s cannot be fetched, so this run skips its host", origin)
            self._unreachable[origin] = robots
        else:
            self._store.put_robots(origin, robots)
        return robots

    async def _fetched(self, origin: str) -> Robots:
        """Request robots.txt, again after 1, 2, 4 ... seconds if the server fails."""
        for attempt in range(self._web.retries + 1):
            robots = await self._asked(origin)
            if robots.ruling is not Ruling.UNREACHABLE:
                break
            self._store.count_error("robots.txt unreachable")
            if attempt < self._web.retries:
                await asyncio.sleep(BACKOFF_SECONDS * 2**attempt)
        return robots

    async def _asked(self, origin: str) -> Robots:
        """Try once, following redirects. After too many redirects the RFC allows everything; we allow nothing."""
        url = origin
        for _ in range(robots.MOST_REDIRECTS + 1):
            headers = {"Accept-Encoding": "identity"}  # so that 500 KiB are 500 KiB
            request = Request(url, headers=headers, meta={"robots": True, "download_maxsize": 0})
            try:
                assert self._crawler.engine
                answer = await self._crawler.engine.download_async(request)

            # A private address looks like a name that does not resolve, but has another reason and another remedy.
            except CannotResolveHostError as error:
                if urlsplit(url).hostname in PublicResolver.refused:
                    raise IgnoreRequest(PRIVATE) from error
                return Robots(Ruling.UNREACHABLE)
            except Exception as error:  # a timeout, a refused connection, no such host: all mean "no answer"
                log.info("%s: %s", url, type(error).__name__)
                return Robots(Ruling.UNREACHABLE)
            finally:
                self._received.pop(request, None)
            if not 300 <= answer.status < 400 or b"Location" not in answer.headers:
                return robots.ruling(answer.status, answer.body, _header(answer, b"Content-Encoding"))
            try:
                url = self._target(url, answer)
            except Refused as refused:
                log.warning("%s: redirect refused: %s", url, refused.reason)
                return Robots(Ruling.UNREACHABLE)
        return Robots(Ruling.UNREACHABLE)

    def _target(self, url: str, answer: Response) -> str:
        target = normalise(_header(answer, b"Location"), url)
        host = host_of(target)
        if is_private_literal(host) and host not in self._web.private_hosts:
            raise Refused("private address")
        return target

    def _enough(self, data: bytes, request: Request, **_: Any) -> None:
        """End the transfer of a robots.txt after the part that is read."""
        if request.meta.get("robots"):
            self._received[request] += len(data)
            if self._received[request] > robots.LARGEST:
                raise StopDownload(fail=False)


def _header(answer: Response, name: bytes) -> str:
    return (answer.headers.get(name) or b"").decode("latin-1")
