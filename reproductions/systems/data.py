"""The data that every system is scored on: pairs, words, documents and queries, none of them in the training texts."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from sentence_distillery.corpus.text import tokenize
from sentence_distillery.evaluation.present import Fingerprints, clean_corpus, document_sets, pair_sets, task_sets
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, PairSet
from sentence_distillery.evaluation.sets.decontamination import shared_rows
from sentence_distillery.evaluation.tasks import TaskSet
from sentence_distillery.io.counters import Counters

CALIBRATED = "stsb"  # SICK's train split has few sentences that its test split lacks
CALIBRATION_PAIRS = 2_000  # drawn from its train split


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
        evaluated = benchmarks.fingerprints()
        corpus = clean_corpus(sentences, evaluated)
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
