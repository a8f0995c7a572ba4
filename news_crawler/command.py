"""The command `sentence-distillery crawl`, which pyproject.toml registers as an entry point of the command line.

It imports the crawler when it runs, so that the help of all commands needs none of the extra's packages.
"""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters

if TYPE_CHECKING:
    from news_crawler.options import Web

EXTRA = "crawl"

log = logging.getLogger(__name__)


def run(options: argparse.Namespace) -> None:
    """Collect articles from news sites; respects robots.txt, and resumes an interrupted crawl."""
    from pydantic import ValidationError

    from news_crawler.collect import collect
    from news_crawler.options import Crawl
    from sentence_distillery.io.options import problems

    counters = Counters("articles")
    try:
        web = _web(options)
    except ValidationError as error:
        # The models name their fields; a user of the command line knows the options.
        names = {"languages": "--language", "private_hosts": "--private-host", "sections": "URL"}
        raise InputError(problems(error, {"name": "", "hosts": ""}, names)) from error
    collect(Crawl(source="web", inputs=[], folder="."), web, options.output, Path(), options.state, counters)
    log.info("%s articles in %s, dropped: %s", f"{counters.kept:,}", options.output, counters.reasons() or "none")


def _web(options: argparse.Namespace) -> "Web":
    """Return the options of the crawler; raises pydantic's ValidationError if one is out of its range."""
    from news_crawler.options import Site, Web

    # Sections of one host are one site, since politeness, limits and boilerplate count by site.
    hosts: dict[str, list[str]] = {}
    for url in options.sections:
        hosts.setdefault(_host(url), []).append(url)
    sites = [
        Site(name=host, hosts=[host], sections=urls, sitemaps=[], feeds=[], articles=options.articles)
        for host, urls in hosts.items()
    ]
    return Web(
        snapshot=options.snapshot,
        contact=options.contact,
        sites=sites,
        languages=[options.language],
        requests_per_second=options.requests_per_second,
        pages=options.pages,
        private_hosts=options.private_host,
    )


def _host(url: str) -> str:
    """Return the host of a URL as the crawl compares it; "" for one that is refused, which `Site` says."""
    from news_crawler.policy import Refused, host_of, normalise

    try:
        return host_of(normalise(url))
    except Refused:
        return ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sections", nargs="+", metavar="URL", help="start pages; the crawl stays below their paths")

    # Who asks, and what is kept
    parser.add_argument("--contact", required=True, help="your e-mail address or web page, sent in the User-Agent")
    parser.add_argument("--output", type=Path, required=True, help="directory of the articles, in Parquet")
    parser.add_argument("--state", type=Path, default=Path("crawl-state"), help="directory that keeps fetched pages")
    parser.add_argument(
        "--snapshot", default="1", help="name of the snapshot; a new name crawls again and fetches only new pages"
    )

    # Which pages, and how fast
    parser.add_argument("--articles", help="regular expression that matches in the URL of an article")
    parser.add_argument("--pages", type=int, default=10_000, help="maximum number of pages, at least 1 (10,000)")
    parser.add_argument(
        "--requests-per-second",
        type=float,
        default=1.0,
        help="maximum rate of requests to one host, above 0, at most 100 (1)",
    )
    parser.add_argument("--language", default="en", help="ISO 639-1 code of the articles that are kept (en)")
    parser.add_argument(
        "--private-host", action="append", default=[], help="host with a private address (intranet) that may be fetched"
    )
