"""Texts a second of an encoder, compared with its peers with the same vectors, in one run: `make bench`.

    own                    this project's StaticEncoder, by default the released one
    own MLP head           the same with the MLP head of models/mlp_head, if the run has one
    model2vec              StaticModel with the same table and tokenizer, one process
    sentence-transformers  SentenceTransformer on the same directory: a StaticEmbedding
    teacher                its tokenizer and transformer, batches of similar length; sentences only

Every system encodes the same sentences of the corpus in one process, with as many threads as it starts by default, and
then the same documents, which are sentences in a row. Runs alternate. `own_is_times_as_fast` is the median of the
ratios within a run, which neighbours on a busy machine disturb less than the ratio of medians. The process keeps the
memory that a system frees: a virtual machine would return it to its host, and to take it again costs as much as
encoding. A process of its own encodes a long stream and says how its memory grew.
"""

import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from measurements.command import refusals
from reproductions.systems.registration import load_variant
from reproductions.systems.systems import StudentSystem
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.present import read_corpus
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.stopwatch import Timing, in_turns
from sentence_distillery.teachers.transformer import load_encoder
from stages import paths
from stages.params import load_params

SENTENCES = 60_000
DOCUMENTS = 4_000
DOCUMENT = 2_000  # characters, at least
STREAM = 10_000_000
TEACHER_SENTENCES = 500
RUNS = 7
LOADS = 5
BATCH = 1_024  # of sentence-transformers and model2vec

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # mallopt(3)

Encode = Callable[[list[str]], object]


def keep_memory() -> None:
    """Have malloc use freed memory again and return none to the system (only with glibc)."""
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def documents(sentences: list[str], count: int) -> list[str]:
    """Return `count` documents of DOCUMENT characters or more, each of sentences that follow one another."""
    made, stream = list[list[str]](), cycle(sentences)
    for _ in range(count):
        made.append([])
        while sum(map(len, made[-1])) < DOCUMENT:
            made[-1].append(next(stream))
    return list(map(" ".join, made))


def systems(directory: Path) -> dict[str, Encode]:
    """Return every system as a function from texts to embeddings; all but the teacher share one table."""
    params = load_params()
    own = StaticEncoder.load(directory)
    transformers = SentenceTransformer(str(directory), device="cpu")
    teacher = load_encoder(params.teacher)
    budget = params.soft_labels.batch_tokens
    with_head = load_variant("own MLP head", paths.MLP_HEAD)
    return {
        "own": own.encode,
        **({with_head.name: with_head.encoder.encode} if isinstance(with_head, StudentSystem) else {}),
        "model2vec": in_model2vec(own),
        "sentence-transformers": lambda texts: transformers.encode(texts, batch_size=BATCH, show_progress_bar=False),
        "teacher": lambda texts: teacher.embed(teacher.token_ids(texts), budget),
    }


def in_model2vec(encoder: StaticEncoder) -> Any:
    """Return model2vec's encoding with the table of an encoder."""
    model = StaticModel(np.ascontiguousarray(encoder.table), encoder.tokenizer, normalize=True)
    return partial(model.encode, batch_size=BATCH, use_multiprocessing=False)


def agreement(encoders: dict[str, Encode], sentences: list[str]) -> float:
    """Return the largest difference between the vectors of own and its two peers, which must compute the same."""
    own, *peers = (np.asarray(encoders[name](sentences)) for name in ("own", "model2vec", "sentence-transformers"))
    return max(float(np.abs(own - peer).max()) for peer in peers)


def times_as_fast(own: Timing, other: Timing) -> float:
    """Return the median of the ratios within a turn, so that a drift of the machine counts for both.

    >>> times_as_fast(Timing((1.0, 2.0, 1.0)), Timing((3.0, 8.0, 2.0)))
    3.0
    """
    return statistics.median(theirs / mine for mine, theirs in zip(own.seconds, other.seconds, strict=True))


def report(timings: Mapping[str, Timing], counts: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """Summarise sentences a second, and how many times as fast own is; `counts` are the sentences of a run."""
    own, own_count = timings["own"], counts["own"]
    return {
        name: {
            "median": round(timing.rate(counts[name]), 1),
            "slowest": round(counts[name] / max(timing.seconds), 1),
            "fastest": round(counts[name] / min(timing.seconds), 1),
            "own_is_times_as_fast": round(times_as_fast(own, timing) * own_count / counts[name], 2),
            "ratio_of_medians": round(own.rate(own_count) / timing.rate(counts[name]), 2),
        }
        for name, timing in timings.items()
    }


def load_milliseconds(directory: Path) -> dict[str, float]:
    """Time fresh processes, medians: the import, loading, the first vector, and one of a word that has to be cut."""
    code = (
        "import time; t = [time.perf_counter()]; from sentence_distillery import load; t.append(time.perf_counter()); "
        f"own = load({str(directory)!r}); t.append(time.perf_counter()); "
        "own.encode(['The storm closed the port.']); t.append(time.perf_counter()); "
        "own.encode(['Ünknownable wörds.']); t.append(time.perf_counter()); "
        "print(*(1000 * (b - a) for a, b in zip(t, t[1:])))"
    )
    with tempfile.TemporaryDirectory() as compiled:  # by the first process, as pip does when it installs modules
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        run = partial(subprocess.check_output, [sys.executable, "-c", code], text=True, env=environment)
        _, *runs = [run().split() for _ in range(LOADS + 1)]
    names = ("import", "load", "first_vector", "first_unknown_word")
    medians = [round(statistics.median(map(float, times)), 2) for times in zip(*runs, strict=True)]
    return dict(zip(names, medians, strict=True))


def stream_memory(directory: Path, corpus: list[str], count: int) -> dict[str, float]:
    """Encode a stream of `count` sentences in a process of its own; return its memory on the way, and its speed."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.writelines(f"{sentence}\n" for sentence in corpus)
        file.flush()
        command = [sys.executable, "-m", "measurements.stream", str(directory), file.name, "--sentences", str(count)]
        return cast(dict[str, float], json.loads(subprocess.check_output(command, text=True)))


def machine() -> dict[str, object]:
    """Return the machine that the figures were measured on, and the day."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return {
        "cores": len(os.sched_getaffinity(0)),
        "torch_threads": torch.get_num_threads(),
        "processor": models[0] if models else platform.machine(),
        "date": datetime.date.today().isoformat(),
    }


def compared(encoders: Mapping[str, Encode], texts: list[str], runs: int, title: str) -> dict[str, dict[str, float]]:
    """Time the systems in turns on the same texts; the teacher has a few of them."""
    for encode in encoders.values():
        encode(texts[:1_000])  # warm up
    few = min(TEACHER_SENTENCES, len(texts))
    counts = {name: few if name == "teacher" else len(texts) for name in encoders}
    works = {name: partial(encode, texts[: counts[name]]) for name, encode in encoders.items()}
    rows = report(in_turns(works, track(range(runs), runs, title)), counts)
    for name, row in rows.items():
        print(f"{name:22} {row['median']:>12,.0f} {title}/s   own is {row['own_is_times_as_fast']:,.1f} times as fast")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Texts a second of an encoder, compared with its peers.")
    parser.add_argument("--model", type=Path, default=paths.RELEASED, help="directory of the encoder")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--stream", type=int, default=STREAM, help="sentences of the stream")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    keep_memory()
    with refusals("bench"):
        corpus = read_corpus(paths.SENTENCES)
        sentences = list(islice(cycle(corpus), options.sentences))  # repeated if the corpus is shorter
        long = documents(corpus, options.documents)
        encoders = systems(options.model)
        difference = agreement(encoders, sentences[:2_000])
    result = {
        "model": str(options.model),
        "sentences": len(sentences),
        "mean_characters": round(statistics.mean(map(len, sentences)), 1),
        "dimension": StaticEncoder.load(options.model).dimension,
        "largest_difference": difference,
        "runs": options.runs,
        "machine": machine(),
        "load_milliseconds": load_milliseconds(options.model),
        "sentences_per_second": compared(encoders, sentences, options.runs, "sentences"),
        "documents": len(long),
        "mean_characters_of_documents": round(statistics.mean(map(len, long)), 1),
    }
    static = {name: encode for name, encode in encoders.items() if name != "teacher"}
    result["documents_per_second"] = compared(static, long, options.runs, "documents")
    result["stream"] = stream_memory(options.model, corpus, options.stream)
    write_json(paths.BENCH, result)
    for name in ("load_milliseconds", "stream"):
        print(f"{name.replace('_', ' ')}: {result[name]}")


if __name__ == "__main__":
    main()
