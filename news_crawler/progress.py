"""Log the progress of a crawl, a line every ten seconds."""

import asyncio
import logging

from scrapy import signals
from scrapy.crawler import Crawler

from news_crawler.politeness import Work, work_of

LOG_SECONDS = 10.0

log = logging.getLogger(__name__)


class Progress:
    """Logs pages done and queued, articles, megabytes and errors by kind while the spider runs."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Progress":
        extension = cls(work_of(crawler))
        crawler.signals.connect(extension._opened, signals.spider_opened)
        crawler.signals.connect(extension._closed, signals.spider_closed)
        return extension

    def _opened(self) -> None:
        self._task = asyncio.ensure_future(self._lines())

    def _closed(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _lines(self) -> None:
        while True:
            await asyncio.sleep(LOG_SECONDS)
            log.info("%s", describe(self._work))


def describe(work: Work) -> str:
    """Describe it: `120 pages, 85 articles, 3.1 MB, 40 queued; errors: 2 timeout, 1 HTTP 404`."""
    requests, size = work.store.totals()
    states = work.store.states()
    queued = sum(states.get(state, 0) for state in ("queued", "fetched"))
    errors = ", ".join(f"{count} {kind}" for kind, count in work.store.errors().items())
    text = f"{requests} pages, {work.store.articles()} articles, {size / 1e6:.1f} MB, {queued} queued"
    return f"{text}; errors: {errors}" if errors else text
