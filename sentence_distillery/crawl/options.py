"""Options of collecting articles, from packages, files and news sites."""

import re
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from sentence_distillery.corpus.options import Columns
from sentence_distillery.io.options import Count, Language, Positive, Section


def _day(text: str) -> str:
    """Refuse a text that is not a date, and return the others unchanged, so that params.yaml stays as written."""
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is not a valid date; write it as in '2024-05-01', in quotes") from error
    return text


Day = Annotated[str, AfterValidator(_day)]
Host = Annotated[str, Field(pattern=r"^[a-z0-9.-]+(:[0-9]{1,5})?$")]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$")]


class CrawlInput(Section):
    path: str = Field(title="file or directory below data/external")
    format: Literal["text", "markdown", "lines", "conllu", "jsonl", "csv", "tsv", "parquet"] | None = Field(
        title="text, markdown: one article a file; lines: one a line, its fields between tabs named 1, 2 ...; conllu: "
        "one a sentence; null: by the suffix"
    )
    columns: Columns = Field(title="column of each field; unused by the formats text and markdown")
    sources: list[str] = Field(default=[], title="articles of other sources are left out; empty: all are taken")


class Crawl(Section):
    source: Literal["package", "files", "web"] = Field(
        title="package: the Lee news corpus inside gensim; files: `inputs`; web: the sites of section `web`"
    )
    inputs: list[CrawlInput]


class Site(Section):
    """One news site; a page is followed if its host is listed and it is in a section, or its URL fits `articles`."""

    name: str = Field(min_length=1, title="name of the source of its articles")
    hosts: list[Host] = Field(min_length=1, title="lower-case names, with a port unless it is the default one")
    sections: list[Url] = Field(title="pages to start from; their paths bound the crawl, http://host/ bounds nothing")
    sitemaps: list[Url] = Field(title="sitemaps or sitemap indexes, compressed or not")
    feeds: list[Url] = Field(title="RSS or Atom")
    articles: str | None = Field(title="regular expression found in an article's URL; null: decide by the page itself")

    @field_validator("articles")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"'{pattern}' is not a regular expression: {error}") from error
        return pattern


class Web(Section):
    snapshot: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", title="a new name crawls again and fetches what is new"
    )
    contact: str | None = Field(
        pattern=r"^\S+@\S+\.\S+$|^https?://\S+$",
        title="e-mail or page for those who run the sites, sent in User-Agent; no crawl starts without it",
    )
    sites: list[Site]
    since: Day | None = Field(title="articles from earlier days, or without a date, are dropped; null keeps all")
    until: Day | None = Field(title="articles from later days, or without a date, are dropped; null keeps all")
    languages: list[Language] = Field(title="ISO 639-1 codes of the articles to keep; an empty list keeps all")
    requests_per_second: Annotated[float, Field(gt=0.0, le=100.0)] = Field(title="at most, to one host")
    pages: Count = Field(title="requests in one snapshot, robots.txt not counted")
    megabytes: Count = Field(title="downloaded in one snapshot")
    page_megabytes: Positive = Field(title="a larger page is dropped, compressed or not")
    depth: Count = Field(title="most links between a section, a sitemap or a feed and a page")
    timeout_seconds: Positive = Field(title="for one page, from the connection to its last byte")
    retries: Annotated[int, Field(ge=0, le=10)] = Field(title="after a timeout, a broken connection or HTTP 5xx")
    minimum_words: Count = Field(title="shorter articles are dropped")
    extraction_seconds: Positive = Field(title="limit for one page; then its child process is killed")
    extraction_megabytes: Annotated[int, Field(ge=256)] = Field(title="address space of a child process")
    private_hosts: list[Host] = Field(title="hosts that may be in a private network; all others must be public")

    @model_validator(mode="after")
    def _some_day_is_kept(self) -> Self:
        if self.since and self.until and self.since > self.until:
            raise ValueError(f"since = {self.since} is after until = {self.until}")
        return self
