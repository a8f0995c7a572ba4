"""Options of collecting articles, from packages, files and news sites."""

import re
from datetime import date
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

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


# No label is empty or longer than 63 characters, which DNS has no form for.
HOST = r"^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*\.?(:[0-9]{1,5})?$"


def _address(url: str) -> str:
    """Refuse a URL with a user name, or a host or port that cannot be, and return the others unchanged."""
    try:
        parts = urlsplit(url)
        if re.fullmatch(HOST, parts.netloc.lower()) and parts.port != 0:  # the port raises ValueError above 65535
            return url
    except ValueError:
        pass  # also for a bracket that is not an IPv6 address
    raise ValueError(
        f"'{url}' is no address of a page; write it as in 'https://news.example/', in ASCII and without a user name"
    )


Day = Annotated[str, AfterValidator(_day)]
Host = Annotated[str, Field(pattern=HOST)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$"), AfterValidator(_address)]


class CrawlInput(Section):
    path: str = Field(title="file or directory below `folder`")
    format: Literal["text", "markdown", "lines", "conllu", "jsonl", "csv", "tsv", "parquet", "feather"] | None = Field(
        title="text, markdown: one article per file; lines: one per line, with tab-separated fields named 1, 2 ...; "
        "conllu: one per sentence; jsonl: also an array of objects; null: chosen by the suffix"
    )
    columns: Columns = Field(title="column of each field; unused by the formats text and markdown")
    sources: list[str] = Field(default=[], title="sources whose articles are kept; an empty list keeps all")


class Crawl(Section):
    source: Literal["package", "files", "web"] = Field(
        default="files",
        title="package: the Lee news corpus inside gensim; files: `inputs`; web: the sites of section `web`",
    )
    inputs: list[CrawlInput] = Field(default=[], title="files of articles, for `source: files`")
    folder: str = Field(
        min_length=1, title="folder or file that has all inputs: a change in it, and only there, collects again"
    )


class Site(Section):
    """One news site; a page is followed if its host is listed and it is in a section, or its URL fits `articles`."""

    name: str = Field(min_length=1, title="name of the source of its articles")
    hosts: list[Host] = Field(
        min_length=1, title="host names in lower case, with the port if it is not the default port"
    )
    sections: list[Url] = Field(title="start pages; the crawl stays below their paths, and http://host/ sets no limit")
    sitemaps: list[Url] = Field(title="addresses of sitemaps or sitemap indexes, plain or compressed")
    feeds: list[Url] = Field(title="addresses of RSS or Atom feeds")
    articles: str | None = Field(
        title="regular expression that matches in the URL of an article; null: decided by the page itself"
    )

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
        default="1",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        title="name of the snapshot; a new name crawls again and fetches only new pages",
    )
    contact: str | None = Field(
        default=None,
        pattern=r"^\S+@\S+\.\S+$|^https?://\S+$",
        title="your e-mail address or web page, sent to the sites in the User-Agent; required for a crawl",
    )
    sites: list[Site] = Field(default=[], title="sites to crawl, for `source: web`")
    since: Day | None = Field(
        default=None, title="first day of the articles; drops earlier ones and those without a date; null keeps all"
    )
    until: Day | None = Field(
        default=None, title="last day of the articles; drops later ones and those without a date; null keeps all"
    )
    languages: list[Language] = Field(
        default=["en"], title="ISO 639-1 codes of the articles to keep; an empty list keeps all"
    )
    requests_per_second: Annotated[float, Field(gt=0.0, le=100.0)] = Field(
        default=1.0, title="maximum rate of requests to one host"
    )
    pages: Count = Field(
        default=10000, title="maximum number of requests in one snapshot, without those for robots.txt"
    )
    megabytes: Count = Field(default=2000, title="maximum download in one snapshot")
    page_megabytes: Positive = Field(
        default=5.0, title="maximum size of a page, compressed or not; larger pages are dropped"
    )
    depth: Count = Field(default=25, title="maximum number of links from a section, a sitemap or a feed to a page")
    timeout_seconds: Positive = Field(
        default=30.0, title="time limit for one page, from the connection to the last byte"
    )
    retries: Annotated[int, Field(ge=0, le=10)] = Field(
        default=3, title="number of retries after a timeout, a broken connection or HTTP 5xx"
    )
    minimum_words: Count = Field(default=50, title="minimum length of an article; shorter ones are dropped")
    extraction_seconds: Positive = Field(
        default=10.0, title="time limit for extracting one page; then its child process is killed"
    )
    extraction_megabytes: Annotated[int, Field(ge=256)] = Field(
        default=1000, title="memory limit (address space) of a child process"
    )
    private_hosts: list[Host] = Field(
        default=[], title="hosts that may be in a private network; all others must be public"
    )

    @model_validator(mode="after")
    def _some_day_is_kept(self) -> Self:
        if self.since and self.until and self.since > self.until:
            raise ValueError(f"since = {self.since} is after until = {self.until}")
        return self


class Sections(Section):
    """What this room reads of params.yaml."""

    crawl: Crawl
    web: Web
