"""Articles to sentences: one clean sentence a row, and every dropped one beside it with the reason.

Three steps. Examine, on any core: each article's sentences, words and fingerprints. Decide, here: what is dropped and
why, from the fingerprints alone. Write, in threads: what is kept and what is dropped. Between the first and the last
step the sentences wait in files beside the target, so that the memory in use hardly grows with the corpus.

Counters count sentences. A dropped document counts all its sentences under the document's reason (one where it has
none) and stands as one row, at position -1, in dropped.parquet. Only the body of an article is read: headlines are no
sentences.
"""

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sentence_distillery.corpus.decisions import DOCUMENT_REASONS, SENTENCE_REASONS, Decisions, joined
from sentence_distillery.corpus.documents import FOUND, Documents, Findings, Sentences
from sentence_distillery.corpus.overview import Written
from sentence_distillery.corpus.schema import (
    DROPPED,
    SENTENCES,
)
from sentence_distillery.corpus.words import encoded, without_stop_words
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters

EVALUATION_FINGERPRINTS_FILE = Path("data/benchmarks/evaluation_fingerprints.parquet")
BATCH_ROWS = 500
EXAMINED_AT_ONCE = 200
EXAMINED_CHARACTERS = 500_000
# Nobody asks for the smallest and largest text of a page, which take a fifth of the time to write.
PARQUET: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True, "write_statistics": False}

Item = TypeVar("Item")
Result = TypeVar("Result")


def article_texts(parts: list[Path]) -> Iterator[str]:
    """The texts of all articles in order, a few hundred in memory; raises InputError where a part cannot be read."""
    for part in parts:
        try:
            file = pq.ParquetFile(part, page_checksum_verification=True)
            for batch in file.iter_batches(BATCH_ROWS, columns=["text"]):
                yield from batch.column("text").to_pylist()
        except (OSError, KeyError, UnicodeDecodeError, pa.ArrowException) as error:
            raise InputError(f"{part} cannot be read: {error}. Rebuild it with `dvc repro --force crawl`.") from error


def shards(texts: Iterable[str], part_documents: int) -> Iterator[tuple[int, list[str]]]:
    """A few articles at a time, with the number of the first; none of them fall in two parts."""
    shard: list[str] = []
    size = number = 0
    for number, text in enumerate(texts, start=1):
        shard.append(text)
        size += len(text)
        if len(shard) == EXAMINED_AT_ONCE or size >= EXAMINED_CHARACTERS or number % part_documents == 0:
            yield number - len(shard), shard
            shard, size = [], 0
    if shard:
        yield number - len(shard), shard


class Spool:
    """The sentences found so far, a file for each part, and in memory what is decided from."""

    def __init__(self, directory: Path, part_documents: int) -> None:
        directory.mkdir()
        self.directory = directory
        self.part_documents = part_documents
        self.removed: Counter[str] = Counter()
        self.parts = 0
        self._sentences: list[Sentences] = []
        self._documents: list[Documents] = []

    def fill(self, findings: Iterable[Findings]) -> None:
        """Write the sentences of all findings, which come in order."""
        for number, group in itertools.groupby(findings, lambda found: found.first // self.part_documents):
            with pa.OSFile(str(self.path(number)), "wb") as sink, pa.ipc.new_file(sink, FOUND) as file:
                for found in group:
                    file.write_table(found.table)
                    self._sentences.append(found.sentences)
                    self._documents.append(found.documents)
                    self.removed.update(found.removed)
            self.parts = number + 1

    def take(self) -> tuple[Documents, Sentences]:
        """What the documents and the sentences say of themselves; it is not held any longer."""
        documents, sentences = joined(self._documents), joined(self._sentences)
        self._documents, self._sentences = [], []
        return documents, sentences

    def path(self, number: int) -> Path:
        """The file of a part."""
        return self.directory / f"part-{number:05d}.arrow"

    def read(self, number: int) -> pa.Table:
        """The sentences of a part, in the file's own memory; the file is removed."""
        path = self.path(number)
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        path.unlink()
        return table.combine_chunks()  # or the bytes of the result would tell how many documents were examined at once


def write_part(number: int, spool: Spool, decisions: Decisions, target: Path, language: str) -> Written:
    """Write what is kept of a part below `target`."""
    first = number * spool.part_documents
    found = spool.read(number)
    own = decisions.part(first, first + spool.part_documents)
    kept = found.filter(pa.array(own.in_kept & (own.sentences == 0)))
    tokens = encoded(kept["tokens"].combine_chunks())
    columns = [*kept.columns[:-1], tokens, without_stop_words(tokens, language)]
    schema = pa.schema([field.with_type(column.type) for field, column in zip(SENTENCES, columns, strict=True)])
    kept = pa.table(columns, schema=schema)
    # The file says what its columns are, strings; the schema that Arrow would add says how they stand in memory.
    pq.write_table(kept, target / f"part-{number:05d}.parquet", store_schema=False, **PARQUET)
    dropped = pa.concat_tables([_dropped_sentences(found, own), _dropped_documents(found, own, first)])
    dropped = dropped.sort_by([("document", "ascending"), ("position", "ascending")])
    return Written(first, found, own, kept, dropped)


def _dropped_sentences(found: pa.Table, own: Decisions) -> pa.Table:
    """The sentences of kept documents that are dropped, DROPPED."""
    mask = own.in_kept & (own.sentences > 0)
    dropped = found.drop_columns("tokens").filter(pa.array(mask))
    reasons = pa.array(SENTENCE_REASONS).take(pa.array(own.sentences[mask]))
    return pa.Table.from_arrays([*dropped.columns, reasons], schema=DROPPED)


def _dropped_documents(found: pa.Table, own: Decisions, first: int) -> pa.Table:
    """The documents that are dropped, each one row: DROPPED."""
    rows = []
    for place in np.flatnonzero(own.documents).tolist():
        begin, end = own.starts[place : place + 2] - own.starts[0]
        text = " ".join(found["text"][begin:end].to_pylist())
        reason = DOCUMENT_REASONS[own.documents[place]]
        rows.append({"document": first + place, "position": -1, "text": text, "reason": reason})
    return pa.Table.from_pylist(rows, schema=DROPPED)


def in_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """`function` of each item, in order; as many at once as there are threads, and as many more wait to be taken."""
    if threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def count_articles(parts: list[Path]) -> int:
    """The number of articles in `parts`, by their footers."""
    total = 0
    for part in parts:
        try:
            total += int(pq.read_metadata(part).num_rows)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{part} cannot be read: {error}. Rebuild it with `dvc repro --force crawl`.") from error
    return total


def count(decisions: Decisions, removed: Counter[str], counters: Counters) -> None:
    """Count what is kept and dropped; raises InputError where nothing is kept."""
    kept, dropped, documents = decisions.counts()
    counters.keep(kept)
    counters.dropped.update(dropped)
    details = {f"removed: {name}": found for name, found in removed.items()}
    for reason, found in documents.items():
        details[f"documents dropped: {reason}" if reason else "documents kept"] = found
    counters.details.update(sorted(details.items()))
    if not kept:
        raise InputError(
            f"no sentence of {len(decisions.documents)} articles was kept (dropped: {dict(counters.dropped)}); "
            "see whether clean.language and clean.minimum_tokens fit the articles."
        )
