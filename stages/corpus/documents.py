"""From an article's text to its sentences, and the reasons for which a document or a sentence is dropped.

    document   empty · duplicate · language · near-duplicate                                 in this order
    sentence   boilerplate: <rule> · symbols · short · long · held-out · limit · duplicate   in this order

What a text says of itself takes nearly all of the time: `examine` finds it for some documents at once, on any core.
What depends on the texts before it is the Filter's, which sees the findings in the order of the documents.

Sentences count as alike where their fingerprints are: letters and digits agree, case, spaces and punctuation do not
matter. What was seen is held as 64-bit fingerprints, about 100 bytes a sentence: 1 GB for ten million.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from rensa import RMinHash

from stages.benchmarks.overlaps import fingerprint
from stages.corpus.boilerplate import without_boilerplate
from stages.corpus.duplicates import NearDuplicates, signature
from stages.corpus.language import check_language, is_in_language
from stages.corpus.schema import SENTENCES
from stages.corpus.sentences import own_fault, split_sentences
from stages.corpus.text import content_tokens, normalise, paragraphs, tokenize, without_markup
from stages.params import Clean

# A sentence's identity elsewhere is document * 2**20 + position.
POSITIONS = 2**20

# A sentence of the corpus, what alone drops it (null: nothing), and its fingerprint.
FINDINGS = pa.schema([*SENTENCES, pa.field("fault", pa.string()), pa.field("identity", pa.uint64())])


@dataclass(frozen=True)
class Document:
    """An article after normalisation: its sentences in order and the words of each."""

    text: str
    sentences: list[str]
    tokens: list[list[str]]
    removed: Counter[str] = field(repr=False)

    @property
    def words(self) -> list[str]:
        return [token for sentence in self.tokens for token in sentence]


def read_document(raw: str, language: str) -> Document:
    """Normalise `raw`, take boilerplate out of it, and split it into sentences and words."""
    removed: Counter[str] = Counter()
    texts = [without_boilerplate(paragraph, removed) for paragraph in paragraphs(normalise(without_markup(raw)))]
    sentences = [sentence for text in texts for sentence in split_sentences(text, language)]
    return Document("\n\n".join(filter(None, texts)), sentences, [tokenize(text) for text in sentences], removed)


@dataclass(frozen=True)
class Examined:
    """What a document says of itself, without its sentences."""

    text: str
    sentences: int
    identity: int
    in_language: bool
    signature: RMinHash


@dataclass(frozen=True)
class Findings:
    """Some documents in a row, the first of which has the number `first`, and their sentences: a table of FINDINGS."""

    first: int
    documents: list[Examined]
    sentences: pa.Table
    removed: Counter[str]


def examine(articles: tuple[int, list[str]], clean: Clean) -> Findings:
    """Read some articles, given with the number of the first, and find out what each says of itself.

    Raises InputError where clean.language is unknown.
    """
    check_language(clean.language)  # here, so that only the processes that tell languages load the half second of it
    first, texts = articles
    documents = [read_document(text, clean.language) for text in texts]
    rows = [row for number, document in enumerate(documents, first) for row in _sentence_rows(number, document, clean)]
    return Findings(
        first,
        [_examine_document(document, clean.language) for document in documents],
        pa.Table.from_pylist(rows, schema=FINDINGS),
        sum((document.removed for document in documents), Counter()),
    )


def _examine_document(document: Document, language: str) -> Examined:
    return Examined(
        document.text,
        len(document.sentences),
        fingerprint(document.text),
        is_in_language(document.text, language),
        signature(document.words),
    )


def _sentence_rows(number: int, document: Document, clean: Clean) -> Iterator[dict[str, Any]]:
    for position, (sentence, tokens) in enumerate(zip(document.sentences, document.tokens, strict=True)):
        yield {
            "document": number,
            "position": position,
            "text": sentence,
            "tokens": tokens,
            "content_tokens": content_tokens(tokens, clean.language),
            "fault": own_fault(sentence, tokens, clean.minimum_tokens, clean.maximum_tokens),
            "identity": fingerprint(sentence),
        }


class Filter:
    """Decides on documents and sentences in the order in which they come; the first of equals is kept."""

    def __init__(self, threshold: float, held_out: frozenset[int]) -> None:
        self._held_out = held_out
        self._documents: set[int] = set()
        self._sentences: set[int] = set()
        # 1.0 would ask for equal documents, which are found without it.
        self._near_duplicates = NearDuplicates(threshold) if threshold < 1.0 else None

    def document_fault(self, document: Examined) -> str | None:
        """Why the whole document is dropped, None where it is kept."""
        if not document.sentences:
            return "empty"
        if not _add(self._documents, document.identity):
            return "duplicate"
        if not document.in_language:
            return "language"
        if self._near_duplicates and not self._near_duplicates.is_new(document.signature):
            return "near-duplicate"
        return None

    def sentence_fault(self, position: int, fault: str | None, identity: int) -> str | None:
        """Why the sentence at `position` of a kept document is dropped, None where it is kept."""
        if fault:
            return fault
        if identity in self._held_out:
            return "held-out"
        if position >= POSITIONS:
            return "limit"
        return None if _add(self._sentences, identity) else "duplicate"


def _add(seen: set[int], identity: int) -> bool:
    """Remember `identity`; False where it was there before."""
    size = len(seen)
    seen.add(identity)
    return len(seen) > size
