"""Take paper 1's method apart: word vectors with neither of its two parts, with one of them, and with both.

    neither              skip-gram vectors
    KLD alone            the same after Algorithm 1
    distillation alone   MyModel, a linear layer to the soft labels, over skip-gram vectors
    both                 MyModel over the vectors after Algorithm 1

each also with this project's contrastive loss in place of Algorithm 1, under every weighting, with several seeds: that
of the word vectors, of the sentences drawn for Algorithm 1 and of MyModel. A gain is in Pearson, the mean over the
seeds, and its interval that of 2,000 paired draws of the pairs with these seeds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reproductions.grid.results import over_runs
from reproductions.paper1.claims import BOTH, DISTILLED, KLD, NEITHER
from reproductions.paper1.gains import Gain, Key
from reproductions.paper1.word_vectors import skipgram
from reproductions.paper1.word_vectors.corpus import read_documents, read_sentences
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.options import Contrastive, PaperStudentOptions, Refine, Skipgram
from reproductions.paper1.word_vectors.refinement import contrast, repel
from reproductions.paper1.word_vectors.student import train_paper
from reproductions.systems.options import Evaluate
from reproductions.systems.scoring import pair_cosines
from reproductions.systems.systems import StudentSystem, System, WordSystem
from reproductions.systems.weighted import embed, fit_schemes
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.present import read_corpus
from sentence_distillery.evaluation.protocols.similarity import similarity_figures
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.runtime.stopwatch import timed

CONTRASTIVE, BOTH_CONTRASTIVE = "contrastive loss alone", "contrastive loss and distillation"
COMPARED = [(one, NEITHER) for one in (KLD, DISTILLED, BOTH, CONTRASTIVE, BOTH_CONTRASTIVE)]
COMPARED += [(BOTH, KLD), (BOTH, DISTILLED), (BOTH_CONTRASTIVE, CONTRASTIVE), (BOTH_CONTRASTIVE, DISTILLED)]
REPEATS = 5  # of a timing

Cosines = dict[Key, list[Floats]]  # by system and weighting: the cosines of the pairs with each seed


@dataclass(frozen=True)
class Method:
    """The texts that each part is trained on, and how."""

    corpus: LabelledCorpus
    skipgram: Skipgram
    refine: Refine
    contrastive: Contrastive
    student: PaperStudentOptions
    evaluate: Evaluate
    checkpoints: Path

    def with_seed(self, seed: int) -> "Method":
        """Return the method with another seed in each part."""
        options = {name: getattr(self, name) for name in ("skipgram", "refine", "contrastive", "student")}
        seeded = {name: each.model_copy(update={"seed": seed}) for name, each in options.items()}
        return replace(self, **seeded)

    def systems(self) -> Iterator[System]:
        """Train each combination of parts, and yield it."""
        start = skipgram.train(
            self.corpus.sentences, self.skipgram, skipgram.count_corpus(self.corpus.sentences, self.skipgram)
        )
        sentences = TokenIds.from_words(read_sentences(self.corpus.sentences, self.skipgram.tokens), start.index)
        counters = Counters("sentences")
        repelled, _ = repel(start, sentences, self.refine, counters)
        documents = read_documents(self.corpus.sentences)
        attracted, _ = contrast(start, sentences, documents, self.contrastive, counters)
        yield from self._two(start, NEITHER, DISTILLED)
        yield from self._two(repelled, KLD, BOTH)
        yield from self._two(attracted, CONTRASTIVE, BOTH_CONTRASTIVE)

    def _two(self, vectors: WordVectors, alone: str, distilled: str) -> Iterator[System]:
        yield WordSystem(alone, vectors, self.skipgram.tokens == "content")
        checkpoint = self.checkpoints / f"{distilled.replace(' ', '_')}-{self.student.seed}.safetensors"
        trained = train_paper(self.student, vectors, self.corpus, Counters("sentences"), checkpoint)
        checkpoint.unlink(missing_ok=True)
        yield StudentSystem(trained.encoder, distilled)


def cosines_of(
    method: Method, pairs: PairSet, seeds: Sequence[int], done: Callable[[int], object]
) -> tuple[Cosines, dict[str, float]]:
    """Compute the cosines of every combination with every seed, and the seconds of each weighting of MyModel."""
    corpus = read_corpus(method.corpus.sentences)
    found: Cosines = {}
    seconds: dict[str, float] = {}
    for seed in seeds:
        for system in method.with_seed(seed).systems():
            schemes = fit_schemes(system, corpus, method.evaluate)
            for scheme, cosines in zip(schemes, pair_cosines(system, schemes, pairs), strict=True):
                found.setdefault((system.name, str(scheme.weighting)), []).append(cosines)
            if system.name == BOTH and not seconds:
                seconds = costs(system, corpus, pairs, method.evaluate)
        done(seed)
    return found, seconds


def costs(system: System, corpus: list[str], pairs: PairSet, params: Evaluate) -> dict[str, float]:
    """Time each weighting of a system, the median of REPEATS: its weights and directions, and vectors of all pairs."""
    texts = list(dict.fromkeys([*pairs.sentences1, *pairs.sentences2]))

    def work(place: int) -> None:
        one = _Only(system, place)
        embed(one, fit_schemes(one, corpus, params), texts)

    return {
        str(weighting): timed(lambda place=place: work(place), REPEATS).median  # type: ignore[misc]
        for place, weighting in enumerate(system.weightings)
    }


class _Only:
    """A system under one of its weightings."""

    def __init__(self, system: System, place: int) -> None:
        self.system = system
        self.name, self.vocabulary, self.silent = system.name, system.vocabulary, system.silent
        self.weightings = system.weightings[place : place + 1]
        self.token_ids, self.pool = system.token_ids, system.pool


def rows(found: Cosines, pairs: PairSet, seconds: Mapping[str, float]) -> Iterator[Result]:
    """Yield the mean over the seeds of each figure, with their spread; and the seconds."""
    assert pairs.scores is not None and pairs.scale is not None
    for (system, weighting), cosines in found.items():
        figures = [similarity_figures(each, pairs.scores, pairs.scale) for each in cosines]
        for metric in figures[0]:
            row = Result(system, pairs.name, pairs.split, weighting, metric, 0.0, len(pairs.scores), paper="1")
            yield over_runs(row, [each[metric] for each in figures])
    for weighting, value in seconds.items():
        yield Result(BOTH, pairs.name, pairs.split, weighting, "seconds", value, len(pairs.scores), paper="1")


def gains(found: Cosines, pairs: PairSet) -> Iterator[Gain]:
    """Yield the gain in Pearson of every two combinations of COMPARED under each weighting."""
    assert pairs.scores is not None
    drawn = np.concatenate([np.ones((1, len(pairs.scores)), np.float32), bootstrap.counts(len(pairs.scores))])
    draws = {
        key: np.mean([bootstrap.pearson(each, pairs.scores, drawn) for each in cosines], axis=0)
        for key, cosines in found.items()
    }
    for one, other in COMPARED:
        for system, weighting in found:
            if system == one and (other, weighting) in draws:
                difference = draws[one, weighting] - draws[other, weighting]
                low, high, _ = bootstrap.interval(difference[1:])
                assert low is not None and high is not None, "STS-B test has ratings of every kind"
                figures = (round(float(value), 5) for value in (difference[0], low, high))
                yield Gain(one, other, weighting, weighting, "pearson", *figures)
