"""The contents of JSON files that a page shows: an overview of the corpus, and the matrix of a run or of saved runs."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sentence_distillery.evaluation.sets.provenance import Entry
from sentence_distillery.io.contents import Content, Natural, Share


class Place(Content):
    """A cell in JSON, as `Cell.content` has it."""

    encoder: str
    pooling: str
    start: str
    strategy: str
    seed: str | None = None


class Curve(Content):
    """Accuracy and F1 of a cell over the threshold."""

    cell: Place
    seeds: Natural
    threshold: list[float]
    accuracy: list[Share]
    f1: list[Share]

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        if not len(self.threshold) == len(self.accuracy) == len(self.f1):
            raise ValueError("threshold, accuracy and f1 differ in length")
        return self


class LeadContent(Content):
    """Two strategies, the better one first."""

    first: Place
    second: Place
    difference: float
    share: Share


class Drawn(Content):
    """The content of a saved matrix besides its figures."""

    curves: list[Curve]
    orders: list[LeadContent]


class SavedMatrix(Drawn):
    """The same, with the number of test pairs."""

    pairs: Natural


class Paraphrase(Drawn):
    """The content of paraphrase.json about a run's matrix."""

    dataset: str
    pairs: dict[Literal["train", "validation", "test"], Natural]
    removed: dict[str, Natural]
    winner: str | None


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
