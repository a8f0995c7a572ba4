"""Take one snapshot of the sites: crawl the missing pages, then choose the articles among all stored pages.

A name and a scope (sites, days, depth) identify a snapshot; a change of either begins a new one.
A finished snapshot is not crawled again: a further run only reads the stored pages. The articles are those of
all snapshots, since a page that has left the front page is still an article.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from news_crawler.dates import parse_date
from news_crawler.options import Web
from news_crawler.pages import OUTSIDE_DATES, Pages
from news_crawler.policy import PAGE_LIMIT, Link, Refused, Scope
from news_crawler.robots import AGENT
from news_crawler.store import Store
from sentence_distillery.corpus.language import check_language, is_in_language
from sentence_distillery.corpus.schema import CRAWL_DROPPED, DROPPED_FILE
from sentence_distillery.corpus.text import tokenize, unspaced_words
from sentence_distillery.io.artifacts import InputError, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.errors import option

Row = dict[str, Any]
NOT_REACHED = "not reached"

log = logging.getLogger(__name__)


def web_articles(web: Web, state: Path, directory: Path, counters: Counters) -> Iterator[Row]:
    """Crawl news sites and yield their articles by URL, as rows of ARTICLES.

    Args:
        web: Sites, limits and what is kept. A finished snapshot is read from `state` without the network.
        state: Directory of the crawler, with a database and the fetched pages. An interrupted crawl resumes there.
        directory: Gets `dropped.parquet` (CRAWL_DROPPED), the pages that were not saved, with the reason.
        counters: Counts articles, and pages that are dropped, by reason.

    Raises:
        InputError: If no site or no contact is given, a site is refused, `state` is in use, damaged or full.
    """
    check(web)
    scope = Scope(web)
    store = _opened(web, state)
    try:
        try:
            limit = _crawl(web, scope, store, counters)
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{state} could not be written: {error}. The fetched pages are kept; free some space, then run again."
            ) from error

        # Which page stands for a text can be said only after all were read.
        choice = Choice(web, scope, store, limit)
        for row in choice.dropped:
            counters.drop(row["reason"])
        write_table(directory / DROPPED_FILE, pa.Table.from_pylist(choice.dropped, schema=CRAWL_DROPPED))
        for article in choice.articles():
            counters.keep()
            yield article
    finally:
        store.close()


def _opened(web: Web, state: Path) -> Store:
    """Open the store of a crawl; raises InputError if that fails, so that the output is not blamed."""
    try:
        return Store(web.snapshot, _digest(web), AGENT, state)
    except OSError as error:
        place = option("state", params=str(state))
        raise InputError(
            f"{state} could not be written: {error.strerror}; give a directory that can be written as {place}."
        ) from error


def check(web: Web) -> None:
    """Raise InputError if a crawl must not start."""
    if not web.sites:
        raise InputError(
            "web.sites is empty; name a site, or use a preset, such as conf/site/china-daily.yaml of the repository."
        )
    if web.contact is None:
        raise InputError(
            "web.contact is not set; give an e-mail address or a web page where the sites' operators can reach you, "
            "such as you@example.org. It is sent with each request."
        )

    # A start page that the crawl would refuse is a mistake in the options.
    scope = Scope(web)
    for link in scope.seeds():
        try:
            scope.check_host(link)
        except Refused as refused:
            remedy = option(
                "list its host in the site's hosts, and in web.private_hosts if it is in a private network",
                f"allow its host by --private-host {link.host}",
            )
            raise InputError(
                f"{option('web.sites', 'URL')}: {link.url} is refused ({refused.reason}); {remedy}."
            ) from refused
    for language in web.languages:
        check_language(language)


def _digest(web: Web) -> str:
    """Hash the options that decide which pages are requested, not limits, politeness and the choice of articles."""
    asked = web.model_dump(include={"sites", "since", "until", "depth"})
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _crawl(web: Web, scope: Scope, store: Store, counters: Counters) -> str | None:
    """Fetch and analyse missing pages; return the limit that ended it, or None if the snapshot is complete."""
    pages = Pages(store, scope, web)
    limit = None

    # What an earlier run had fetched is read before the network is asked.
    try:
        store.unblock()
        if not store.finished:
            store.add(scope.seeds())
        if read := pages.analyse_kept():
            log.info("read %d pages that an earlier run had fetched", read)
        if not store.finished:
            limit = _fetch(web, scope, store, pages)
    finally:
        pages.stop()
    _count(store, pages, counters)
    return limit


def _fetch(web: Web, scope: Scope, store: Store, pages: Pages) -> str | None:
    # Scrapy takes a second to import, and a finished snapshot needs none of it.
    from news_crawler.politeness import Gate, Work
    from news_crawler.progress import describe
    from news_crawler.spider import run

    work = Work(store, scope, web, pages, Gate(1 / web.requests_per_second))
    if store.has_queued():
        run(work)
    log.info("%s", describe(work))

    # Pages that robots.txt blocks for this run are asked for again by the next one.
    left = store.states()
    if not {"queued", "fetched", "blocked"} & {*left}:
        store.finish()
        return None
    limit = work.limit()
    if limit:
        log.warning(
            "%s is reached and %d pages are not fetched; %s and run again to continue",
            limit,
            left.get("queued", 0),
            _above(limit),
        )
    return limit


def _above(limit: str) -> str:
    """Say how the crawl goes on after a limit; the command line has no option for bytes."""
    if limit == PAGE_LIMIT:
        return f"raise {option('web.pages', '--pages')}"
    return option("raise web.megabytes", "give another --snapshot")


def _count(store: Store, pages: Pages, counters: Counters) -> None:
    requests, size = store.totals()
    counters.details |= {"requests": requests, "megabytes": round(size / 1e6, 3)}
    counters.details |= {f"error: {kind}": count for kind, count in store.errors().items()}
    counters.details |= {f"links: {reason}": count for reason, count in sorted(pages.links_refused.items())}


class Choice:
    """The choice of articles among the analysed pages, each once, with the reasons against the others."""

    def __init__(self, web: Web, scope: Scope, store: Store, limit: str | None) -> None:
        self._web = web
        self._scope = scope
        self._store = store
        self._names = {site.name for site in web.sites}
        self._kept: dict[str, str] = {}  # URL of the page -> URL under which it is known
        self.dropped: list[Row] = []
        self._judge_analysed()
        self._judge_unread(limit or NOT_REACHED)

    def articles(self) -> Iterator[Row]:
        for link, result in self._store.analyses():
            if link.url in self._kept:
                yield {
                    "url": self._kept[link.url],
                    "source": link.site,
                    "published": parse_date(result["published"]) if result["published"] else None,
                    "title": result["title"],
                    "text": result["text"],
                }

    def fault(self, link: Link, result: dict[str, Any]) -> str | None:
        """Return the reason why an analysed page is not a wanted article; None if it is one."""
        says = self._scope.is_article(link.site, link.url)
        if says is False and link.kind == "page":
            return "not an article's URL"
        if "text" not in result or not (result["article"] or says):
            return str(result["reason"])

        # What the user asks for comes last, since it needs the text.
        if len(tokenize(result["text"])) + unspaced_words(result["text"]) < self._web.minimum_words:
            return "short"
        if fault := self._date_fault(result["published"]):
            return fault
        languages = self._web.languages
        if languages and not any(is_in_language(result["text"], language) for language in languages):
            return "language"
        return None

    def _date_fault(self, published: str | None) -> str | None:
        since, until = self._web.since, self._web.until
        if not since and not until:
            return None
        if published is None:
            return "no date"
        return OUTSIDE_DATES if (since and published < since) or (until and published > until) else None

    def _judge_analysed(self) -> None:
        """Choose one page for each canonical URL, and one for each text: the first by URL."""
        first: dict[str, str] = {}  # canonical URL, or digest of the text -> the page that was chosen
        self._analysed: set[str] = set()

        # The first of equals by URL, so that each run chooses the same page.
        for link, result, canonical in self._candidates():
            text = hashlib.sha256(" ".join(result["text"].split()).encode()).hexdigest()
            chosen = first.get(canonical) or first.get(text)
            if chosen is None:
                first[canonical] = first[text] = link.url
                self._kept[link.url] = canonical
            else:
                reason = "duplicate: canonical" if canonical in first else "duplicate: text"
                self._drop(link, None, reason, chosen)

    def _candidates(self) -> Iterator[tuple[Link, dict[str, Any], str]]:
        """Yield articles with their canonical URLs: first the pages at these URLs, then the others."""
        for standing in (True, False):
            for link, result in self._store.analyses():
                if link.site not in self._names:
                    continue  # a site that is not in this snapshot
                self._analysed.add(link.url)
                fault = self.fault(link, result)
                canonical = self._scope.canonical(link.site, link.url, result.get("canonical"))
                if fault is None and (canonical == link.url) is standing:
                    yield link, result, canonical
                elif fault is not None and standing:
                    self._drop(link, None, fault, result.get("detail"))

    def _judge_unread(self, otherwise: str) -> None:
        for link, status, reason, detail in self._store.unread():
            if link.url not in self._analysed:
                self._drop(link, status, reason or otherwise, detail)

    def _drop(self, link: Link, status: int | None, reason: str, detail: str | None) -> None:
        self.dropped.append(
            {"url": link.url, "source": link.site, "status": status, "reason": reason, "detail": detail}
        )
