"""Score the encoders of a run on every set that is present, and measure their speed: the rows of results.csv."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Encoder, embed, unit
from sentence_distillery.evaluation.present import clean_corpus, document_sets, pair_sets, sample, task_sets
from sentence_distillery.evaluation.protocols.sgd import PROTOCOL as SGD
from sentence_distillery.evaluation.protocols.similarity import as_printed, cosines, on_five
from sentence_distillery.evaluation.results import Result, as_result, count
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet
from sentence_distillery.evaluation.tasks import Embed, TaskSet, scored
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.progress import track
from sentence_distillery.runtime.stopwatch import Work, timed

WARM_UP = 64  # sentences
FIRST_SAMPLE = 128  # sentences; the sample grows until it takes long enough
RUNS = 5
SPEED = "sentences_per_second"
DRAWS = 1_000
DIGITS = 5


@dataclass(frozen=True)
class System:
    """An encoder of a run."""

    name: str  # in the results
    load: Callable[[], Encoder | Unavailable]  # returns it, or why there is none
    documents: int  # how many documents of a split the SGD classifier gets; 0 leaves them out
    limit: str  # the parameter that says so


@dataclass(frozen=True)
class Sets:
    """The sets of a run: rated pairs, documents for the SGD classifier, other tasks; and sentences, for the speed."""

    sentences: list[str]
    similarity: Sequence[TaskSet]
    documents: Sequence[tuple[DocumentSet, DocumentSet]]
    tasks: Sequence[TaskSet]

    @classmethod
    def read(cls, corpus: Path, sentences: int, benchmarks: BenchmarkData, counters: Counters) -> "Sets":
        """Read all sets that are present; the counters' details say how many training documents were left out.

        `sentences` is how many of the corpus are encoded to measure the speed. Raises InputError if any of them is in
        an evaluation split.
        """
        evaluated = benchmarks.fingerprints()
        clean = clean_corpus(corpus, evaluated)
        documents = document_sets(benchmarks, evaluated, counters)
        rated = [TaskSet("sts", pairs) for pairs in pair_sets(benchmarks, "pairs")]
        return cls(clean[:sentences], rated, documents, task_sets(benchmarks))


def score_all(systems: Sequence[System], sets: Sets, seed: int, least: float, counters: Counters) -> Iterator[Result]:
    """Score systems, one at a time in memory; `seed` draws the documents, `least` is as of `speed`.

    Yields the figures of each system, its speed last, or the reason in place of each. The counters count the figures,
    those without a value by their reasons.
    """
    for system in track(systems, len(systems), "systems"):
        encoder = system.load()
        if isinstance(encoder, Unavailable):
            results = _without(system.name, encoder, sets)
        else:
            results = _score(system, encoder, sets, seed, least)
        for result in results:
            count(result, counters)
            yield result
        del encoder  # before the next one is loaded


def _score(system: System, encoder: Encoder, sets: Sets, seed: int, least: float) -> Iterator[Result]:
    for task in sets.similarity:
        yield from _rows(system.name, partial(embed, encoder), task)

    # The SGD classifier scales its features itself, the others depend on the length of a vector.
    for splits in sets.documents:
        if not system.documents:
            reason = Unavailable(f"left out: {system.limit} is 0")
            yield from _reasons(system.name, TaskSet("classification", splits, (SGD,)), reason)
            continue
        train, test = (sample(split, system.documents, seed) for split in splits)
        yield from _rows(system.name, partial(embed, encoder), TaskSet("classification", (train, test), (SGD,)))
    for task in sets.tasks:
        yield from _rows(system.name, unit(encoder), task)
    yield speed(system.name, encoder.encode, sets.sentences, least)


def _rows(name: str, embed: Embed, task: TaskSet) -> Iterator[Result]:
    return (as_result(name, *task.place, each, with_interval=False) for each in scored(embed, task))


def _without(name: str, reason: Unavailable, sets: Sets) -> Iterator[Result]:
    """Yield the reason in place of each figure."""
    documents = [TaskSet("classification", splits, (SGD,)) for splits in sets.documents]
    for task in (*sets.similarity, *documents, *sets.tasks):
        yield from _reasons(name, task, reason)
    yield Result(name, "corpus", "", "encode", SPEED, reason, 0)


def _reasons(name: str, task: TaskSet, reason: Unavailable) -> Iterator[Result]:
    return (Result(name, *task.place, protocol, metric, reason, task.size) for protocol, metric in task.columns)


def speed(name: str, encode: Callable[[list[str]], object], sentences: list[str], least: float) -> Result:
    """Measure sentences a second from text to embeddings, in one call without our own threads.

    The figure is the median of RUNS on a sample that takes `least` seconds; too few sentences are repeated.
    """

    def work(count: int) -> Work:
        return partial(encode, list(islice(cycle(sentences), count)))

    # The first call loads what later ones find in memory.
    work(WARM_UP)()
    count = FIRST_SAMPLE
    while timed(work(count)).median < least:
        count *= 2
    rate = timed(work(count), RUNS).rate(count)
    return Result(name, "corpus", "", "encode", SPEED, rate, count)


def headline(results: Sequence[Result]) -> dict[str, float]:
    """Return each system's own mean on each test split, and its speed, under flat keys for `dvc metrics`."""
    return {
        "/".join(part for part in (result.system, result.dataset, result.metric) if part != "corpus"): result.value
        for result in results
        if result.split != "dev" and result.protocol in ("mean", "encode") and isinstance(result.value, float)
    }


def draws(name: str, encoder: Encoder, benchmarks: BenchmarkData) -> dict[str, list[float | None]]:
    """Compute an encoder's figures on rated test pairs in each of 1,000 draws of the pairs (Efron 1979).

    Sets of equal size have equal draws. So the draws of two versions of a student differ by the model alone, and the
    interval of their difference is much narrower than those of both.

    Returns 1,000 values for each figure, `rounded`, by "<name>/<set>/<metric>". A figure that no draw has, such as a
    correlation with equal ratings, is left out.
    """
    found = dict[str, list[float | None]]()
    for pairs in pair_sets(benchmarks, "pairs", ("test",)):
        assert pairs.scores is not None and pairs.scale is not None
        predicted = cosines(embed(encoder, pairs.sentences1), embed(encoder, pairs.sentences2))

        # Every encoder is scored on the same draws, so that two of them can be compared pair by pair.
        drawn = bootstrap.counts(len(predicted), DRAWS)
        figures = {
            "pearson": bootstrap.pearson(predicted, pairs.scores, drawn),
            "spearman": bootstrap.spearman(predicted, pairs.scores, drawn),
            "mae": bootstrap.means(np.abs(as_printed(predicted) - on_five(pairs.scores, pairs.scale)), drawn),
        }
        for metric, values in figures.items():
            if np.isfinite(values).any():
                found[f"{name}/{pairs.name}/{metric}"] = rounded(values)
    return found


def rounded(values: NDArray[np.floating]) -> list[float | None]:
    """Round draws of a figure to five digits; one without it is None, so that two runs are compared place by place."""
    return [round(float(value), DIGITS) if np.isfinite(value) else None for value in values]
