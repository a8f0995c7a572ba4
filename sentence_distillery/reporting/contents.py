"""The contents of JSON files that a page shows: an overview of the corpus, and the benchmark sets."""

from typing import Annotated

from pydantic import Field

from sentence_distillery.evaluation.sets.provenance import Entry
from sentence_distillery.io.contents import Content, Natural


class Sums(Content):
    """Documents, sentences and words of a source or of a time; that of documents without a date has no name."""

    name: str | None
    documents: Natural
    kept: Natural
    sentences: Natural
    words: Natural


class Example(Content):
    """A sentence, and the reason why it was dropped; empty if it was kept."""

    reason: str
    text: str


class Repeated(Content):
    """A line that many documents share."""

    text: str
    count: Natural


class NearDuplicate(Content):
    """A dropped document, and the kept one that it nearly repeats."""

    dropped: str
    kept: str


class CorpusOverview(Content):
    """The content of corpus.json; `growth` has words and different words."""

    sources: list[Sums]
    times: list[Sums]
    growth: Annotated[list[Annotated[list[Natural], Field(min_length=2, max_length=2)]], Field(min_length=1)]
    lines: list[Repeated]
    near_duplicates: list[NearDuplicate]
    sentences: list[Example]


class Shared(Content):
    """The distinct sentences and pairs that two splits share."""

    sentences: Natural
    pairs: Natural


class Described(Entry):
    """The description of a benchmark set on the page."""

    source: str
    licence: str
    citation: str
    main_metric: str
    overlaps: dict[str, dict[str, Shared]]  # by split, then by the other set and split


class Benchmarks(Content):
    """The part of provenance.json that the page shows."""

    sets: dict[str, Described]
    absent: dict[str, str]
