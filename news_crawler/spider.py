"""The crawl on Scrapy: its downloader, engine, throttle and signals, with the store as the queue.

Scrapy keeps its own queue in files that SIGKILL leaves broken, so the scheduler here reads the store instead, and
redirects and retries are steps of the store, too.
"""

import asyncio
import logging
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    CloseSpider,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from scrapy.http import Headers, Response

from news_crawler.decoding import Unreadable, check_type
from news_crawler.network import PublicResolver, SingleRequestHandler
from news_crawler.policy import Refused
from news_crawler.politeness import (
    BACKOFF_SECONDS,
    FORBIDDEN,
    NO_ROBOTS,
    PRIVATE,
    TOO_SLOW,
    GateMiddleware,
    RobotsMiddleware,
    Work,
    work_of,
)
from news_crawler.progress import Progress
from news_crawler.robots import AGENT
from news_crawler.store import Answer, Entry

# Two requests of a host are under way, and one of them waits at the gate, so that the host is asked without a pause.
REQUESTS_OF_A_HOST = 2
REQUESTS = 16
MEGABYTE = 1_000_000
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_PAUSE = 3600.0
LONGEST_DELAY = 30.0
TOO_LARGE = "too large"

log = logging.getLogger(__name__)


class StoreScheduler(BaseScheduler):
    """A scheduler that takes pages from the store until a limit of the snapshot is reached."""

    def __init__(self, work: Work, spider: "NewsSpider") -> None:
        self._work = work
        self._spider = spider
        self._taken: dict[int, str] = {}  # pages under way, and the host that each of them keeps busy

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "StoreScheduler":
        assert isinstance(crawler.spider, NewsSpider)
        scheduler = cls(work_of(crawler), crawler.spider)
        crawler.signals.connect(scheduler._transferred, signals.request_left_downloader)
        return scheduler

    def has_pending_requests(self) -> bool:
        return not self._work.limit() and self._work.store.has_queued(self._taken)

    def enqueue_request(self, request: Request) -> bool:
        raise NotImplementedError("pages enter the crawl through the store")

    def next_request(self) -> Request | None:
        if self._work.failure or self._work.limit(under_way=len(self._taken)):
            return None
        hosts = Counter(self._taken.values())
        busy = [host for host, count in hosts.items() if count >= REQUESTS_OF_A_HOST]
        entry = self._work.store.next(time.time(), busy, self._taken)
        if entry is None:
            return None
        self._taken[entry.id] = entry.link.host
        return self._request(entry)

    def release(self, entry: Entry) -> None:
        """Release a page that is no longer queued, or that is queued for another attempt."""
        self._taken.pop(entry.id, None)

    def _transferred(self, request: Request) -> None:
        if (entry := request.meta.get("entry")) is not None and entry.id in self._taken:
            self._taken[entry.id] = ""

    def _request(self, entry: Entry) -> Request:
        known = self._work.store.last_visit(entry.link.url)
        headers = {
            "If-None-Match": known.etag if known else None,
            "If-Modified-Since": known.last_modified if known else None,
        }
        given = {name: value for name, value in headers.items() if value}
        return Request(entry.link.url, headers=given, meta={"entry": entry}, errback=self._spider.failed)


class NewsSpider(Spider):
    """A spider that keeps, redirects, retries or drops each answer in the store, and then analyses it."""

    name = "news"

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work

    async def start(self) -> AsyncIterator[Any]:
        """Yield nothing: the scheduler has the pages."""
        nothing: tuple[Request, ...] = ()
        for request in nothing:
            yield request

    async def parse(self, response: Response) -> None:
        with self._failing():
            assert response.request
            entry: Entry = response.request.meta["entry"]
            answer = Answer(response.status, header_pairs(response.headers), response.body, time.time())
            fetched = self._step(entry, answer)
            self._release(entry)
            if fetched:
                await self._analyse(entry)

    async def failed(self, failure: Any) -> None:
        """Handle a request that got no answer, or was not sent."""
        with self._failing():
            entry: Entry = failure.request.meta["entry"]
            self._fail(entry, failure.value)
            self._release(entry)

    def _step(self, entry: Entry, answer: Answer) -> bool:
        """Handle an answer, and tell whether there is a body to analyse."""
        store, location = self.work.store, answer.header("location")
        if answer.status in (200, 304):
            return self._keep(entry, answer)

        # Redirects and retries are steps of the store, so that a kill loses none of them.
        if 300 <= answer.status < 400 and location is not None:
            try:
                store.redirect(entry, answer.status, self.work.scope.redirect(location, entry.link))
            except Refused as refused:
                store.count_error(refused.reason)
                store.drop(entry, refused.reason, answer.status, location)
        elif answer.status in RETRIED:
            self._retry(entry, f"HTTP {answer.status}", answer.status, pause=retry_after(answer))
        else:
            store.count_error(f"HTTP {answer.status}")
            store.drop(entry, f"HTTP {answer.status}", answer.status, size=len(answer.payload))
        return False

    def _keep(self, entry: Entry, answer: Answer) -> bool:
        try:
            check_type(answer.header("content-type") if entry.link.kind == "page" else None)
        except Unreadable as unreadable:
            self.work.store.drop(entry, str(unreadable), answer.status, size=len(answer.payload))
            return False
        self.work.store.keep(entry, answer)
        return True

    async def _analyse(self, entry: Entry) -> None:
        pages = self.work.pages
        visit, result = pages.known(entry)
        if result is None:
            payload = self.work.store.payload(visit.digest)
            result = await asyncio.to_thread(pages.analyse, entry.link, visit, payload)
        pages.finish(entry, visit, result)

    def _fail(self, entry: Entry, error: BaseException | None) -> None:
        kind = kind_of(error, entry)
        if kind in (FORBIDDEN, NO_ROBOTS, TOO_SLOW):
            self.work.store.forbid(entry, kind, for_this_run=kind != FORBIDDEN)
        elif kind in (TOO_LARGE, PRIVATE):
            self.work.store.count_error(kind)
            self.work.store.drop(entry, kind, detail=str(error)[:500])
        else:
            self._retry(entry, kind, None, detail=str(error)[:500])

    def _retry(
        self, entry: Entry, kind: str, status: int | None, detail: str | None = None, pause: float = 0.0
    ) -> None:
        self.work.store.count_error(kind)
        if entry.attempts >= self.work.web.retries:
            self.work.store.drop(entry, kind, status, detail)
            return
        self.work.gate.pause(entry.link.host, pause)
        self.work.store.retry(entry, time.time() + max(pause, BACKOFF_SECONDS * 2**entry.attempts))

    def _release(self, entry: Entry) -> None:
        assert self.crawler.engine
        scheduler = self.crawler.engine.scheduler
        assert isinstance(scheduler, StoreScheduler)
        scheduler.release(entry)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """End the crawl after an error in a callback, such as a full disk; Scrapy would log it and continue."""
        try:
            yield
        except Exception as error:
            self.work.failure = self.work.failure or error
            raise CloseSpider("failed") from error


def kind_of(error: BaseException | None, entry: Entry) -> str:
    """Name the kind of an error, for the counters and the list of dropped pages."""
    if isinstance(error, IgnoreRequest):
        return str(error)
    if isinstance(error, CannotResolveHostError) and urlsplit(entry.link.url).hostname in PublicResolver.refused:
        return PRIVATE
    return next((kind for known, kind in _KINDS.items() if isinstance(error, known)), "connection broken")


_KINDS: dict[type[Exception], str] = {
    DownloadTimeoutError: "timeout",
    DownloadConnectionRefusedError: "connection refused",
    CannotResolveHostError: "host not found",
    ResponseDataLossError: "cut off",
    DownloadCancelledError: TOO_LARGE,
}


def header_pairs(headers: Headers) -> list[tuple[str, str]]:
    """Return the headers as received, one pair each; Latin-1 decodes any byte."""
    return [(key.decode("latin-1"), value.decode("latin-1")) for key in headers for value in headers.getlist(key)]


def retry_after(answer: Answer) -> float:
    """Return the seconds of Retry-After (RFC 9110, 10.2.3), an hour at most; 0 if there is none."""
    value = (answer.header("retry-after") or "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_PAUSE)
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # OverflowError: a year that no calendar has
        return 0.0
    known = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(max((known - datetime.now(UTC)).total_seconds(), 0.0), LONGEST_PAUSE)


class _Process(AsyncCrawlerProcess):
    """A process that knows which signal ended it, for the exit status."""

    stopped_by: int = signal.SIGTERM

    def _signal_shutdown(self, signum: int, frame: Any) -> None:
        self.stopped_by = signum
        super()._signal_shutdown(signum, frame)


def run(work: Work) -> None:
    """Crawl until nothing is queued or a limit is reached; SIGINT and SIGTERM end it between two pages.

    Raises the error that made the crawl fail; SystemExit if a signal ended it.
    """
    PublicResolver.allowed = frozenset(urlsplit(f"//{host}").hostname or "" for host in work.web.private_hosts)
    logging.disable(logging.INFO)  # Scrapy's messages: it resets its loggers' levels when the process is made
    process = _Process(_settings(work))
    logging.disable(logging.NOTSET)
    logging.getLogger("scrapy").setLevel(logging.CRITICAL)  # this project counts, lists and shows each error itself

    # A reason of the end tells a finished crawl from one that a signal stopped.
    crawler = process.create_crawler(NewsSpider)
    reasons: list[str] = []
    crawler.signals.connect(lambda reason: reasons.append(reason), signals.spider_closed, weak=False)
    done = process.crawl(crawler, work=work)
    process.start()

    # Scrapy logs errors of callbacks and goes on; here the first one ends the run.
    if work.failure is not None:
        raise work.failure
    if done.cancelled() or (error := done.exception()) is not None:
        raise RuntimeError("the crawl broke off") from error
    if reasons != ["finished"]:
        log.info("stopped (%s); run again to continue", ", ".join(reasons) or "unknown")
        sys.exit(128 + process.stopped_by)


def _settings(work: Work) -> dict[str, Any]:
    delay = 1 / work.web.requests_per_second
    return {
        "USER_AGENT": user_agent(work.web.contact),
        "DEFAULT_REQUEST_HEADERS": {
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.1",
            "Accept-Encoding": "gzip, deflate",
            "Accept-Language": ", ".join(work.web.languages) or "*",
        },
        # The queue is in SQLite: Scrapy's own files are corrupt after a kill.
        "SCHEDULER": StoreScheduler,
        # Named one by one: Scrapy's defaults also follow redirects, retry and keep cookies, which are decided here.
        "DOWNLOADER_MIDDLEWARES_BASE": {
            "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": 100,
            "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": 150,
            "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": 200,
            RobotsMiddleware: 300,
            GateMiddleware: 400,
        },
        "SPIDER_MIDDLEWARES_BASE": {},
        "EXTENSIONS_BASE": {"scrapy.extensions.throttle.AutoThrottle": 0, Progress: 1},
        # Other schemes than the web's have no handler, so a link to a file cannot be fetched.
        "DOWNLOAD_HANDLERS": {
            "http": SingleRequestHandler,
            "https": SingleRequestHandler,
            **dict.fromkeys(("file", "ftp", "s3", "data")),
        },
        # Names that resolve to private addresses are refused where they are resolved, not where they are written.
        "TWISTED_DNS_RESOLVER": PublicResolver,
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        # Several hosts at once, each with one request at a time.
        "CONCURRENT_REQUESTS": REQUESTS,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": delay,
        "DOWNLOAD_DELAY_JITTER": 0.0,
        # It may only slow down: the delay of the settings stays the least.
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": delay,
        "AUTOTHROTTLE_MAX_DELAY": max(LONGEST_DELAY, delay),
        "DOWNLOAD_TIMEOUT": work.web.timeout_seconds,
        "DOWNLOAD_MAXSIZE": int(work.web.page_megabytes * MEGABYTE),
        "DOWNLOAD_WARNSIZE": 0,
        # Messages go through this library's own log.
        "LOG_INSTALL_ROOT_HANDLER": False,
    }


def user_agent(contact: str | None) -> str:
    """sentence-distillery/0.3.0 (+mailto:you@example.org): the crawler, and the contact for complaints."""
    return f"{AGENT}/{version('sentence-distillery')} (+{'mailto:' if '@' in (contact or '') else ''}{contact})"
