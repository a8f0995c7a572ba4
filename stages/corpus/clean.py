"""Articles to sentences: one clean sentence a row, and every dropped one beside it with the reason.

Counters count sentences. A dropped document counts all its sentences under the document's reason (one where it has
none) and stands as one row, at position -1, in dropped.parquet. Only the body of an article is read: headlines are no
sentences.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stages.artifacts import InputError, atomic_directory, read_table, table_parts, write_table
from stages.corpus.documents import Filter, Findings, examine
from stages.corpus.schema import ARTICLES_DIRECTORY, DROPPED, DROPPED_FILE, HELD_OUT, SENTENCES, SENTENCES_DIRECTORY
from stages.progress import track
from stages.shards import map_shards
from stages.stage import Counters, stage

HELD_OUT_FILE = Path("data/benchmarks/held_out.parquet")
BATCH_ROWS = 500
EXAMINED_AT_ONCE = 100

Row = dict[str, Any]


class Part:
    """The kept and dropped rows of the documents that share one part."""

    def __init__(self, sentence_filter: Filter, counters: Counters, documents: Counter[str]) -> None:
        self._filter = sentence_filter
        self._counters = counters
        self._documents = documents
        self._kept: list[pa.Table] = []
        self._dropped: list[Row] = []

    def add(self, found: Findings) -> None:
        """Keep or drop each document with its sentences, and count it."""
        self._documents.update({f"removed: {name}": count for name, count in found.removed.items()})
        faults, identities = found.sentences["fault"].to_pylist(), found.sentences["identity"].to_pylist()
        kept = np.zeros(len(faults), dtype=bool)
        end = 0
        for number, document in enumerate(found.documents, found.first):
            start, end = end, end + document.sentences
            reason = self._filter.document_fault(document)
            self._documents[f"documents dropped: {reason}" if reason else "documents kept"] += 1
            if reason:
                self._drop(number, -1, document.text, reason, document.sentences or 1)
                continue
            for position, row in enumerate(range(start, end)):
                reason = self._filter.sentence_fault(position, faults[row], identities[row])
                if reason:
                    self._drop(number, position, found.sentences["text"][row].as_py(), reason, 1)
                kept[row] = reason is None
        self._counters.keep(int(kept.sum()))
        self._kept.append(found.sentences.select(SENTENCES.names).filter(pa.array(kept)))

    def _drop(self, number: int, position: int, text: str, reason: str, count: int) -> None:
        self._counters.drop(reason, count)
        self._dropped.append({"document": number, "position": position, "text": text, "reason": reason})

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """SENTENCES that are kept, and what is DROPPED."""
        # One chunk, or the bytes of the file would tell how many documents were examined at once.
        return pa.concat_tables(self._kept).combine_chunks(), pa.Table.from_pylist(self._dropped, schema=DROPPED)


def article_texts(parts: list[Path]) -> Iterator[str]:
    """The texts of all articles in order, a few hundred in memory; raises InputError where a part cannot be read."""
    for part in parts:
        try:
            file = pq.ParquetFile(part, page_checksum_verification=True)
            for batch in file.iter_batches(BATCH_ROWS, columns=["text"]):
                yield from batch.column("text").to_pylist()
        except (OSError, KeyError, UnicodeDecodeError, pa.ArrowException) as error:
            raise InputError(f"{part} cannot be read: {error}. Rebuild it with `dvc repro --force crawl`.") from error


def shards(texts: Iterator[str], part_documents: int) -> Iterator[tuple[int, list[str]]]:
    """A few articles at a time, with the number of the first; none of them fall in two parts."""
    first = 0
    while True:
        shard = list(itertools.islice(texts, min(EXAMINED_AT_ONCE, part_documents - first % part_documents)))
        if not shard:
            return
        yield first, shard
        first += len(shard)


def count_articles(parts: list[Path]) -> int:
    """The number of articles in `parts`, by their footers."""
    total = 0
    for part in parts:
        try:
            total += int(pq.read_metadata(part).num_rows)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{part} cannot be read: {error}. Rebuild it with `dvc repro --force crawl`.") from error
    return total


def read_held_out(path: Path) -> frozenset[int]:
    """The fingerprints of the sentences that the benchmarks hold out."""
    return frozenset(read_table(path, HELD_OUT).column("fingerprint").to_pylist())


def main() -> None:
    with stage("clean", unit="sentences") as (params, counters):
        clean = params.clean
        parts = table_parts(ARTICLES_DIRECTORY)
        total = count_articles(parts)
        sentence_filter = Filter(clean.near_duplicate_threshold, read_held_out(HELD_OUT_FILE))
        documents: Counter[str] = Counter()
        texts = track(article_texts(parts), total, "articles")
        with (
            atomic_directory(SENTENCES_DIRECTORY) as directory,
            pq.ParquetWriter(
                directory / DROPPED_FILE, DROPPED, compression="zstd", write_page_checksum=True
            ) as dropped_file,
            map_shards(partial(examine, clean=clean), shards(texts, clean.shard_documents), params.shards) as findings,
        ):
            for number, group in itertools.groupby(findings, lambda found: found.first // clean.shard_documents):
                part = Part(sentence_filter, counters, documents)
                for found in group:
                    part.add(found)
                kept, dropped = part.tables()
                write_table(directory / f"part-{number:05d}.parquet", kept)
                dropped_file.write_table(dropped)
            if not counters.kept:
                raise InputError(
                    f"no sentence of {total} articles was kept (dropped: {dict(counters.dropped)}); "
                    "see whether clean.language and clean.minimum_tokens fit the articles."
                )
        counters.details.update(sorted(documents.items()))


if __name__ == "__main__":
    main()
