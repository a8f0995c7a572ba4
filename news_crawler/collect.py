"""Collect articles from one of three sources in one schema: url, source, published, title, text.

    packaged_articles()                                     the Lee background corpus of gensim's package
    read_files(inputs, counters)                            files: text, lines, CoNLL-U, JSON, CSV, Parquet, Feather
    web_articles(web, state, directory, counters)           a crawl of news sites (crawl/snapshot.py)

`collect` writes the articles of the source that its options name.
"""

import importlib.util
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from news_crawler.dates import parse_date
from news_crawler.options import Crawl, CrawlInput, Web
from news_crawler.snapshot import web_articles
from sentence_distillery.corpus.options import Columns
from sentence_distillery.corpus.schema import ARTICLES
from sentence_distillery.corpus.tables.formats import SUFFIXES, WHOLE, Row, format_of, read_rows
from sentence_distillery.corpus.tables.reading import files_in
from sentence_distillery.io.artifacts import InputError, atomic_directory, has_columns, refuse_all_but, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.errors import option
from sentence_distillery.io.unicode import whole_surrogates

PART_ARTICLES = 5000
UNKNOWN_DATES = "dates not understood"
IGNORED_FILES = "files of other kinds ignored"
OTHER_SOURCES = "articles of other sources ignored"

log = logging.getLogger(__name__)


def collect(crawl: Crawl, web: Web, target: Path, root: Path, state: Path, counters: Counters) -> None:
    """Write the articles of the source that `crawl` names, as part-*.parquet of the schema ARTICLES.

    Args:
        crawl: Which source, and which files.
        web: Sites and limits of the source `web`; not used by the others.
        target: Directory to write; articles that it has are replaced as a whole, or not at all.
        root: Directory that files must lie in.
        state: Directory in which a crawl keeps pages and progress; it must outlive a run.
        counters: Counts articles that are kept, and those that are dropped, by reason.

    Raises:
        InputError: If the source cannot be read or has no article, or the directory holds anything but articles.
    """
    refuse_all_but(target, lambda entry: has_columns(entry, ["url", "source"]), "collected articles")
    with atomic_directory(target) as directory:
        write_articles(directory, _articles_of(crawl, web, directory, root, state, counters))
        if not counters.kept:
            raise InputError(_NO_ARTICLE[crawl.source].format(dict(counters.dropped) or "none", _web_options()))


def _articles_of(crawl: Crawl, web: Web, directory: Path, root: Path, state: Path, counters: Counters) -> Iterator[Row]:
    if crawl.source == "web":
        return web_articles(web, state, directory, counters)
    if crawl.source == "package":
        return with_text(packaged_articles(), counters)
    if not crawl.inputs:
        raise InputError(f"crawl.inputs is empty; list files below {root}, or set crawl.source to 'package'.")
    return with_text(read_files(crawl.inputs, counters, root), counters)


_NO_ARTICLE = {
    "package": "the package has no articles; run `pip install --force-reinstall gensim`.",
    "files": "crawl.inputs have no article with text; check whether columns.text names the right column.",
    "web": "the crawl found no article (pages by reason: {}); check {}.",
}


def _web_options() -> str:
    """Name the options that choose pages and articles."""
    return option(
        "web.sites, web.languages, web.since and web.until", "the URLs, --private-host, --articles and --language"
    )


def packaged_articles() -> Iterator[Row]:
    """Yield the Lee background corpus, 300 articles of the Australian Broadcasting Corporation, as rows of ARTICLES.

    It is read from gensim's package, without an import of gensim. Raises InputError if gensim is not installed.

    >>> next(packaged_articles())["url"]
    'package:gensim/lee_background.cor#1'
    """
    package = importlib.util.find_spec("gensim")
    if package is None or package.origin is None:
        raise InputError("gensim, which holds the Lee corpus, is not installed; run `pip install gensim`.")
    corpus = Path(package.origin).parent / "test/test_data/lee_background.cor"
    try:
        lines = corpus.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except OSError as error:
        raise InputError(
            f"{corpus} cannot be read: {error.strerror}; run `pip install --force-reinstall gensim`."
        ) from error

    # A document is a line of the file.
    for number, text in enumerate(lines, start=1):
        url = f"package:gensim/lee_background.cor#{number}"
        yield {"url": url, "source": "lee", "published": None, "title": None, "text": text}


def read_files(inputs: Iterable[CrawlInput], counters: Counters, root: Path | None = None) -> Iterator[Row]:
    """Yield the articles of all inputs in order, as rows of ARTICLES; the files of a directory are sorted by name.

    Counts dates that are not understood, and files and articles that are ignored. Raises InputError if an input is
    missing, lies outside of `root`, cannot be read, or lacks a column.
    """
    for given in inputs:
        for path in input_files(given, counters, root):
            format = given.format or format_of(path) or ""
            for place, row in read_rows(path, format, {name for _, name in given.columns if name}):
                whole = format in WHOLE
                article = (
                    _text_article(path, row) if whole else _article(place, row, given.columns, path.stem, counters)
                )

                # Counted, not silently left out: a mistyped source would leave an empty corpus.
                if given.sources and article["source"] not in given.sources:
                    _count(counters, OTHER_SOURCES, 1)
                else:
                    yield article


def input_files(entry: CrawlInput, counters: Counters, root: Path | None) -> list[Path]:
    """List the readable files of an input; raises InputError if it is outside of `root`, missing, or has none."""
    given = Path(entry.path)
    # Lexically, because the input may be a link to a file elsewhere, which a watcher of `root` follows.
    if root is not None and not Path(os.path.normpath(Path.cwd() / given)).is_relative_to(Path.cwd() / root):
        raise InputError(
            f"crawl.inputs: {given} is not below {root} (crawl.folder), and DVC notices changes only there; move "
            "it, or correct crawl.folder."
        )
    if not given.exists():
        raise InputError(f"crawl.inputs: {given} does not exist; create it, or remove it from crawl.inputs.")
    if root is not None:
        _refuse_linked_directories(given, root)
    ignored: Counter[str] = Counter()
    files = files_in(given, ignored)
    for reason, number in ignored.items():
        _count(counters, reason, number)

    # A stray README beside the articles is counted and left out; an input of nothing else is a mistake.
    readable = [path for path in files if entry.format or format_of(path)]
    if not readable:
        raise InputError(
            f"crawl.inputs: {given}: no file has a known suffix; use {', '.join(SUFFIXES)}, or name its format."
        )
    if len(readable) < len(files):
        _count(counters, IGNORED_FILES, len(files) - len(readable))
    return readable


def _refuse_linked_directories(given: Path, root: Path) -> None:
    """Raise InputError if a directory on the way to `given`, or below it, is a link, whose changes go unnoticed."""
    below = [path for path in (*given.parents, given) if path.is_relative_to(root) and path != root]
    for path in (*below, *given.rglob("*")):
        if path.is_symlink() and path.is_dir():
            raise InputError(
                f"crawl.inputs: {path} links to a directory, where DVC notices no changes; link its files instead."
            )


def _text_article(path: Path, row: Row) -> Row:
    url, source = map(whole_surrogates, (str(path), path.parent.name))  # a name need not be UTF-8
    return {"url": url, "source": source, "published": None, "title": None, "text": row["text"]}


def _article(place: str, row: Row, columns: Columns, source: str, counters: Counters) -> Row:
    """Turn a row of a file into one of ARTICLES; its place replaces a missing url or source."""
    text = row.get(columns.text)
    if text is not None and not isinstance(text, str):
        raise InputError(f"{place}: column '{columns.text}' holds {type(text).__name__}, expected text.")
    return {
        "url": _string(row, columns.url) or place,
        "source": _string(row, columns.source) or whole_surrogates(source),
        "published": _published(row.get(columns.published) if columns.published else None, counters),
        "title": _string(row, columns.title),
        "text": whole_surrogates(text or ""),
    }


def _string(row: Row, column: str | None) -> str | None:
    value = row.get(column) if column else None
    return None if value is None or value == "" else whole_surrogates(str(value))


def _published(value: Any, counters: Counters) -> date | None:
    """Return the day of a date, a timestamp or a text; None, and counted, for a text that is not a date."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date) or value is None:
        return value
    day = parse_date(str(value))
    if day is None and str(value).strip():
        _count(counters, UNKNOWN_DATES, 1)
    return day


def _count(counters: Counters, name: str, count: int) -> None:
    counters.details[name] = int(counters.details.get(name, 0)) + count


def with_text(articles: Iterable[Row], counters: Counters) -> Iterator[Row]:
    """Count every article and pass on those with text."""
    for article in articles:
        if article["text"].strip():
            counters.keep()
            yield article
        else:
            counters.drop("empty")


def write_articles(directory: Path, articles: Iterable[Row]) -> None:
    """Write parts of PART_ARTICLES articles each, one in memory at a time."""
    rows: list[Row] = []
    part = 0
    for article in articles:
        rows.append(article)
        if len(rows) == PART_ARTICLES:
            _write_part(directory, part, rows)
            rows, part = [], part + 1

    # The last part is shorter.
    if rows:
        _write_part(directory, part, rows)


def _write_part(directory: Path, part: int, rows: list[Row]) -> None:
    write_table(directory / f"part-{part:05d}.parquet", pa.Table.from_pylist(rows, schema=ARTICLES))
    if len(rows) == PART_ARTICLES:
        log.info("%d articles read", (part + 1) * PART_ARTICLES)
