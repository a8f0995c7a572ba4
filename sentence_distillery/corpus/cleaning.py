"""Cleaning: from articles to clean sentences, one per row, and every dropped sentence with the reason.

Three steps. Examine, on any core: the sentences, words and fingerprints of each article. Decide, here: what is dropped
and why, from the fingerprints alone (`decisions.RULES`). Write, in threads: what is kept and what is dropped. Between
the first and the last step the sentences are stored in files next to the target, so memory hardly grows.

Counters count sentences. A dropped document counts all its sentences under the document's reason (one if it has none)
and is one row, at position -1, of dropped.parquet. Only the body of an article is read: headlines are not sentences.

    counters = Counters("sentences")
    clean(articles_from_texts(texts), Path("sentences"), Clean(language="en"), counters=counters)
    counters.summary()              # kept, and dropped by reason
"""

import itertools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sentence_distillery.corpus.articles import Articles, Origins
from sentence_distillery.corpus.decisions import DOCUMENT_REASONS, NO_POOL, SENTENCE_REASONS, Decisions, Pool, decide
from sentence_distillery.corpus.documents import FOUND, Documents, Findings, Sentences, examine
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.overview import Overview, Written
from sentence_distillery.corpus.schema import DROPPED, DROPPED_FILE, HELD_OUT, HELD_OUT_FILE, SENTENCES
from sentence_distillery.corpus.words import encoded, without_stop_words
from sentence_distillery.io.artifacts import InputError, atomic_directory, has_columns, refuse_all_but
from sentence_distillery.io.counters import Counters
from sentence_distillery.runtime.options import Shards
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.shards import in_order, map_shards, processes_here

HERE = Shards(processes=1, dask=None)
ENOUGH = 1_000  # sentences
FEW = "Only %s sentences of %s documents are left: train on at least %s, better on ten times as many."
EXAMINED_AT_ONCE = 200
EXAMINED_CHARACTERS = 500_000
# No reader filters by the smallest and largest text of a page, and these take a fifth of the time to write.
PARQUET: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True, "write_statistics": False}

Parts = TypeVar("Parts", Sentences, Documents)

log = logging.getLogger(__name__)


def refuse_other_content(target: Path) -> None:
    """Raise InputError if a directory for the sentences of a corpus is a file, or holds anything else."""
    refuse_all_but(target, lambda entry: has_columns(entry, HELD_OUT.names), "the sentences of a corpus")


def clean(
    articles: Path | pa.Table,
    target: Path,
    options: Clean,
    fingerprints: NDArray[np.uint64] | None = None,
    where: Shards = HERE,
    counters: Counters | None = None,
    held_out: HeldOut | None = None,
    pool: pa.Table | None = None,
) -> dict[str, Any]:
    """Clean articles and write `part-*.parquet`, `dropped.parquet` and `held_out.parquet` to a directory.

    Args:
        articles: A directory of part-*.parquet files, or a table, of the schema ARTICLES; `articles_from_texts` makes
            one of plain texts.
        target: Directory to write; sentences that it has are replaced as a whole, or not at all.
        options: Language, lengths and thresholds.
        fingerprints: Of the evaluation texts, (texts,) uint64; their sentences are dropped.
        where: On how many processes, or on which Dask cluster; the outputs are the same.
        counters: Counts sentences that are kept, and those that are dropped, by reason.
        held_out: How much is kept out of the training text; None writes an empty `held_out.parquet`.
        pool: The texts of a fixed pool, HELD_OUT; they go to `held_out.parquet`, whatever `held_out` says.

    Returns:
        The corpus at a glance, as JSON can hold it: sums by source and by time, growth of the vocabulary, examples.

    Raises:
        InputError: If there is no article, an article file is missing or damaged, the language is unknown, no
            sentence is kept, or the target holds anything but sentences, or cannot be written.
    """
    refuse_other_content(target)
    given = Articles(articles)
    if not len(given):
        name = articles if isinstance(articles, Path) else "the table `articles`"
        raise InputError(f"{name} has no article; give at least one.")
    evaluated = np.empty(0, np.uint64) if fingerprints is None else fingerprints
    with atomic_directory(target) as directory:
        # Duplicates are known only after all documents were seen, so sentences wait on the disk meanwhile.
        spool = Spool(directory / "spool", options.shard_documents)
        origins = _examine(given, spool, options, where)
        threads = processes_here(where)
        drawn, fixed = (held_out, NO_POOL) if pool is None else (None, _pool(pool, options.language))

        # Decided in one process and in the order of the articles: the same corpus comes out of any number of workers.
        decisions = decide(*spool.take(), origins.sources, evaluated, options, threads, drawn, fixed)
        counters = Counters("sentences") if counters is None else counters
        count(decisions, spool.removed, counters, pool)
        if counters.kept < ENOUGH:
            log.warning(FEW, f"{counters.kept:,}", f"{len(given):,}", f"{ENOUGH:,}")
        overview = Overview(origins, decisions, spool.parts)
        write = partial(write_part, spool=spool, decisions=decisions, target=directory, language=options.language)
        with (
            ThreadPoolExecutor(threads) as workers,
            pq.ParquetWriter(directory / DROPPED_FILE, DROPPED, **PARQUET) as dropped_file,
            pq.ParquetWriter(directory / HELD_OUT_FILE, HELD_OUT, **PARQUET) as held_out_file,
        ):
            # As many parts wait as keep the threads busy; more would fill the memory.
            for written in in_order(lambda part: workers.submit(write, part).result, range(spool.parts), 2 * threads):
                dropped_file.write_table(written.dropped)
                held_out_file.write_table(written.held_out)
                overview.add(written)
            held_out_file.write_table(HELD_OUT.empty_table() if pool is None else pool)
        spool.directory.rmdir()
        return overview.summary()


def _pool(table: pa.Table, language: str) -> Pool:
    """Examine the texts of a pool as if they were articles, each document's sentences in one line."""
    by_document: dict[int, list[str]] = {}
    for document, text in zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True):
        by_document.setdefault(document, []).append(text)
    texts = [" ".join(each) for each in by_document.values()]
    found = examine((0, texts), language, minimum_tokens=1, maximum_tokens=np.iinfo(np.int32).max)
    return Pool(found.documents.identity, found.documents.signature, fingerprints(table["text"].to_pylist()))


def _examine(articles: Articles, spool: "Spool", options: Clean, where: Shards) -> Origins:
    """Examine all articles and write their sentences to `spool`; return the origins of the articles."""
    work = partial(  # without `options` itself, for which each worker would load pydantic
        examine,
        language=options.language,
        minimum_tokens=options.minimum_tokens,
        maximum_tokens=options.maximum_tokens,
    )

    # Origins are read in a thread beside, since the workers take a second to start.
    texts = track(articles.texts(), len(articles), "articles")
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(articles.origins)  # while the processes start
        drawn = shards(texts, options.shard_documents)
        with map_shards(work, drawn, where) as findings:
            spool.fill(findings)
        return reading.result()


def shards(texts: Iterable[str], part_documents: int) -> Iterator[tuple[int, list[str]]]:
    """Yield a few articles at a time, with the number of the first; no shard has articles of two parts."""
    shard: list[str] = []
    size = number = 0
    for number, text in enumerate(texts, start=1):
        shard.append(text)
        size += len(text)
        if len(shard) == EXAMINED_AT_ONCE or size >= EXAMINED_CHARACTERS or number % part_documents == 0:
            yield number - len(shard), shard
            shard, size = [], 0

    # What is left over is a shard, too.
    if shard:
        yield number - len(shard), shard


class Spool:
    """The sentences so far, in a file for each part, and in memory the numbers that decisions need."""

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
        for number, group in itertools.groupby(findings, lambda finding: finding.first // self.part_documents):
            with pa.OSFile(str(self.path(number)), "wb") as sink, pa.ipc.new_file(sink, FOUND) as file:
                for finding in group:
                    file.write_table(finding.table)
                    self._sentences.append(finding.sentences)
                    self._documents.append(finding.documents)
                    self.removed.update(finding.removed)
            self.parts = number + 1

    def take(self) -> tuple[Documents, Sentences]:
        """Return the decisions on all documents and sentences, and release them."""
        documents, sentences = _joined(self._documents), _joined(self._sentences)
        self._documents, self._sentences = [], []
        return documents, sentences

    def path(self, number: int) -> Path:
        """Return the file of a part."""
        return self.directory / f"part-{number:05d}.arrow"

    def read(self, number: int) -> pa.Table:
        """Map the sentences of a part into memory and remove its file."""
        path = self.path(number)
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        path.unlink()
        return table.combine_chunks()  # else the bytes of the result would depend on the size of the shards


def _joined(parts: list[Parts]) -> Parts:
    kind = type(parts[0])
    columns: dict[str, Any] = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(kind)
    }
    return kind(**columns)


def write_part(number: int, spool: Spool, decisions: Decisions, target: Path, language: str) -> Written:
    """Write the kept sentences of a part to `target`, and return its dropped and its held-out sentences."""
    first = number * spool.part_documents
    sentences = spool.read(number)
    own = decisions.part(first, first + spool.part_documents)
    clean_ones = own.in_kept & (own.sentences == 0)
    held_out = sentences.filter(pa.array(clean_ones & own.in_held_out)).select(HELD_OUT.names).cast(HELD_OUT)
    kept = sentences.filter(pa.array(clean_ones & ~own.in_held_out))
    tokens = encoded(kept["tokens"].combine_chunks())
    columns = [*kept.columns[:-1], tokens, without_stop_words(tokens, language)]
    schema = pa.schema([field.with_type(column.type) for field, column in zip(SENTENCES, columns, strict=True)])
    kept = pa.table(columns, schema=schema)
    # The columns of the file are strings; the schema that Arrow would add says that they are dictionaries in memory.
    pq.write_table(kept, target / f"part-{number:05d}.parquet", store_schema=False, **PARQUET)
    dropped = pa.concat_tables([_dropped_sentences(sentences, own), _dropped_documents(sentences, own, first)])
    dropped = dropped.sort_by([("document", "ascending"), ("position", "ascending")])
    return Written(first, sentences, own, kept, dropped, held_out)


def _dropped_sentences(sentences: pa.Table, own: Decisions) -> pa.Table:
    """Select the dropped sentences of kept documents, DROPPED."""
    mask = own.in_kept & (own.sentences > 0)
    dropped = sentences.drop_columns("tokens").filter(pa.array(mask))
    reasons = pa.array(SENTENCE_REASONS).take(pa.array(own.sentences[mask]))
    return pa.Table.from_arrays([*dropped.columns, reasons], schema=DROPPED)


def _dropped_documents(sentences: pa.Table, own: Decisions, first: int) -> pa.Table:
    """Make one row of each dropped document, DROPPED."""
    rows = []
    for place in np.flatnonzero(own.documents).tolist():
        begin, end = own.starts[place : place + 2] - own.starts[0]
        text = " ".join(sentences["text"][begin:end].to_pylist())
        reason = DOCUMENT_REASONS[own.documents[place]]
        rows.append({"document": first + place, "position": -1, "text": text, "reason": reason})
    return pa.Table.from_pylist(rows, schema=DROPPED)


def count(decisions: Decisions, removed: Counter[str], counters: Counters, pool: pa.Table | None = None) -> None:
    """Count kept and dropped sentences; raises InputError if none is kept."""
    kept, dropped, documents = decisions.counts()
    counters.keep(kept)
    counters.dropped.update(dropped)
    details = {f"removed: {name}": found for name, found in removed.items()}
    for reason, found in documents.items():
        details[f"documents dropped: {reason}" if reason else "documents kept"] = found
    if pool is not None:
        details |= {"documents held out": len(pool["document"].unique()), "held out": len(pool), "fixed pool": 1}
    elif decisions.held_out.any():
        details |= {"documents held out": int(decisions.held_out.sum()), "held out": decisions.held_out_sentences}

    # Sorted, so that the file of counters has one form.
    counters.details.update(sorted(details.items()))
    if not kept:
        raise InputError(
            f"no sentence of {len(decisions.documents)} articles was kept (dropped: {dict(counters.dropped)}); "
            "check whether `language` and `minimum_tokens` fit the articles."
        )
