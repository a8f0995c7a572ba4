"""Encode text with a trained student, one sentence a line, in as much memory as one batch takes.

    python -m stages.distillation.encode sentences.txt vectors.parquet      columns text, embedding
    zcat news.gz | python -m stages.distillation.encode - vectors.npy       (lines, dimension) float32
    python -m stages.distillation.encode --compare "a storm hit" "a gale came"

Row i belongs to line i. A blank line, and one without a word that the student knows, has a zero vector and is counted.
"""

import argparse
import codecs
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from sentence_distillery.encoder.static_encoder import BATCH, STUDENT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.ragged import Floats

BATCH_BYTES = 2**25
LONGEST_LINE = 2**26  # bytes
LOG_SECONDS = 10.0

log = logging.getLogger("stages")

Write = Callable[[list[str], Floats], None]


@dataclass
class Totals:
    """What became of the lines: `blank` and `unknown` ones have a zero vector."""

    lines: int = 0
    blank: int = 0
    unknown: int = 0


def read_lines(stream: BinaryIO, name: str) -> Iterator[tuple[str, int]]:
    """Each line without its end, and its size in bytes; raises InputError where one is not UTF-8 or too long."""
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


def batches(lines: Iterator[tuple[str, int]]) -> Iterator[tuple[list[str], int]]:
    """Lines in batches of at most BATCH, and of about BATCH_BYTES at most; with the bytes of each."""
    texts: list[str] = []
    size = 0
    for text, length in lines:
        texts.append(text)
        size += length
        if len(texts) == BATCH or size >= BATCH_BYTES:
            yield texts, size
            texts, size = [], 0
    if texts:
        yield texts, size


def encode_batch(encoder: StaticEncoder, texts: list[str], totals: Totals) -> Floats:
    """(texts, dimension) float32 rows of unit length, zero where no word is known."""
    tokens = encoder.token_ids(texts)
    unknown = tokens.without(UNKNOWN_ID).lengths == 0
    blank = sum(not text.strip() for text in texts)
    totals.lines += len(texts)
    totals.blank += blank
    totals.unknown += int(unknown.sum()) - blank
    vectors = encoder.embed(tokens)
    vectors[unknown] = 0.0  # after a linear layer it would be the direction of the bias
    return vectors


@contextmanager
def parquet_writer(path: Path, dimension: int) -> Iterator[Write]:
    """Rows of text and embedding; each batch is one row group."""
    schema = pa.schema([("text", pa.string()), ("embedding", pa.list_(pa.float32(), dimension))])
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:

        def write(texts: list[str], vectors: Floats) -> None:
            embedding = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension)
            writer.write_batch(pa.record_batch([pa.array(texts, pa.string()), embedding], schema=schema))

        yield write


@contextmanager
def npy_writer(path: Path, dimension: int) -> Iterator[Write]:
    """A (lines, dimension) array. NumPy pads the header so that the count, known at the end, fits in its place."""
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


def encode_stream(encoder: StaticEncoder, stream: BinaryIO, name: str, output: Path) -> Totals:
    """Encode all lines of `stream` to `output`, whole or not at all; raises InputError where there is no line."""
    if output.suffix not in WRITERS:
        raise InputError(f"{output} ends with neither .parquet nor .npy; name it so.")
    totals = Totals()
    with atomic_file(output) as partial, _progress(stream) as bar:
        with WRITERS[output.suffix](partial, encoder.dimension) as write:
            for texts, size in batches(read_lines(stream, name)):
                write(texts, encode_batch(encoder, texts, totals))
                bar.update(size)
        if totals.lines == 0:
            raise InputError(f"{name} is empty; give it one sentence a line.")
    return totals


def _progress(stream: BinaryIO) -> "tqdm[Any]":
    """A bar over the bytes, which a pipe cannot tell beforehand; in a log, a line every ten seconds."""
    size = os.fstat(stream.fileno()).st_size or None
    terminal = sys.stderr.isatty()
    seconds = 0.1 if terminal else LOG_SECONDS
    return tqdm(
        total=size, unit="B", unit_scale=True, desc="encode", mininterval=seconds, delay=seconds, leave=not terminal
    )


def compare(encoder: StaticEncoder, first: str, second: str) -> float:
    """Cosine of two sentences; raises InputError where one has no known word, since it has no direction."""
    vectors = encode_batch(encoder, [first, second], Totals())
    for text, vector in zip((first, second), vectors, strict=True):
        if not vector.any():
            raise InputError(f"The student knows no word of {text!r}, so the cosine is undefined.")
    return float(vectors[0] @ vectors[1])


def load_student(directory: Path) -> StaticEncoder:
    if not directory.is_dir():
        raise InputError(f"There is no student in {directory}; train one with `dvc repro student`, or give --model.")
    return StaticEncoder.load(directory)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m stages.distillation.encode", description="Encode sentences.")
    parser.add_argument("input", nargs="?", help="text file, one sentence a line; - is standard input")
    parser.add_argument("output", nargs="?", type=Path, help="file that ends with .parquet or .npy")
    parser.add_argument("--model", type=Path, default=STUDENT, help=f"directory of the student, {STUDENT} by default")
    parser.add_argument("--compare", nargs=2, metavar="SENTENCE", help="print the cosine of two sentences instead")
    return parser


def _open(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}; give a text file, or - for stdin.") from error
