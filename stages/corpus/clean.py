"""Articles to sentences: one clean sentence a row, and every dropped one beside it with the reason.

Counters count sentences. A dropped document counts all its sentences under the document's reason (one where it has
none) and stands as one row, at position -1, in dropped.parquet. Only the body of an article is read: headlines are no
sentences.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stages.artifacts import InputError, atomic_directory, read_table, table_parts, write_table
from stages.corpus.documents import Document, Filter, read_document
from stages.corpus.language import known_languages
from stages.corpus.schema import ARTICLES_DIRECTORY, DROPPED, DROPPED_FILE, HELD_OUT, SENTENCES, SENTENCES_DIRECTORY
from stages.corpus.text import content_tokens
from stages.params import Clean
from stages.progress import track
from stages.stage import Counters, stage

HELD_OUT_FILE = Path("data/benchmarks/held_out.parquet")
BATCH_ROWS = 500

Row = dict[str, Any]


class Shard:
    """The kept and dropped rows of the documents that share one part."""

    def __init__(self, clean: Clean, sentence_filter: Filter, counters: Counters, documents: Counter[str]) -> None:
        self._clean = clean
        self._filter = sentence_filter
        self._counters = counters
        self._documents = documents
        self.kept: list[Row] = []
        self.dropped: list[Row] = []

    def add(self, number: int, document: Document) -> None:
        """Keep or drop the document with its sentences, and count it."""
        reason = self._filter.document_fault(document)
        self._documents[f"documents dropped: {reason}" if reason else "documents kept"] += 1
        self._documents.update({f"removed: {name}": count for name, count in document.removed.items()})
        if reason:
            self._drop(number, -1, document.text, reason, len(document.sentences) or 1)
            return
        for position, (sentence, tokens) in enumerate(zip(document.sentences, document.tokens, strict=True)):
            reason = self._filter.sentence_fault(position, sentence, tokens)
            if reason:
                self._drop(number, position, sentence, reason, 1)
            else:
                self._keep(number, position, sentence, tokens)

    def _keep(self, number: int, position: int, sentence: str, tokens: list[str]) -> None:
        self._counters.keep()
        content = content_tokens(tokens, self._clean.language)
        row = {"document": number, "position": position, "text": sentence, "tokens": tokens, "content_tokens": content}
        self.kept.append(row)

    def _drop(self, number: int, position: int, text: str, reason: str, count: int) -> None:
        self._counters.drop(reason, count)
        self.dropped.append({"document": number, "position": position, "text": text, "reason": reason})


def article_texts(parts: list[Path]) -> Iterator[str]:
    """The texts of all articles in order, a few hundred in memory; raises InputError where a part cannot be read."""
    for part in parts:
        try:
            file = pq.ParquetFile(part, page_checksum_verification=True)
            for batch in file.iter_batches(BATCH_ROWS, columns=["text"]):
                yield from batch.column("text").to_pylist()
        except (OSError, KeyError, UnicodeDecodeError, pa.ArrowException) as error:
            raise InputError(f"{part} cannot be read: {error}. Rebuild it with `dvc repro --force crawl`.") from error


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


def check_language(language: str) -> None:
    """Raise InputError where no document could be told to be in `language`."""
    if language not in known_languages():
        raise InputError(
            f"clean.language = '{language}' is unknown to py3langid; use one of {', '.join(known_languages())}."
        )


def main() -> None:
    with stage("clean", unit="sentences") as (params, counters):
        clean = params.clean
        check_language(clean.language)
        parts = table_parts(ARTICLES_DIRECTORY)
        total = count_articles(parts)
        sentence_filter = Filter(clean, read_held_out(HELD_OUT_FILE))
        documents: Counter[str] = Counter()
        texts = enumerate(track(article_texts(parts), total, "articles"))
        with (
            atomic_directory(SENTENCES_DIRECTORY) as directory,
            pq.ParquetWriter(
                directory / DROPPED_FILE, DROPPED, compression="zstd", write_page_checksum=True
            ) as dropped,
        ):
            for first in range(0, total, clean.shard_documents):
                shard = Shard(clean, sentence_filter, counters, documents)
                for number, text in itertools.islice(texts, clean.shard_documents):
                    shard.add(number, read_document(text, clean.language))
                part = directory / f"part-{first // clean.shard_documents:05d}.parquet"
                write_table(part, pa.Table.from_pylist(shard.kept, schema=SENTENCES))
                dropped.write_table(pa.Table.from_pylist(shard.dropped, schema=DROPPED))
            if not counters.kept:
                raise InputError(
                    f"no sentence of {total} articles was kept (dropped: {dict(counters.dropped)}); "
                    "see whether clean.language and clean.minimum_tokens fit the articles."
                )
        counters.details.update(sorted(documents.items()))


if __name__ == "__main__":
    main()
