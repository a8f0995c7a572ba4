"""Articles from where `crawl.source` says into one schema: url, source, published, title, text.

`package` is the Lee background corpus inside gensim's wheel, 300 articles of the Australian Broadcasting Corporation;
`files` are the user's own, below data/external, which DVC watches; `web` is what section `web` of the parameters names.
"""

import importlib.util
import logging
import os
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from sentence_distillery.corpus.dates import parse_date
from sentence_distillery.corpus.options import Columns
from sentence_distillery.corpus.readers import SUFFIXES, Row, read_rows
from sentence_distillery.corpus.schema import ARTICLES
from sentence_distillery.crawl.options import Crawl, CrawlInput, Web
from sentence_distillery.crawl.snapshot import web_articles
from sentence_distillery.io.artifacts import InputError, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unicode import whole_surrogates

EXTERNAL = Path("data/external")
PART_ARTICLES = 5000
UNKNOWN_DATES = "dates not understood"
IGNORED_FILES = "files of other kinds ignored"

log = logging.getLogger("stages")


def lee_articles() -> Iterator[Row]:
    """The Lee background corpus, one article a line; gensim itself is not imported."""
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
    for number, text in enumerate(lines, start=1):
        url = f"package:gensim/lee_background.cor#{number}"
        yield {"url": url, "source": "lee", "published": None, "title": None, "text": text}


def file_articles(inputs: Iterable[CrawlInput], counters: Counters) -> Iterator[Row]:
    """The articles of all inputs in order; the files of a directory are sorted by name."""
    for given in inputs:
        for path in input_files(given, counters):
            format = given.format or SUFFIXES[path.suffix]
            for place, row in read_rows(path, format, given.columns):
                if format == "text":
                    yield _text_article(path, row)
                else:
                    yield _article(place, row, given.columns, path.stem, counters)


def input_files(entry: CrawlInput, counters: Counters) -> list[Path]:
    """The readable files of an input; raises InputError where it is outside data/external, missing, or has none."""
    given = Path(entry.path)
    # Lexically, because what lies below may be a link to a file that is kept elsewhere: DVC follows it, too.
    if not Path(os.path.normpath(Path.cwd() / given)).is_relative_to(Path.cwd() / EXTERNAL):
        raise InputError(f"crawl.inputs: {given} is not below {EXTERNAL}, which DVC watches; put it there.")
    if not given.exists():
        raise InputError(f"crawl.inputs: {given} does not exist; put it there, or take it out of crawl.inputs.")
    below = [path for path in (*given.parents, given) if path.is_relative_to(EXTERNAL) and path != EXTERNAL]
    for path in (*below, *given.rglob("*")):
        if path.is_symlink() and path.is_dir():
            raise InputError(f"crawl.inputs: {path} links to a directory, in which DVC sees no change; link its files.")
    files = sorted(path for path in given.rglob("*") if path.is_file()) if given.is_dir() else [given]
    readable = [path for path in files if entry.format or path.suffix in SUFFIXES]
    if not readable:
        raise InputError(
            f"crawl.inputs: {given} is no file that can be read; bring {', '.join(SUFFIXES)}, or name its format."
        )
    if len(readable) < len(files):
        _count(counters, IGNORED_FILES, len(files) - len(readable))
    return readable


def _text_article(path: Path, row: Row) -> Row:
    return {"url": str(path), "source": path.parent.name, "published": None, "title": None, "text": row["text"]}


def _article(place: str, row: Row, columns: Columns, source: str, counters: Counters) -> Row:
    """`row` in the schema's own columns; what the file does not name is taken from its place."""
    text = row.get(columns.text)
    if text is not None and not isinstance(text, str):
        raise InputError(f"{place}: column '{columns.text}' holds {type(text).__name__}, expected text.")
    return {
        "url": _string(row, columns.url) or place,
        "source": _string(row, columns.source) or source,
        "published": _published(row.get(columns.published) if columns.published else None, counters),
        "title": _string(row, columns.title),
        "text": whole_surrogates(text or ""),
    }


def _string(row: Row, column: str | None) -> str | None:
    value = row.get(column) if column else None
    return None if value is None or value == "" else whole_surrogates(str(value))


def _published(value: Any, counters: Counters) -> date | None:
    """The day of a date, a timestamp or a text; None and counted where there is a text that is no date."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date) or value is None:
        return value
    found = parse_date(str(value))
    if found is None and str(value).strip():
        _count(counters, UNKNOWN_DATES, 1)
    return found


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
    if rows:
        _write_part(directory, part, rows)


def _write_part(directory: Path, part: int, rows: list[Row]) -> None:
    write_table(directory / f"part-{part:05d}.parquet", pa.Table.from_pylist(rows, schema=ARTICLES))
    log.info("%d articles read", part * PART_ARTICLES + len(rows))


def articles_of(crawl: Crawl, web: Web, directory: Path, counters: Counters) -> Iterator[Row]:
    """The articles of the source that params.yaml names; `directory` takes what stands beside them."""
    if crawl.source == "web":
        return web_articles(web, directory, counters)
    if crawl.source == "package":
        return with_text(lee_articles(), counters)
    if not crawl.inputs:
        raise InputError(f"crawl.inputs is empty; list files below {EXTERNAL}, or set crawl.source to 'package'.")
    return with_text(file_articles(crawl.inputs, counters), counters)


_NOTHING = {
    "package": "the package holds no article; run `pip install --force-reinstall gensim`.",
    "files": "crawl.inputs hold no article with text; see whether columns.text names the right column.",
    "web": "the crawl found no article (pages by reason: {}); see web.sites, web.languages and the days.",
}
