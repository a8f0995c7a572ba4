"""The rules of cleaning, and the decision on the whole corpus at once: which texts are dropped, and why.

RULES lists them in the order in which they apply: repairs of a paragraph, then reasons to drop a document, then reasons
to drop a sentence of a kept document. The first reason counts.

Of duplicates the first in the order of the articles is kept, so that of the earlier snapshot. A line that occurs in
many documents of one source is boilerplate (a byline, a teaser, a disclaimer). Only kept documents count for it;
otherwise an article that was published often would lose all its lines.

Held out are whole documents, in the order of a hash of their words and the seed, as long as their sentences fit in the
limit; one that does not fit is passed over. So neither the order of the files nor the number of processes makes a
difference, and a document may be a single short text. Nothing that is held out has a near-duplicate in the training
text, since those are dropped by then; `near_duplicate_threshold` 1 leaves near-duplicates, but no equal sentences.

Memory: 26 bytes for each sentence and 284 for each document, 300 MB for seven million sentences of 700,000 documents.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.corpus.boilerplate import REPAIRS
from sentence_distillery.corpus.boilerplate import RULES as BOILERPLATE
from sentence_distillery.corpus.documents import Documents, Sentences
from sentence_distillery.corpus.duplicates import PERMUTATIONS, near_duplicates
from sentence_distillery.corpus.fingerprints import GOLDEN, among, ranks, repeats
from sentence_distillery.corpus.options import Clean, HeldOut


@dataclass(frozen=True)
class Rule:
    """One rule of cleaning; its name is the reason in `dropped.parquet`, or in the counters of removed text."""

    unit: Literal["paragraph", "document", "sentence"]
    name: str
    description: str


RULES = (
    *(Rule("paragraph", name, f"removes {what}") for name, what in REPAIRS.items()),
    Rule("document", "empty", "no sentence is left of it"),
    Rule("document", "duplicate", "an earlier document has the same words in the same order"),
    Rule("document", "language", "it is in another language than `language`"),
    Rule("document", "held out", "it equals a text of the pool of held-out texts, or nearly repeats one"),
    Rule("document", "near-duplicate", "it shares `near_duplicate_threshold` of its word 3-grams with an earlier one"),
    *(Rule("sentence", f"boilerplate: {name}", what) for name, what in BOILERPLATE.items()),
    Rule("sentence", "symbols", "fewer than half of its characters are letters"),
    Rule("sentence", "short", "it has fewer words than `minimum_tokens`"),
    Rule("sentence", "long", "it has more words than `maximum_tokens`"),
    Rule("sentence", "boilerplate: repeated line", "its line occurs in `line_repeats` documents of the source"),
    Rule("sentence", "in an evaluation set", "evaluation scores on a text with the same letters and digits"),
    Rule("sentence", "held out", "a text of the pool of held-out texts has the same letters and digits"),
    Rule("sentence", "limit", "it is beyond the first 1,048,576 sentences of its document"),
    Rule("sentence", "duplicate", "an earlier sentence has the same letters and digits"),
)
DOCUMENT_REASONS = ("", *(rule.name for rule in RULES if rule.unit == "document"))
SENTENCE_REASONS = ("", *(rule.name for rule in RULES if rule.unit == "sentence"))
# A sentence's identity elsewhere is document * 2**20 + position.
POSITIONS = 2**20


@dataclass(frozen=True)
class Pool:
    """What identifies the texts of a fixed pool of held-out texts (held_out.py)."""

    documents: NDArray[np.uint64]  # the identities of its documents
    signatures: NDArray[np.uint16]  # those of its documents, (documents, 128)
    sentences: NDArray[np.uint64]  # the identities of its sentences


NO_POOL = Pool(np.empty(0, np.uint64), np.empty((0, PERMUTATIONS), np.uint16), np.empty(0, np.uint64))


@dataclass(frozen=True)
class Decisions:
    """Why each document and each sentence is dropped, as places in DOCUMENT_REASONS and SENTENCE_REASONS; 0: kept.

    The sentences of a dropped document have the reason 0 or their own reason.
    """

    documents: NDArray[np.uint8]
    sentences: NDArray[np.uint8]
    originals: NDArray[np.int64]  # (documents,) the kept document that a near duplicate repeats, -1 for others
    starts: NDArray[np.int64]  # (documents + 1,) the first sentence of each document
    held_out: NDArray[np.bool_]  # (documents,) whether a kept document is kept out of the training text

    @property
    def in_kept(self) -> NDArray[np.bool_]:
        """Mark the sentences, (sentences,) bool, whose document is kept."""
        return np.repeat(self.documents == 0, np.diff(self.starts))

    @property
    def in_held_out(self) -> NDArray[np.bool_]:
        """Mark the sentences, (sentences,) bool, whose document is held out."""
        return np.repeat(self.held_out, np.diff(self.starts))

    def part(self, first: int, last: int) -> "Decisions":
        """Return those on the documents first ... last - 1; `starts` and `originals` still count over all documents."""
        rows = slice(self.starts[first], self.starts[min(last, len(self.documents))])
        return Decisions(
            self.documents[first:last],
            self.sentences[rows],
            self.originals[first:last],
            self.starts[first : last + 1],
            self.held_out[first:last],
        )

    def counts(self) -> tuple[int, Counter[str], Counter[str]]:
        """Count the kept sentences, the dropped sentences by reason, and the documents by reason ("": kept).

        A held-out sentence is neither kept nor dropped; its document is a kept one.
        """
        in_kept, sizes = self.in_kept, np.maximum(np.diff(self.starts), 1)
        own = np.bincount(self.sentences[in_kept], minlength=len(SENTENCE_REASONS)).tolist()
        dropped = Counter(dict(zip(SENTENCE_REASONS[1:], own[1:], strict=True)))

        # Sentences of a dropped document count under the document's reason.
        documents: Counter[str] = Counter()
        for code, reason in enumerate(DOCUMENT_REASONS):
            documents[reason] = int((self.documents == code).sum())
            if reason:
                dropped[reason] += int(sizes[self.documents == code].sum())
        return own[0] - self.held_out_sentences, +dropped, +documents

    @property
    def held_out_sentences(self) -> int:
        """The number of sentences that are held out."""
        return int((self.in_held_out & (self.sentences == 0)).sum())


def decide(
    documents: Documents,
    sentences: Sentences,
    sources: NDArray[np.int32],
    evaluated: NDArray[np.uint64],
    clean: Clean,
    threads: int = 1,
    held_out: HeldOut | None = None,
    pool: Pool = NO_POOL,
) -> Decisions:
    """Decide which of the examined documents and sentences are dropped, and why.

    `documents` and `sentences` are what `examine` finds of all; `sources` has the source of each document,
    (documents,), as any number; `evaluated` the fingerprints of the evaluation texts, (texts,). `threads` compare near
    duplicates. `held_out` says how much is kept out of the training text; nothing that is kept repeats the pool.
    """
    reasons, originals = _document_reasons(documents, clean.near_duplicate_threshold, threads, pool)
    starts = np.concatenate([[0], np.cumsum(documents.sentences)])
    kept = _sentence_reasons(documents, sentences, reasons == 0, sources, evaluated, clean, pool)

    # Held out last, of what everything else has kept.
    apart = np.zeros(len(reasons), bool)
    if held_out is not None:
        sums = np.concatenate([[0], np.cumsum(kept == 0)])
        apart = draw_held_out(
            np.where(reasons == 0, sums[starts[1:]] - sums[starts[:-1]], 0), documents.identity, held_out
        )
    return Decisions(reasons, kept, originals, starts, apart)


def _document_reasons(
    documents: Documents, threshold: float, threads: int, pool: Pool
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    reasons = np.zeros(len(documents.sentences), np.uint8)

    # Later lines overrule earlier ones, so the reasons stand from the least important to the most.
    reasons[among(documents.identity, pool.documents)] = DOCUMENT_REASONS.index("held out")
    reasons[~documents.in_language] = DOCUMENT_REASONS.index("language")
    reasons[repeats(documents.identity)] = DOCUMENT_REASONS.index("duplicate")
    reasons[documents.sentences == 0] = DOCUMENT_REASONS.index("empty")

    # Near duplicates only among those that are left: they are the slowest to find.
    originals = np.full(len(reasons), -1, np.int64)
    if threshold < 1.0:  # 1.0 would mean equal documents, which are found without it
        left, first = np.flatnonzero(reasons == 0), len(pool.signatures)
        signatures = np.concatenate([pool.signatures, documents.signature[left]])
        earlier = near_duplicates(signatures, threshold, threads)[first:]
        originals[left] = np.where(earlier >= first, left[np.maximum(earlier - first, 0)], -1) if len(left) else -1
        reasons[left[earlier >= 0]] = DOCUMENT_REASONS.index("held out")
        reasons[left[earlier >= first]] = DOCUMENT_REASONS.index("near-duplicate")
    return reasons, originals


def _sentence_reasons(
    documents: Documents,
    sentences: Sentences,
    kept_documents: NDArray[np.bool_],
    sources: NDArray[np.int32],
    evaluated: NDArray[np.uint64],
    clean: Clean,
    pool: Pool,
) -> NDArray[np.uint8]:
    counts = documents.sentences
    in_kept = np.repeat(kept_documents, counts)
    lines = sentences.line ^ (np.repeat(sources, counts).astype(np.uint64) * GOLDEN)
    tests = {
        "boilerplate: repeated line": _frequent(lines, sentences.opens & in_kept, clean.line_repeats),
        "in an evaluation set": among(sentences.identity, evaluated),
        "held out": among(sentences.identity, pool.sentences),
        "limit": _beyond(counts),
    }

    # The first reason counts; the order is that of the tests.
    reasons = sentences.fault.copy()
    for name, failed in tests.items():
        reasons[failed & (reasons == 0)] = SENTENCE_REASONS.index(name)
    left = np.flatnonzero((reasons == 0) & in_kept)
    reasons[left[repeats(sentences.identity[left])]] = SENTENCE_REASONS.index("duplicate")
    return reasons


def _frequent(values: NDArray[np.uint64], counted: NDArray[np.bool_], least: int) -> NDArray[np.bool_]:
    """Mark the values that occur `least` times or more among those that are counted."""
    distinct, counts = np.unique(values[counted], return_counts=True)
    return among(values, distinct[counts >= least])


def _beyond(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the sentences, (sentences,) bool, whose position in their document is too large for a number."""
    beyond = np.zeros(counts.sum(), bool)
    ends = np.cumsum(counts)
    for document in np.flatnonzero(counts > POSITIONS):
        beyond[ends[document] - counts[document] + POSITIONS : ends[document]] = True
    return beyond


def draw_held_out(sentences: NDArray[np.int64], identities: NDArray[np.uint64], options: HeldOut) -> NDArray[np.bool_]:
    """Mark the documents, (documents,) bool, that are held out: in the order of their ranks, while they fit.

    `sentences` counts those that cleaning keeps of each document.

    >>> options = HeldOut(share=0.5, maximum_sentences=9, seed=1)
    >>> draw_held_out(np.array([1, 1, 1, 1]), np.arange(4, dtype=np.uint64), options)
    array([False,  True, False,  True])
    """
    held_out = np.zeros(len(sentences), bool)
    left = min(int(options.share * sentences.sum()), options.maximum_sentences)

    # By a rank of each text's own: a text that was held out stays so when the corpus grows.
    candidates = np.flatnonzero((sentences > 0) & (sentences <= left))
    for document in candidates[np.argsort(ranks(identities[candidates], options.seed), kind="stable")].tolist():
        if sentences[document] <= left:
            held_out[document] = True
            left -= int(sentences[document])
    return held_out
