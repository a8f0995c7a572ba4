"""The data that every system is scored on: pairs, words, documents and queries, none of them in the training texts."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.corpus.text import tokenize
from sentence_distillery.evaluation.protocols.sgd import PROTOCOL as SGD
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, Kind, PairSet, Split
from sentence_distillery.evaluation.sets.decontamination import refuse_shared, shared_rows
from sentence_distillery.evaluation.tasks import TaskSet, read_task
from sentence_distillery.io.artifacts import read_table, table_parts
from sentence_distillery.io.counters import Counters

SPLITS: tuple[Split, ...] = ("dev", "test")
CALIBRATED = "stsb"  # SICK's train split has few sentences that its test split lacks
CALIBRATION_PAIRS = 2_000  # drawn from its train split

Fingerprints = NDArray[np.uint64]


def read_corpus(directory: Path) -> list[str]:
    """Read the sentences of a cleaned corpus, part by part, in their order."""
    schema = pa.schema([("text", pa.string())])
    return [text for part in table_parts(directory) for text in read_table(part, schema)["text"].to_pylist()]


def pair_sets(benchmarks: BenchmarkData, kind: Kind, splits: tuple[Split, ...] = SPLITS) -> list[PairSet]:
    """Read every dev and test split of a kind that has scores, or every one of some splits."""
    every = [(name, split) for name in benchmarks.available(kind) for split in splits]
    present = [(name, split) for name, split in every if split in benchmarks.splits(name)]
    return [pairs for name, split in present if (pairs := benchmarks.pairs(name, split)).scores is not None]


def sample(documents: DocumentSet, limit: int, seed: int) -> DocumentSet:
    """Draw at most `limit` documents at random; they keep their order."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(documents.texts))[:limit]).tolist()
    texts, labels = ([column[row] for row in rows] for column in (documents.texts, documents.labels))
    return replace(documents, texts=texts, labels=labels)


def document_sets(
    benchmarks: BenchmarkData, evaluated: Fingerprints, counters: Counters
) -> list[tuple[DocumentSet, DocumentSet]]:
    """Read the train and test split of every set for the SGD classifier; evaluated training documents are left out."""
    names = [
        name
        for name in benchmarks.available("documents")
        if {"train", "test"} <= set(benchmarks.splits(name)) and SGD in benchmarks.task(name)[1]
    ]
    return [
        (_apart(benchmarks.documents(name, "train"), evaluated, counters), benchmarks.documents(name, "test"))
        for name in names
    ]


def task_sets(benchmarks: BenchmarkData) -> list[TaskSet]:
    """Read every dev and test split that is scored by its type of task alone: neither rated pairs nor by SGD.

    A classifier learns from all training documents, as in MTEB, those that are also in the test split included.
    """
    found = []
    for name in filter(benchmarks.scored, benchmarks.available()):
        kind, protocols = benchmarks.task(name)
        others = tuple(protocol for protocol in protocols if protocol != SGD)
        if kind != "sts" and (others or not protocols):
            splits = [split for split in SPLITS if split in benchmarks.splits(name)]
            found += [replace(read_task(benchmarks, name, split), protocols=others) for split in splits]
    return found


def _apart(train: DocumentSet, evaluated: Fingerprints, counters: Counters) -> DocumentSet:
    shared = shared_rows([train.texts], evaluated)
    counters.details[f"training rows left out: {train.name}"] = int(shared.sum())
    texts, labels = (
        [value for value, out in zip(column, shared, strict=True) if not out] for column in (train.texts, train.labels)
    )
    return replace(train, texts=texts, labels=labels)


def calibration_pairs(
    benchmarks: BenchmarkData, evaluated: Fingerprints, seed: int, counters: Counters
) -> PairSet | None:
    """Draw training pairs of CALIBRATED without a sentence of an evaluation split; None if the set is absent."""
    if CALIBRATED not in benchmarks.available("pairs"):
        return None
    pairs = benchmarks.pairs(CALIBRATED, "train")
    assert pairs.scores is not None
    shared = shared_rows([pairs.sentences1, pairs.sentences2], evaluated)
    counters.details[f"training rows left out: {pairs.name}"] = int(shared.sum())
    kept = np.flatnonzero(~shared)
    rows = kept[np.random.default_rng(seed).permutation(len(kept))[:CALIBRATION_PAIRS]]
    left, right = ([side[row] for row in rows.tolist()] for side in (pairs.sentences1, pairs.sentences2))
    return replace(pairs, sentences1=left, sentences2=right, scores=pairs.scores[rows])


@dataclass(frozen=True)
class EvaluationData:
    """The evaluation sets, and the pairs that cosines are calibrated on."""

    corpus: list[str]
    similarity: list[PairSet]
    words: list[PairSet]
    documents: list[tuple[DocumentSet, DocumentSet]]
    calibration: PairSet | None = None
    tasks: list[TaskSet] = field(default_factory=list)

    @classmethod
    def read(cls, sentences: Path, benchmarks: BenchmarkData, seed: int, counters: Counters) -> "EvaluationData":
        """Read the corpus and every benchmark set that is present.

        Args:
            sentences: The directory of the cleaned corpus that the models were trained on.
            benchmarks: The sets to score on.
            seed: Of the draw of calibration pairs.
            counters: Their details say how many training rows were left out of each set.

        Returns:
            The sets, and the corpus for token counts and speed.

        Raises:
            InputError: If the corpus has a sentence of an evaluation split, or a file cannot be read.
        """
        corpus, evaluated = read_corpus(sentences), benchmarks.fingerprints()
        refuse_shared([corpus], evaluated, str(sentences), "Clean the corpus again: cleaning removes such sentences.")
        documents = document_sets(benchmarks, evaluated, counters)
        calibration = calibration_pairs(benchmarks, evaluated, seed, counters)
        pairs, words = (pair_sets(benchmarks, kind) for kind in ("pairs", "words"))
        return cls(corpus, pairs, words, documents, calibration, task_sets(benchmarks))

    def vocabulary(self) -> Iterator[str]:
        """Yield every word of the corpus and the sets, with repetitions."""
        sets = [*self.similarity, *self.words, *([self.calibration] if self.calibration else [])]
        pairs = [text for pairs in sets for text in (*pairs.sentences1, *pairs.sentences2)]
        documents = [text for both in self.documents for split in both for text in split.texts]
        for text in chain(self.corpus, pairs, documents, *(task.all_texts() for task in self.tasks)):
            yield from tokenize(text)
