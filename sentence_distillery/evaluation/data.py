"""What every system is scored on: pairs, words and documents, none of them seen in training."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.benchmarks.data import (
    DocumentSet,
    Kind,
    PairSet,
    Split,
    available,
    load_documents,
    load_pairs,
    splits,
)
from sentence_distillery.benchmarks.decontamination import load_evaluation_fingerprints, refuse_shared, shared_rows
from sentence_distillery.corpus.schema import SENTENCES_DIRECTORY
from sentence_distillery.corpus.text import tokenize
from sentence_distillery.io.artifacts import read_table, table_parts
from sentence_distillery.io.counters import Counters

SPLITS: tuple[Split, ...] = ("dev", "test")
CALIBRATED = "stsb"  # SICK's train split has few sentences that its test split lacks
CALIBRATION_PAIRS = 2_000  # drawn from its train split

Fingerprints = NDArray[np.uint64]


def read_corpus() -> list[str]:
    schema = pa.schema([("text", pa.string())])
    return [text for part in table_parts(SENTENCES_DIRECTORY) for text in read_table(part, schema)["text"].to_pylist()]


def pair_sets(kind: Kind) -> list[PairSet]:
    """Every dev and test split that has scores."""
    names = [(name, split) for name in available(kind=kind) for split in SPLITS if split in splits(name)]
    return [pairs for name, split in names if (pairs := load_pairs(name, split)).scores is not None]


def document_sets(evaluated: Fingerprints, counters: Counters) -> list[tuple[DocumentSet, DocumentSet]]:
    """The train and test split of every set that has both; training documents that are held out are left out."""
    names = [name for name in available(kind="documents") if {"train", "test"} <= set(splits(name))]
    return [
        (_apart(load_documents(name, "train"), evaluated, counters), load_documents(name, "test")) for name in names
    ]


def _apart(train: DocumentSet, evaluated: Fingerprints, counters: Counters) -> DocumentSet:
    shared = shared_rows([train.texts], evaluated)
    counters.details[f"training rows left out: {train.name}"] = int(shared.sum())
    texts, labels = (
        [value for value, out in zip(column, shared, strict=True) if not out] for column in (train.texts, train.labels)
    )
    return replace(train, texts=texts, labels=labels)


def calibration_pairs(evaluated: Fingerprints, seed: int, counters: Counters) -> PairSet | None:
    """Training pairs of CALIBRATED none of whose sentences is held out, drawn at random; None where it is absent."""
    if CALIBRATED not in available(kind="pairs"):
        return None
    pairs = load_pairs(CALIBRATED, "train")
    assert pairs.scores is not None
    shared = shared_rows([pairs.sentences1, pairs.sentences2], evaluated)
    counters.details[f"training rows left out: {pairs.name}"] = int(shared.sum())
    kept = np.flatnonzero(~shared)
    rows = kept[np.random.default_rng(seed).permutation(len(kept))[:CALIBRATION_PAIRS]]
    left, right = ([side[row] for row in rows.tolist()] for side in (pairs.sentences1, pairs.sentences2))
    return replace(pairs, sentences1=left, sentences2=right, scores=pairs.scores[rows])


@dataclass(frozen=True)
class Material:
    """What every system is scored on, and the pairs that its cosines are calibrated on."""

    corpus: list[str]
    similarity: list[PairSet]
    words: list[PairSet]
    documents: list[tuple[DocumentSet, DocumentSet]]
    calibration: PairSet | None = None

    @classmethod
    def read(cls, seed: int, counters: Counters) -> "Material":
        """Raises InputError where the corpus, which every model was trained on, has a sentence that is scored on."""
        corpus, evaluated = read_corpus(), load_evaluation_fingerprints()
        refuse_shared([corpus], evaluated, str(SENTENCES_DIRECTORY), "Run `dvc repro clean`, which takes them out.")
        documents = document_sets(evaluated, counters)
        calibration = calibration_pairs(evaluated, seed, counters)
        return cls(corpus, pair_sets("pairs"), pair_sets("words"), documents, calibration)

    def vocabulary(self) -> Iterator[str]:
        """Every word of it, with repetitions."""
        sets = [*self.similarity, *self.words, *([self.calibration] if self.calibration else [])]
        pairs = [text for found in sets for text in (*found.sentences1, *found.sentences2)]
        documents = [text for found in self.documents for split in found for text in split.texts]
        for text in (*self.corpus, *pairs, *documents):
            yield from tokenize(text)
