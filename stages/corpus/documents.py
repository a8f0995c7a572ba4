"""From an article's text to its sentences, and the reasons for which a document or a sentence is dropped.

    document   empty · duplicate · language · near-duplicate                                 in this order
    sentence   boilerplate: <rule> · symbols · short · long · held-out · duplicate · limit   in this order

Sentences count as alike where their fingerprints are: letters and digits agree, case, spaces and punctuation do not
matter. What was seen is held as 64-bit fingerprints, about 100 bytes a sentence: 1 GB for ten million.
"""

from collections import Counter
from dataclasses import dataclass, field

from stages.benchmarks.overlaps import fingerprint
from stages.corpus.boilerplate import without_boilerplate
from stages.corpus.duplicates import NearDuplicates
from stages.corpus.language import is_in_language
from stages.corpus.sentences import own_fault, split_sentences
from stages.corpus.text import normalise, paragraphs, tokenize, without_markup
from stages.params import Clean

# A sentence's identity elsewhere is document * 2**20 + position.
POSITIONS = 2**20


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


class Filter:
    """Decides on documents and sentences in the order in which they come; the first of equals is kept."""

    def __init__(self, clean: Clean, held_out: frozenset[int]) -> None:
        self._clean = clean
        self._held_out = held_out
        self._documents: set[int] = set()
        self._sentences: set[int] = set()
        # 1.0 would ask for equal documents, which are found without it.
        threshold = clean.near_duplicate_threshold
        self._near_duplicates = NearDuplicates(threshold) if threshold < 1.0 else None

    def document_fault(self, document: Document) -> str | None:
        """Why the whole document is dropped, None where it is kept."""
        if not document.sentences:
            return "empty"
        if not _add(self._documents, fingerprint(document.text)):
            return "duplicate"
        if not is_in_language(document.text, self._clean.language):
            return "language"
        if self._near_duplicates and not self._near_duplicates.is_new(document.words):
            return "near-duplicate"
        return None

    def sentence_fault(self, position: int, sentence: str, tokens: list[str]) -> str | None:
        """Why the sentence at `position` of a kept document is dropped, None where it is kept."""
        reason = own_fault(sentence, tokens, self._clean.minimum_tokens, self._clean.maximum_tokens)
        if reason:
            return reason
        identity = fingerprint(sentence)
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
