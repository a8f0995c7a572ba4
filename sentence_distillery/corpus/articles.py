"""Articles to clean: a table of the schema ARTICLES, or part-*.parquet files of a directory, read in small pieces."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sentence_distillery.corpus.schema import ARTICLES
from sentence_distillery.io.artifacts import InputError, check_kind, table_parts, unreadable
from sentence_distillery.io.checksums import check_file

BATCH_ROWS = 500
NO_DAY = int(np.iinfo(np.int32).min)


@dataclass(frozen=True)
class Origins:
    """The origin of each document: its source, as an index in `names`, and its day since 1970 or NO_DAY."""

    names: list[str]
    sources: NDArray[np.int32]  # (documents,)
    days: NDArray[np.int32]  # (documents,)


class Articles:
    """Articles that can be read several times, a few hundred in memory: a table, or a directory of parts, of ARTICLES.

    Raises InputError if the table has another schema, or the directory no such file; later, if a file is damaged.
    """

    def __init__(self, given: Path | pa.Table) -> None:
        if isinstance(given, pa.Table) and not given.schema.equals(ARTICLES):
            columns = ", ".join(f"{field.name} {field.type}" for field in ARTICLES)
            raise InputError(f"The table of articles has the columns {', '.join(given.column_names)}, not {columns}.")
        self._parts: list[Path | pa.Table] = list(table_parts(given)) if isinstance(given, Path) else [given]

    def __len__(self) -> int:
        return sum(map(_rows, self._parts))

    def texts(self) -> Iterator[str]:
        """Yield the texts of all articles in order."""
        for part in self._parts:
            yield from part_texts(part)

    def origins(self) -> Origins:
        """Read the source and the day of each article."""
        names: dict[str, int] = {}
        sources, days = [], []
        for part in self._parts:
            for batch in _batches(part, ["source", "published"]):
                encoded = batch["source"].dictionary_encode()
                codes = [names.setdefault(name, len(names)) for name in encoded.dictionary.to_pylist()]

                # Sources are numbered over all parts, so that a line that repeats in two of them is found.
                sources.append(np.array(codes, np.int32)[encoded.indices.to_numpy()])
                days.append(batch["published"].cast(pa.int32()).fill_null(NO_DAY).to_numpy())
        return Origins(list(names), np.concatenate(sources), np.concatenate(days))


def articles_from_texts(texts: Iterable[str], source: str = "texts") -> pa.Table:
    """Make a table of ARTICLES, with a text each; a line that repeats within one source is boilerplate.

    >>> articles_from_texts(["It rained.", "Ships wait."], "notes")["url"].to_pylist()
    ['notes#1', 'notes#2']
    """
    rows = [{"url": f"{source}#{number}", "source": source, "text": text} for number, text in enumerate(texts, start=1)]
    return pa.Table.from_pylist(rows, schema=ARTICLES)


def part_texts(part: Path | pa.Table) -> Iterator[str]:
    """Yield the texts of a part in order; raises InputError if the file cannot be read."""
    for batch in _batches(part, ["text"]):
        yield from batch["text"].to_pylist()


def _batches(part: Path | pa.Table, names: list[str]) -> Iterator[pa.RecordBatch]:
    if isinstance(part, pa.Table):
        yield from part.select(names).to_batches(BATCH_ROWS)
        return
    with _reading(part), pq.ParquetFile(part, page_checksum_verification=True) as file:
        yield from (batch.select(names) for batch in file.iter_batches(BATCH_ROWS, columns=names))


def _rows(part: Path | pa.Table) -> int:
    """Count the articles of a part; those of a file by its footer."""
    if isinstance(part, pa.Table):
        return int(part.num_rows)
    with _reading(part):
        return int(pq.read_metadata(part).num_rows)


@contextmanager
def _reading(part: Path) -> Iterator[None]:
    check_kind(part)
    check_file(part)
    try:
        yield
    except (OSError, KeyError, UnicodeDecodeError, pa.ArrowException) as error:
        raise unreadable(part, error) from error
