"""Examine articles: split them into sentences, and compute the input of the decisions on each; on any core, in shards.

A sentence's identity is its fingerprint: two sentences are equal if their letters and digits agree, whatever their
case, spaces and punctuation. A document's identity is a hash of its words; that of a line, a paragraph of the page, is
a hash of the identities of its sentences.
"""

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.corpus.boilerplate import RULES, boilerplate_rules, without_boilerplate
from sentence_distillery.corpus.duplicates import SHINGLE, signatures
from sentence_distillery.corpus.fingerprints import GOLDEN, fingerprints
from sentence_distillery.corpus.language import LONG_SAMPLE, SHORTEST, are_plain, check_language, is_in_language
from sentence_distillery.corpus.markup import without_markup
from sentence_distillery.corpus.schema import SENTENCES
from sentence_distillery.corpus.sentences import split_sentences
from sentence_distillery.corpus.text import normalise, paragraphs, unspaced_words
from sentence_distillery.corpus.words import Words, find_words

# Reasons to drop a sentence regardless of the others; "" keeps it. Stored as indices of this tuple.
FAULTS = ("", *(f"boilerplate: {rule}" for rule in RULES), "symbols", "short", "long")

# The columns that are written for a sentence, without those derived from its words.
FOUND = pa.schema([field for field in SENTENCES if field.name != "content_tokens"])


@dataclass(frozen=True)
class Sentences:
    """The features of some sentences, one entry for each."""

    fault: NDArray[np.uint8]  # of FAULTS
    identity: NDArray[np.uint64]
    line: NDArray[np.uint64]  # the identity of its line
    opens: NDArray[np.bool_]  # whether it is the first of its line, and the line the first of its kind in the document


@dataclass(frozen=True)
class Documents:
    """The features of some documents, one entry for each."""

    sentences: NDArray[np.int64]
    identity: NDArray[np.uint64]
    in_language: NDArray[np.bool_]
    signature: NDArray[np.uint16]  # (documents, 128)


@dataclass(frozen=True)
class Findings:
    """Some consecutive documents, of which the first has the number `first`; `table` has the schema FOUND."""

    first: int
    table: pa.Table
    sentences: Sentences
    documents: Documents
    removed: Counter[str]


def read_lines(raw: str, language: str, removed: Counter[str]) -> list[list[str]]:
    """Normalise `raw`, take boilerplate out of it, and split each of its lines into sentences; `removed` counts."""
    texts = (without_boilerplate(paragraph, removed) for paragraph in paragraphs(normalise(without_markup(raw))))
    return [split_sentences(text, language) for text in texts if text]


def examine(articles: tuple[int, list[str]], language: str, minimum_tokens: int, maximum_tokens: int) -> Findings:
    """Split some articles, given with the number of the first, into sentences, and examine each.

    The other arguments are options of `corpus.options.Clean`; raises InputError if the language is unknown.
    """
    check_language(language)  # here, so that only processes that need the language model load it, in half a second
    first, texts = articles
    removed: Counter[str] = Counter()

    # Sentences of all documents together, because a pass of NumPy over many is much faster than one for each.
    documents = [read_lines(text, language, removed) for text in texts]
    sentences = [sentence for lines in documents for line in lines for sentence in line]
    counts = np.array([sum(map(len, lines)) for lines in documents], np.int64)
    words = find_words(sentences)
    identity = fingerprints(sentences)
    return Findings(
        first,
        _table(first, counts, sentences, words),
        Sentences(_faults(sentences, words, minimum_tokens, maximum_tokens), identity, *_lines(documents, identity)),
        _documents(documents, counts, words, language),
        removed,
    )


def _table(first: int, counts: NDArray[np.int64], sentences: list[str], words: Words) -> pa.Table:
    starts = np.cumsum(counts) - counts
    columns = [
        pa.array(np.repeat(np.arange(first, first + len(counts)), counts)),
        pa.array((np.arange(len(sentences)) - np.repeat(starts, counts)).astype(np.int32)),
        pa.array(sentences, pa.string()),
        words.lists,
    ]
    return pa.Table.from_arrays(columns, schema=FOUND)


def _faults(sentences: list[str], words: Words, minimum: int, maximum: int) -> NDArray[np.uint8]:
    """Find the first fault of each sentence, (sentences,) uint8, as its place in FAULTS."""
    count = np.diff(words.offsets) + np.array([*map(unspaced_words, sentences)], np.int64)
    faults = np.where(count > maximum, FAULTS.index("long"), 0).astype(np.uint8)
    faults[count < minimum] = FAULTS.index("short")
    faults[2 * words.letters < words.characters] = FAULTS.index("symbols")
    for number, rule in boilerplate_rules(sentences):
        faults[number] = FAULTS.index(f"boilerplate: {rule}")
    return faults


def _lines(
    documents: list[list[list[str]]], identity: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Identify the line of each sentence, and mark the sentences that open the first such line of their document."""
    sizes = np.array([len(line) for lines in documents for line in lines], np.int64)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(identity)) - np.repeat(starts, sizes)

    # The hash of a line depends on the order of its sentences.
    mixed = (identity ^ place.astype(np.uint64)) * GOLDEN
    lines = np.add.reduceat(mixed ^ (mixed >> np.uint64(32)), starts) if len(starts) else mixed

    # A line that one document repeats counts once for it.
    numbers = np.repeat(np.arange(len(documents)), list(map(len, documents))).astype(np.uint64)
    opens = np.zeros(len(identity), bool)
    opens[starts[np.unique(lines ^ (numbers * GOLDEN), return_index=True)[1]]] = True
    return np.repeat(lines, sizes), opens


def _documents(documents: list[list[list[str]]], counts: NDArray[np.int64], words: Words, language: str) -> Documents:
    boundaries = words.offsets[np.concatenate([[0], np.cumsum(counts)])].astype(np.int64)
    known = are_plain(words.values, boundaries, language)
    return Documents(
        counts,
        words.identities(boundaries),
        _in_language(documents, known, language),
        signatures(*words.shingles(boundaries, SHINGLE)),
    )


def _in_language(documents: list[list[list[str]]], known: NDArray[np.bool_], language: str) -> NDArray[np.bool_]:
    """Mark the documents in `language`, (documents,) bool; `known` ones are. Short ones are judged together."""
    found, short = known.copy(), {}
    for place in np.flatnonzero(~known).tolist():
        text = _text(documents[place])
        found[place] = is_in_language(text, language)
        if len(text) < SHORTEST:
            short[place] = text

    # Short texts, such as the rows of a table, say little alone; together they are a sample, unless as many are known.
    if not is_in_language(" ".join(short.values()), language, LONG_SAMPLE):
        alike = sum(len(_text(documents[place])) < SHORTEST for place in np.flatnonzero(known).tolist())
        found[list(short)] = alike >= len(short)
    return found


def _text(document: list[list[str]]) -> str:
    return " ".join(itertools.chain.from_iterable(document))
