"""What a smaller student costs in quality: `make pareto`, after a run with the benchmark sets.

    own         each precision and dimension of sentence_distillery/distillation/compression.py, saved and loaded again; models/released
    peer        the teacher, GloVe, and model2vec and sentence-transformers with the same table, scored here
    published   other encoders and their figures as others print them, `source` says where; their size is that of
                their parameters in float32

reports/pareto.csv. Quality is Pearson and Spearman x 100 of cosines. Megabytes are 10^6 bytes of all files,
milliseconds the median of loading, in a process that has the libraries. Speed is the best of some runs, so that a busy
machine lies less.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from model2vec import StaticModel
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from sentence_distillery.distillation.compression import Precision, compressed, principal_directions
from sentence_distillery.distillation.export import write_model
from sentence_distillery.distillation.soft_labels import SOFT_LABELS, WORDS
from sentence_distillery.encoder.static_encoder import MLP_HEAD, VARIANT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.evaluation.similarity import Encode, scores
from sentence_distillery.evaluation.systems import WordSystem
from sentence_distillery.io.artifacts import InputError, read_json, read_table
from sentence_distillery.runtime.progress import track
from sentence_distillery.word_vectors.glove import load_glove
from stages.params import Params

Row = dict[str, object]

PARETO = Path("reports/pareto.csv")
RELEASED = Path("models/released")
DIMENSIONS = (256, 192, 128, 64, 32)
PRECISIONS = (Precision.FLOAT32, Precision.FLOAT16, Precision.INT8)
SENTENCES = 20_000
PEER_SENTENCES = 5_000
TEACHER_SENTENCES = 200
RUNS = 5
COLUMNS = ["system", "kind", "precision", "dimension", "megabytes", "load_ms", "sentences_per_second", "source"]
MTEB = "github.com/embeddings-benchmark/results, STSBenchmark.json"
PUBLISHED: list[Row] = [
    {
        "system": "potion-base-32M",
        "megabytes": 129.2,
        "stsb/test/pearson": 78.69,
        "stsb/test/spearman": 76.84,
        "source": f"{MTEB}, minishlab__potion-base-32M/fc914ed0",
    },
    {
        "system": "static-similarity-mrl-multilingual-v1",
        "dimension": 1024,
        "megabytes": 433.7,
        "stsb/test/pearson": 80.89,
        "stsb/test/spearman": 79.94,
        "source": f"{MTEB}, sentence-transformers__static-similarity-mrl-multilingual-v1/7264ea07",
    },
    {
        "system": "all-MiniLM-L6-v2",
        "dimension": 384,
        "megabytes": 90.9,
        "stsb/test/pearson": 82.74,
        "stsb/test/spearman": 82.03,
        "source": f"{MTEB}, sentence-transformers__all-MiniLM-L6-v2/8b3219a9",
    },
]


def token_counts(encoder: StaticEncoder) -> NDArray[np.int64]:
    """(vocabulary,) how often each token of the student stands in the corpus that it was trained on."""
    words = read_table(SOFT_LABELS / WORDS, pa.schema([("word", pa.string()), ("count", pa.int64())]))
    known = dict(zip(words["word"].to_pylist(), words["count"].to_pylist(), strict=True))
    vocabulary = encoder.tokenizer.get_vocab()
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    for token, index in vocabulary.items():
        if index != UNKNOWN_ID:
            counts[index] = known.get(token, 0)
    if not counts.any():
        raise InputError(f"{SOFT_LABELS / WORDS} has no word of the student; run `dvc repro student`.")
    return counts


def own_rows(encoder: StaticEncoder, sentences: list[str]) -> Iterator[Row]:
    """A row for each precision and dimension up to the student's."""
    directions = principal_directions(encoder.table, token_counts(encoder))
    dimensions = [encoder.dimension, *(d for d in DIMENSIONS if d < encoder.dimension)]
    cells = [(precision, dimension) for precision in PRECISIONS for dimension in dimensions]
    for precision, dimension in track(cells, len(cells), "variants"):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            write_model(compressed(encoder, directions, dimension, precision), {}, directory)
            shape = (precision.value, dimension, megabytes(directory))
            yield _row("own", "own", shape, partial(StaticEncoder.load, directory), sentences)


def released_rows(sentences: list[str]) -> Iterator[Row]:
    """The student that ships, where there is one."""
    if RELEASED.is_dir():
        shape = (Precision.LEVELS.value, StaticEncoder.load(RELEASED).dimension, megabytes(RELEASED))
        yield _row("released", "own", shape, partial(StaticEncoder.load, RELEASED), sentences)


def deep_rows(sentences: list[str]) -> Iterator[Row]:
    """The student with a hidden layer, where the run has one."""
    if read_json(MLP_HEAD / VARIANT)["absent"] is None:
        shape = (Precision.FLOAT32.value, StaticEncoder.load(MLP_HEAD).dimension, megabytes(MLP_HEAD))
        yield _row("MLP head", "own", shape, partial(StaticEncoder.load, MLP_HEAD), sentences)


def peer_rows(encoder: StaticEncoder, params: Params, sentences: list[str]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        write_model(encoder, {}, Path(name))
        shape = ("float32", encoder.dimension, megabytes(Path(name)))
        load: dict[str, Callable[[], Any]] = {
            "model2vec": partial(StaticModel.from_pretrained, name),
            "sentence-transformers": partial(SentenceTransformer, name, device="cpu"),
        }
        for system, open_model in load.items():
            yield _row(system, "peer", shape, open_model, sentences)
    content = params.evaluate.glove_tokens == "content"
    glove = _Words(WordSystem("GloVe", load_glove(), content))
    vectors = glove.system.model.vectors
    shape = ("float32", vectors.shape[1], round(vectors.size * 4 / 1e6, 2))
    yield _row("GloVe", "peer", shape, lambda: _Words(WordSystem("GloVe", load_glove(), content)), sentences)
    teacher = _Teacher(params)
    size = round(sum(tensor.numel() for tensor in teacher.encoder.model.parameters()) * 4 / 1e6, 2)
    shape = ("float32", teacher.encoder.dimension, size)
    yield _row("teacher", "peer", shape, partial(_Teacher, params), sentences[:TEACHER_SENTENCES])


@dataclass(frozen=True)
class _Words:
    """Means of word vectors with the `encode` of the others."""

    system: WordSystem

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        return self.system.pool(self.system.token_ids(sentences), [None])[0]


class _Teacher:
    """The teacher with the `encode` of the others."""

    def __init__(self, params: Params) -> None:
        self.encoder = load_encoder(params.teacher)
        self.budget = params.soft_labels.batch_tokens

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        return self.encoder.embed(self.encoder.token_ids(sentences), self.budget)[0]


def _row(system: str, kind: str, shape: tuple[str, int, float], load: Callable[[], Any], sentences: list[str]) -> Row:
    """`shape` is precision, dimension and megabytes; what `load` returns has `encode`."""
    precision, dimension, size = shape
    encode = load().encode
    return {
        "system": system,
        "kind": kind,
        "precision": precision,
        "dimension": dimension,
        "megabytes": size,
        "load_ms": milliseconds(load),
        "sentences_per_second": rate(encode, sentences),
        "source": "",
        **hundreds(scores(encode)),
    }


def hundreds(figures: dict[str, float]) -> Row:
    return {name: round(100 * value, 2) for name, value in figures.items()}


def megabytes(directory: Path) -> float:
    return round(sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6, 2)


def milliseconds(load: Callable[[], object]) -> float:
    """Median time of loading; the file's pages are in memory."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        load()
        times.append((time.perf_counter() - started) * 1000)
    return round(statistics.median(times), 1)


def rate(encode: Encode, sentences: list[str]) -> float:
    """Sentences a second, the best of RUNS."""
    encode(sentences[:1_000])  # warm up
    best = np.inf
    for _ in range(RUNS):
        started = time.perf_counter()
        encode(sentences)
        best = min(best, time.perf_counter() - started)
    return round(len(sentences) / best, 1)
