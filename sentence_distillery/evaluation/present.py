"""The texts that a run scores its encoders on: every dev and test split that is present, none of it in the training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.sgd import PROTOCOL as SGD
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, Kind, PairSet, Split
from sentence_distillery.evaluation.sets.decontamination import refuse_shared, shared_rows
from sentence_distillery.evaluation.tasks import TaskSet, read_task
from sentence_distillery.io.artifacts import read_table, table_parts
from sentence_distillery.io.counters import Counters

SPLITS: tuple[Split, ...] = ("dev", "test")

Fingerprints = NDArray[np.uint64]


def read_corpus(directory: Path) -> list[str]:
    """Read the sentences of a cleaned corpus, part by part, in their order."""
    schema = pa.schema([("text", pa.string())])
    return [text for part in table_parts(directory) for text in read_table(part, schema)["text"].to_pylist()]


def clean_corpus(directory: Path, evaluated: Fingerprints) -> list[str]:
    """Read a corpus; raises InputError if it has a sentence of an evaluation split."""
    corpus = read_corpus(directory)
    refuse_shared([corpus], evaluated, str(directory), "Clean the corpus again: cleaning removes such sentences.")
    return corpus


def pair_sets(benchmarks: BenchmarkData, kind: Kind, splits: tuple[Split, ...] = SPLITS) -> list[PairSet]:
    """Read every dev and test split of a kind that has scores, or every one of some splits."""
    every = [(name, split) for name in benchmarks.available(kind) for split in splits]
    present = [(name, split) for name, split in every if split in benchmarks.splits(name)]
    return [pairs for name, split in present if (pairs := benchmarks.pairs(name, split)).scores is not None]


def sample(documents: DocumentSet, limit: int, seed: int) -> DocumentSet:
    """Draw at most `limit` documents at random; they keep their order."""
    # Sorted again, since the classifier's result depends on the order of its texts.
    return documents.take(np.sort(np.random.default_rng(seed).permutation(len(documents.texts))[:limit]))


def document_sets(
    benchmarks: BenchmarkData, evaluated: Fingerprints, counters: Counters
) -> list[tuple[DocumentSet, DocumentSet]]:
    """Read the train and test split of every set for the SGD classifier; evaluated training documents are left out."""
    return [
        (_apart(benchmarks.documents(name, "train"), evaluated, counters), benchmarks.documents(name, "test"))
        for name in benchmarks.available("documents")
        if {"train", "test"} <= set(benchmarks.splits(name)) and SGD in benchmarks.task(name)[1]
    ]


def _apart(train: DocumentSet, evaluated: Fingerprints, counters: Counters) -> DocumentSet:
    """Leave out the documents of evaluation splits, and count them."""
    shared = shared_rows([train.texts], evaluated)
    counters.details[f"training rows left out: {train.name}"] = int(shared.sum())
    return train.take(np.flatnonzero(~shared))


def task_sets(benchmarks: BenchmarkData) -> list[TaskSet]:
    """Read every dev and test split that is scored by its type of task alone: neither rated pairs nor by SGD.

    A classifier learns from all training documents, as in MTEB, those that are also in the test split included.
    """
    found = []

    # Protocols that a set names besides SGD are scored here, and MTEB's if it names none.
    for name in filter(benchmarks.scored, benchmarks.available()):
        kind, protocols = benchmarks.task(name)
        others = tuple(protocol for protocol in protocols if protocol != SGD)
        if kind != "sts" and (others or not protocols):
            splits = [split for split in SPLITS if split in benchmarks.splits(name)]
            found += [replace(read_task(benchmarks, name, split), protocols=others) for split in splits]
    return found
