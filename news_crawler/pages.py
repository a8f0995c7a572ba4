"""Turn fetched bodies into analyses and links, and reuse the analyses of earlier runs."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from news_crawler.options import Web
from news_crawler.policy import Link, Refused, Scope
from news_crawler.store import Entry, Store, Visit
from news_crawler.workers import Limits, Pool

MEGABYTE = 1_000_000
BATCH = 16
OUTSIDE_DATES = "outside the date window"
WORKERS = min(4, os.cpu_count() or 1)
# These decide how a body is read: if one of them or a limit changes, the stored bodies are read again.
_SOURCES = ("decoding.py", "extraction.py", "workers.py")
_PACKAGES = ("trafilatura", "htmldate", "lxml", "w3lib")


def extractor_of(web: Web) -> str:
    """Name the extractor by a hash of its code, its packages and its limits."""
    code = hashlib.sha256(b"".join((Path(__file__).parent / name).read_bytes() for name in _SOURCES)).hexdigest()[:12]
    packages = " ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"{code} {packages} {web.page_megabytes} MB {web.extraction_seconds} s {web.extraction_megabytes} MB"


class Pages:
    """Analyse bodies in child processes, follow their links, and keep both in the store."""

    def __init__(self, store: Store, scope: Scope, web: Web) -> None:
        self.extractor = extractor_of(web)
        self.links_refused: Counter[str] = Counter()
        self._store = store
        self._scope = scope
        self._web = web
        self._pool = Pool(WORKERS, Limits(web.extraction_seconds, web.extraction_megabytes))

    def stop(self) -> None:
        self._pool.stop()

    def known(self, entry: Entry) -> tuple[Visit, dict[str, Any] | None]:
        """Return the visit of a fetched page, and its analysis if the same body was analysed before."""
        visit = self._store.last_visit(entry.link.url)
        assert visit is not None, f"{entry.link.url} is fetched, but has no visit"
        return visit, self._store.analysis(entry.link.url, visit.digest, self.extractor)

    def analyse(self, link: Link, visit: Visit, payload: bytes) -> dict[str, Any]:
        """Analyse a body in a child process; does not use the store, so that threads may call it."""
        request = {
            "url": link.url,
            "kind": link.kind,
            "content_type": visit.content_type,
            "content_encoding": visit.content_encoding,
            "limit": int(self._web.page_megabytes * MEGABYTE),
        }
        return self._pool.run(request, payload)

    def finish(self, entry: Entry, visit: Visit, result: dict[str, Any]) -> None:
        """Keep the analysis, queue the links that belong to the crawl, and list the refused ones."""
        self._finish(entry, visit, result)
        self.finish_settled()

    def finish_settled(self) -> None:
        """Follow the links of pages that are not fetched again, as if they had been; these may lead to more of them."""
        while entries := self._store.settled():
            for entry in entries:
                visit, result = self.known(entry)
                assert result is not None, f"{entry.link.url} is settled, but has no analysis"
                self._finish(entry, visit, result)

    def _finish(self, entry: Entry, visit: Visit, result: dict[str, Any]) -> None:
        links = [link for found in result["links"] if (link := self._followed(entry.link, *found)) is not None]
        self._store.finish_page(entry, visit.digest, self.extractor, result, links)

    def _followed(self, parent: Link, url: str, kind: str, published: str | None, modified: str | None) -> Link | None:
        try:
            # A link out of the site is counted, one that would be a page of it is listed.
            link = self._scope.follow(url, parent, kind)
            if not self._may_be_wanted(published, modified):
                raise Refused(OUTSIDE_DATES, link)
        except Refused as refused:
            self.links_refused[refused.reason] += 1
            if refused.link is not None:
                self._store.refuse(refused.link, refused.reason)
            return None
        return link

    def _may_be_wanted(self, published: str | None, modified: str | None) -> bool:
        """Tell whether the dates of a feed or a sitemap allow a wanted day; no page is published after its change."""
        since, until = self._web.since, self._web.until
        too_late = until is not None and published is not None and published > until
        too_early = since is not None and min(filter(None, (published, modified)), default=since) < since
        return not too_late and not too_early

    def analyse_kept(self) -> int:
        """Analyse stored pages that no run has analysed, or that another extractor has; needs no network.

        Returns the number of bodies that were read.
        """
        count = self._analyse_all((None, link, visit) for link, visit in self._store.outdated(self.extractor))
        entries = self._store.fetched()
        count += self._analyse_all((entry, entry.link, self.known(entry)[0]) for entry in entries)
        self.finish_settled()
        return count

    def _analyse_all(self, jobs: Iterator[tuple[Entry | None, Link, Visit]]) -> int:
        count = 0
        with ThreadPoolExecutor(WORKERS) as threads:
            # A few at a time, so that waiting bodies do not fill the memory.
            while batch := [*islice(jobs, BATCH)]:
                payloads = [self._store.payload(visit.digest) for _, _, visit in batch]
                links, visits = [link for _, link, _ in batch], [visit for _, _, visit in batch]
                results = threads.map(self.analyse, links, visits, payloads)
                for (entry, link, visit), result in zip(batch, results, strict=True):
                    if entry is None:
                        self._store.replace_analysis(link, visit.digest, self.extractor, result)
                    else:
                        self.finish(entry, visit, result)
                count += len(batch)
        return count
