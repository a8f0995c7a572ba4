"""Measure the quality of smaller students: a row for each variant and peer.

    own         the student in each precision and dimension (sentence_distillery/encoder/compression.py), saved and
                loaded again; the released student; the student with an MLP head
    peer        the teacher, GloVe, and model2vec and sentence-transformers with the same table, scored here
    published   other encoders with figures that others published, `source` says where; their size is that of their
                parameters in float32

Quality is Pearson and Spearman x 100 of cosines. Megabytes are 10^6 bytes of all files, milliseconds the median of
loading, in a process that has imported the libraries. Speed is the best of several runs, which a busy machine distorts
least.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from model2vec import StaticModel
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from measurements.release.sign_rows import tokens_of
from reproductions.paper1.word_vectors.glove import load_glove
from reproductions.systems.similarity import Encode, scores
from reproductions.systems.systems import WordSystem
from sentence_distillery.distillation.export import write_model
from sentence_distillery.encoder.compression import Precision, compressed, principal_directions, stored_as
from sentence_distillery.encoder.lexical import LEXICAL_WEIGHT
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.evaluation.evaluate import Function
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError, read_table
from sentence_distillery.io.unavailable import read_unavailable
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.stopwatch import timed
from sentence_distillery.teachers.options import AnyTeacher
from sentence_distillery.teachers.transformer import load_encoder

Row = dict[str, object]

DIMENSIONS = (256, 192, 128, 64, 32)
NARROW = 160  # dimensions of the released student, for similarity and for speed
PRECISIONS = (Precision.FLOAT32, Precision.FLOAT16, Precision.INT8)
SENTENCES = 20_000
PEER_SENTENCES = 5_000
TEACHER_SENTENCES = 200
RUNS = 5
COLUMNS = ["system", "kind", "precision", "dimension", "megabytes", "load_ms", "sentences_per_second", "source"]
MTEB = "github.com/embeddings-benchmark/results, STSBenchmark.json"
PUBLISHED = (  # organisation, system, revision, dimension, megabytes, Pearson and Spearman x 100 on STS-B test
    ("minishlab", "potion-base-32M", "fc914ed0", "", 129.2, 78.69, 76.84),
    ("sentence-transformers", "static-similarity-mrl-multilingual-v1", "7264ea07", 1024, 433.7, 80.89, 79.94),
    ("sentence-transformers", "all-MiniLM-L6-v2", "8b3219a9", 384, 90.9, 82.74, 82.03),
)


@dataclass(frozen=True)
class Workload:
    """The input of every variant: the corpus sentences that it is timed on, and the benchmark sets."""

    sentences: list[str]
    benchmarks: BenchmarkData

    def first(self, count: int) -> "Workload":
        """Return the same with fewer sentences, for a slow encoder."""
        return replace(self, sentences=self.sentences[:count])


def token_counts(encoder: StaticEncoder, words: Path) -> NDArray[np.int64]:
    """Count each token in the table of a corpus' words, (vocabulary,); 0 for pieces of words.

    Raises InputError if the table has none of the student's words.
    """
    table = read_table(words, pa.schema([("word", pa.string()), ("count", pa.int64())]))
    known = dict(zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True))
    counts = np.array([known.get(token, 0) for token in tokens_of(encoder.tokenizer)], np.int64)
    counts[UNKNOWN_ID] = 0
    if not counts.any():
        raise InputError(f"{words} has no word of the student; give the words of its training text.")
    return counts


def own_rows(encoder: StaticEncoder, words: Path, workload: Workload) -> Iterator[Row]:
    """Yield a row for each precision and dimension up to the student's; `words` is as in `token_counts`."""
    directions = principal_directions(encoder.table, token_counts(encoder, words))
    dimensions = [encoder.dimension, *(d for d in DIMENSIONS if d < encoder.dimension)]
    cells = list(product(PRECISIONS, dimensions))
    for precision, dimension in track(cells, len(cells), "variants"):
        with tempfile.TemporaryDirectory() as name:
            write_model(compressed(encoder, directions, dimension, precision), {}, Path(name))
            shape = (precision.value, dimension, megabytes(Path(name)))
            yield _row("own", shape, partial(StaticEncoder.load, Path(name)), workload)


def released_rows(released: Path, workload: Workload) -> Iterator[Row]:
    """Yield a row for the student that ships, if there is one, for its first dimensions, and with its channel."""
    if not released.is_dir():
        return
    load, size = partial(StaticEncoder.load, released), megabytes(released)
    encoder = load()
    precision, full = stored_as(encoder).value, encoder.dimension
    channel = 0 if encoder.lexical is None else encoder.lexical.dimension
    del encoder  # see _row
    for dimension in dict.fromkeys((full, min(NARROW, full))):
        yield _row("released", (precision, dimension, size), partial(load, truncate_dim=dimension), workload)
    if channel:
        shape = (precision, full + channel, size)
        yield _row("released-search", shape, partial(load, lexical_weight=LEXICAL_WEIGHT), workload)


def mlp_head_rows(directory: Path, workload: Workload) -> Iterator[Row]:
    """Yield a row for the student with an MLP head, if the run has one."""
    if read_unavailable(directory / VARIANT) is None:
        shape = (Precision.FLOAT32.value, StaticEncoder.load(directory).dimension, megabytes(directory))
        yield _row("MLP head", shape, partial(StaticEncoder.load, directory), workload)


def library_rows(encoder: StaticEncoder, workload: Workload) -> Iterator[Row]:
    """Yield a row for each library that loads the student's directory."""
    with tempfile.TemporaryDirectory() as name:
        write_model(encoder, {}, Path(name))
        shape = ("float32", encoder.dimension, megabytes(Path(name)))
        load: dict[str, Callable[[], Any]] = {
            "model2vec": partial(StaticModel.from_pretrained, name),
            "sentence-transformers": partial(SentenceTransformer, name, device="cpu"),
        }
        for system, open_model in load.items():
            yield _row(system, shape, open_model, workload, "peer")


def published_rows() -> Iterator[Row]:
    """Yield a row for each encoder of PUBLISHED."""
    for owner, system, revision, dimension, size, pearson, spearman in PUBLISHED:
        about = {"system": system, "kind": "published", "dimension": dimension, "megabytes": size}
        figures = {"stsb/test/pearson": pearson, "stsb/test/spearman": spearman}
        yield {**about, **figures, "source": f"{MTEB}, {owner}__{system}/{revision}"}


def glove_rows(content_only: bool, workload: Workload) -> Iterator[Row]:
    """Yield a row for GloVe, of all words or without stop words."""
    vectors = load_glove().vectors
    shape = ("float32", vectors.shape[1], round(vectors.size * 4 / 1e6, 2))
    yield _row("GloVe", shape, partial(_words, content_only), workload, "peer")


def teacher_rows(options: AnyTeacher, batch_tokens: int, workload: Workload) -> Iterator[Row]:
    """Yield a row for the teacher, timed on TEACHER_SENTENCES."""
    teacher, few = load_encoder(options), workload.first(TEACHER_SENTENCES)
    size = round(sum(tensor.numel() for tensor in teacher.model.parameters()) * 4 / 1e6, 2)
    shape = ("float32", teacher.dimension, size)
    yield _row("teacher", shape, partial(_transformer, options, batch_tokens), few, "peer")


def _words(content_only: bool) -> Function:
    """Load word vectors; a sentence is their mean."""
    system = WordSystem("GloVe", load_glove(), content_only)
    return Function(lambda sentences: system.pool(system.token_ids(sentences), [None])[0])


def _transformer(options: AnyTeacher, batch_tokens: int) -> Function:
    encoder = load_encoder(options)
    return Function(lambda sentences: encoder.embed(encoder.token_ids(sentences), batch_tokens)[0])


def _row(
    system: str, shape: tuple[str, int, float], load: Callable[[], Any], workload: Workload, kind: str = "own"
) -> Row:
    """Measure one encoder; `shape` is precision, dimension and megabytes, and `load` gives an object with `encode`."""
    # Before another encoder of the same files is there, which would share its table.
    seconds, sentences = timed(load, RUNS).median, workload.sentences
    encode: Encode = load().encode
    encode(sentences[:1_000])  # warm up
    speed = len(sentences) / min(timed(lambda: encode(sentences), RUNS).seconds)
    figures = scores(encode, workload.benchmarks)
    return {
        **dict(zip(COLUMNS, (system, kind, *shape, round(1000 * seconds, 1), round(speed, 1), ""), strict=True)),
        **{name: round(100 * value, 2) for name, value in figures.items()},
    }


def megabytes(directory: Path) -> float:
    """Add the sizes of all files of a directory, in 10^6 bytes."""
    return round(sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6, 2)
