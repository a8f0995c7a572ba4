"""Encode a file of texts, one per line or per row of a table, in as much memory as one batch takes.

Row i of the output belongs to text i. A blank text, and one without a word that the encoder knows, has a zero vector
and is counted. The Parquet output keeps all columns of a table.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sentence_distillery.corpus.tables.table import Table
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.threads import BATCH
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.ragged import Floats

BATCH_BYTES = 2**25
EMBEDDING = "embedding"  # the column of the vectors

Write = Callable[[pa.RecordBatch, Floats], None]


@dataclass
class Totals:
    """Counts of the lines: `blank` and `unknown` ones have a zero vector."""

    lines: int = 0
    blank: int = 0
    unknown: int = 0


def batches(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches, and cut them, into some of at most BATCH rows, and of about BATCH_BYTES at most."""
    waiting: list[pa.RecordBatch] = []
    for given in rows:
        for start in range(0, len(given), BATCH):
            # A part that would make the batch too long begins the next one
            part = given.slice(start, BATCH)
            if waiting and sum(map(len, waiting)) + len(part) > BATCH:
                yield _joined(waiting)
                waiting = []
            waiting.append(part)
            if sum(batch.nbytes for batch in waiting) >= BATCH_BYTES:
                yield _joined(waiting)
                waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def encode_batch(encoder: StaticEncoder, texts: list[str], totals: Totals) -> Floats:
    """Encode to (texts, dimension) float32 rows of unit length; zero for a text without a known word."""
    vectors, counts = encoder.encode_counting(texts)
    blank = sum(not text.strip() for text in texts)
    totals.lines += len(texts)
    totals.blank += blank
    totals.unknown += int((counts == 0).sum()) - blank
    vectors[counts == 0] = 0.0  # after a linear layer it would be the direction of the bias
    return vectors


@contextmanager
def parquet_writer(path: Path, columns: pa.Schema, dimension: int) -> Iterator[Write]:
    """Write the rows with their vectors in the column `embedding`; each batch is one row group."""
    schema = columns.append(pa.field(EMBEDDING, pa.list_(pa.float32(), dimension)))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:

        def write(rows: pa.RecordBatch, vectors: Floats) -> None:
            embedding = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension)
            writer.write_batch(pa.RecordBatch.from_arrays([*rows.columns, embedding], schema=schema))

        yield write


@contextmanager
def npy_writer(path: Path, columns: pa.Schema, dimension: int) -> Iterator[Write]:
    """Write a (lines, dimension) array; NumPy pads the header, so the count, known at the end, fits in its place."""
    with path.open("wb") as file:
        count = 0

        def header() -> None:
            shape = {"descr": "<f4", "fortran_order": False, "shape": (count, dimension)}
            np.lib.format.write_array_header_1_0(file, shape)

        def write(rows: pa.RecordBatch, vectors: Floats) -> None:
            nonlocal count
            count += len(vectors)
            file.write(vectors.astype("<f4", copy=False).tobytes())

        # Once without the count of rows, and at the end with it
        header()
        yield write
        file.seek(0)
        header()


WRITERS = {".parquet": parquet_writer, ".npy": npy_writer}


def check_output(output: Path) -> None:
    """Raise InputError if the suffix of an output is of no known format."""
    if output.suffix not in WRITERS:
        raise InputError(f"{output} ends with neither .parquet nor .npy; use one of these suffixes.")


def encode_table(encoder: StaticEncoder, table: Table, name: str, output: Path) -> Totals:
    """Encode the texts of a table to a file, which is written whole or not at all, and count them.

    `name` says in errors where the rows come from. `output` ends with .parquet (all columns of the table, and
    `embedding`) or .npy ((rows, dimension) float32).

    Raises InputError if there is no text, one cannot be read, the table has a column `embedding`, or the output cannot
    be written.
    """
    check_output(output)
    if output.suffix == ".parquet" and EMBEDDING in table.schema.names:
        raise InputError(f"{name} has a column '{EMBEDDING}', the name of the vectors; rename it, or write .npy.")

    # A batch at a time, so that a file of any size fits in memory.
    totals = Totals()
    with atomic_file(output) as partial:
        with WRITERS[output.suffix](partial, table.schema.remove_metadata(), encoder.dimension) as write:
            for rows in batches(table.batches):
                texts = [text or "" for text in rows.column(table.column).to_pylist()]
                write(rows, encode_batch(encoder, texts, totals))
                _show(totals)
        if totals.lines == 0:
            raise InputError(f"{name} has no text; give a file with one text per line, or a table with rows.")
    return totals


def _show(totals: Totals) -> None:
    """Rewrite one line of a terminal; a log gets only the totals at the end."""
    if sys.stderr.isatty():
        sys.stderr.write(f"encode: {totals.lines:,} lines\r")
