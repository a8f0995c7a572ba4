"""Encode a file of texts, one per line or per row of a table, in as much memory as one batch takes.

Row i of the output belongs to text i. A blank text, and one without a word that the encoder knows, has a zero vector
and is counted.
"""

import codecs
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sentence_distillery.encoder.static_encoder import BATCH, StaticEncoder
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.ragged import Floats

BATCH_BYTES = 2**25
LONGEST_LINE = 2**26  # bytes

Write = Callable[[list[str], Floats], None]


@dataclass
class Totals:
    """Counts of the lines: `blank` and `unknown` ones have a zero vector."""

    lines: int = 0
    blank: int = 0
    unknown: int = 0


def read_lines(stream: BinaryIO, name: str) -> Iterator[tuple[str, int]]:
    """Yield each line without its end, and its size in bytes; raises InputError if one is not UTF-8 or is too long."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError(
                f"{name}, line {number} is longer than {LONGEST_LINE:,} bytes; put one sentence on a line."
            )
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            yield text.rstrip(b"\r\n").decode(), len(line)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}, line {number} is not UTF-8 ({error.reason} at byte {error.start + 1}); convert it first, "
                "for example with `iconv -f WINDOWS-1252 -t UTF-8`."
            ) from error


def read_texts(path: Path, column: str) -> Iterator[tuple[str, int]]:
    """Yield the text of each row of a table, and its length; raises InputError if the file or the column is not there.

    A null is an empty text, so that rows stay in step.
    """
    from sentence_distillery.corpus.readers import read_column  # lines of text do not need it

    return ((text, len(text)) for text in read_column(path, column))


def batches(lines: Iterator[tuple[str, int]]) -> Iterator[list[str]]:
    """Yield lines in batches of at most BATCH, and of about BATCH_BYTES at most."""
    texts: list[str] = []
    size = 0
    for text, length in lines:
        texts.append(text)
        size += length
        if len(texts) == BATCH or size >= BATCH_BYTES:
            yield texts
            texts, size = [], 0
    if texts:
        yield texts


def encode_batch(encoder: StaticEncoder, texts: list[str], totals: Totals) -> Floats:
    """Encode to (texts, dimension) float32 rows of unit length; zero for a text without a known word."""
    prompt = encoder.prompts.get(encoder.default_prompt_name or "", "")
    tokens = encoder.token_ids([prompt + text for text in texts] if prompt else texts)
    unknown = encoder.known(tokens).lengths == 0
    blank = sum(not text.strip() for text in texts)
    totals.lines += len(texts)
    totals.blank += blank
    totals.unknown += int(unknown.sum()) - blank
    vectors = encoder.embed(tokens)
    vectors[unknown] = 0.0  # after a linear layer it would be the direction of the bias
    return vectors


@contextmanager
def parquet_writer(path: Path, dimension: int) -> Iterator[Write]:
    """Write rows of text and embedding; each batch is one row group."""
    schema = pa.schema([("text", pa.string()), ("embedding", pa.list_(pa.float32(), dimension))])
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:

        def write(texts: list[str], vectors: Floats) -> None:
            embedding = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension)
            writer.write_batch(pa.record_batch([pa.array(texts, pa.string()), embedding], schema=schema))

        yield write


@contextmanager
def npy_writer(path: Path, dimension: int) -> Iterator[Write]:
    """Write a (lines, dimension) array; NumPy pads the header, so the count, known at the end, fits in its place."""
    with path.open("wb") as file:
        count = 0

        def header() -> None:
            shape = {"descr": "<f4", "fortran_order": False, "shape": (count, dimension)}
            np.lib.format.write_array_header_1_0(file, shape)

        def write(texts: list[str], vectors: Floats) -> None:
            nonlocal count
            count += len(vectors)
            file.write(vectors.astype("<f4", copy=False).tobytes())

        header()
        yield write
        file.seek(0)
        header()


WRITERS = {".parquet": parquet_writer, ".npy": npy_writer}


def encode_lines(encoder: StaticEncoder, stream: BinaryIO, name: str, output: Path) -> Totals:
    """Encode every line of UTF-8 text, as `encode_texts` does; raises InputError if one is not, or is above 64 MiB."""
    return encode_texts(encoder, read_lines(stream, name), name, output)


def encode_texts(encoder: StaticEncoder, texts: Iterator[tuple[str, int]], name: str, output: Path) -> Totals:
    """Encode texts to a file, which is written whole or not at all.

    Args:
        encoder: The encoder.
        texts: As `read_lines` or `read_texts` yields them.
        name: Where they come from, for error messages.
        output: A path that ends with .parquet (columns text, embedding) or .npy ((texts, dimension) float32).

    Returns:
        The number of texts, and of those with a zero vector.

    Raises:
        InputError: If there is no text, one cannot be read, or the output cannot be written.
    """
    if output.suffix not in WRITERS:
        raise InputError(f"{output} ends with neither .parquet nor .npy; use one of these suffixes.")
    totals = Totals()
    with atomic_file(output) as partial:
        with WRITERS[output.suffix](partial, encoder.dimension) as write:
            for batch in batches(texts):
                write(batch, encode_batch(encoder, batch, totals))
                _show(totals)
        if totals.lines == 0:
            raise InputError(f"{name} is empty; give a file with one text per line, or a table with rows.")
    return totals


def _show(totals: Totals) -> None:
    """Rewrite one line of a terminal; a log gets only the totals at the end."""
    if sys.stderr.isatty():
        sys.stderr.write(f"encode: {totals.lines:,} lines\r")


def compare(encoder: StaticEncoder, first: str, second: str) -> float:
    """Return the cosine of two texts in [-1, 1]; raises InputError if one has no known word."""
    vectors = encode_batch(encoder, [first, second], Totals())
    for text, vector in zip((first, second), vectors, strict=True):
        if not vector.any():
            raise InputError(
                f"The encoder knows none of the words of {text!r}, so the cosine is undefined; use another text."
            )
    return float(vectors[0] @ vectors[1])
