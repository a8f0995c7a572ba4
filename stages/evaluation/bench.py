"""Sentences a second of the student, beside its peers with the same vectors, in one run: `make bench`.

    own                    stages.student.encoder
    model2vec              StaticModel with the same table and tokenizer, one process
    sentence-transformers  SentenceTransformer on the same directory: a StaticEmbedding
    teacher                its tokenizer and transformer, batches of similar length

Every system encodes the same sentences in one process, with as many threads as it takes of itself. Runs alternate,
system by system, so that a drift of the machine's speed meets all of them; the median of the runs is reported, with
the fastest and the slowest.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from stages.artifacts import InputError, write_json
from stages.evaluation.evaluate import read_corpus
from stages.params import load_params
from stages.progress import track
from stages.student.encoder import STUDENT, StaticEncoder
from stages.teacher.encoders import load_encoder

BENCH = Path("reports/bench.json")
SENTENCES = 60_000
TEACHER_SENTENCES = 500
RUNS = 7
BATCH = 1_024  # of sentence-transformers and model2vec

Encode = Callable[[list[str]], object]


def repeated(sentences: list[str], count: int) -> list[str]:
    """`count` sentences: the corpus from its beginning, over and over where it is shorter."""
    return [sentences[index % len(sentences)] for index in range(count)]


def systems(directory: Path) -> dict[str, Encode]:
    """Every system as a function from sentences to embeddings; all but the teacher share one table of vectors."""
    params = load_params()
    own = StaticEncoder.load(directory)
    model2vec = StaticModel(own.table, own.tokenizer, normalize=True)
    transformers = SentenceTransformer(str(directory), device="cpu")
    teacher = load_encoder(params.teacher)
    budget = params.soft_labels.batch_tokens
    return {
        "own": own.encode,
        "model2vec": lambda texts: model2vec.encode(texts, batch_size=BATCH, use_multiprocessing=False),
        "sentence-transformers": lambda texts: transformers.encode(texts, batch_size=BATCH, show_progress_bar=False),
        "teacher": lambda texts: teacher.embed(teacher.token_ids(texts[:TEACHER_SENTENCES]), budget),
    }


def measure(encode: Encode, sentences: list[str]) -> float:
    """Sentences a second."""
    started = time.perf_counter()
    vectors = encode(sentences)
    count = len(vectors[0]) if isinstance(vectors, list) else len(np.asarray(vectors))
    return count / (time.perf_counter() - started)


def agreement(encoders: dict[str, Encode], sentences: list[str]) -> float:
    """The largest difference between the vectors of own and its two peers: they must compute the same thing."""
    own, *peers = (np.asarray(encoders[name](sentences)) for name in ("own", "model2vec", "sentence-transformers"))
    return max(float(np.abs(own - peer).max()) for peer in peers)


def report(rates: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Median, slowest and fastest, and how many times as fast as each peer own is (median of the runs' ratios)."""
    return {
        name: {
            "median": round(statistics.median(values), 1),
            "slowest": round(min(values), 1),
            "fastest": round(max(values), 1),
            "own_is_times_as_fast": round(
                statistics.median(own / value for own, value in zip(rates["own"], values, strict=True)), 2
            ),
        }
        for name, values in rates.items()
    }


def machine() -> dict[str, object]:
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "torch_threads": torch.get_num_threads(), "processor": platform.machine()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Sentences a second of the student beside its peers.")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    try:
        sentences = repeated(read_corpus(), options.sentences)
        encoders = systems(STUDENT)
        difference = agreement(encoders, sentences[:2_000])
    except InputError as error:
        sys.exit(f"bench: {error}")
    for encode in encoders.values():
        encode(sentences[:1_000])  # warm up
    rates: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in track(range(options.runs), options.runs, "runs"):
        for name, encode in encoders.items():
            rates[name].append(measure(encode, sentences))
    result = {
        "sentences": len(sentences),
        "mean_characters": round(statistics.mean(map(len, sentences)), 1),
        "dimension": StaticEncoder.load(STUDENT).dimension,
        "largest_difference": difference,
        "runs": options.runs,
        "machine": machine(),
        "sentences_per_second": report(rates),
    }
    write_json(BENCH, result)
    for name, row in report(rates).items():
        print(
            f"{name:22} {row['median']:>12,.0f} sentences/s   own is {row['own_is_times_as_fast']:,.1f} times as fast"
        )


if __name__ == "__main__":
    main()
