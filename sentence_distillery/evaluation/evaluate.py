"""Score any sentence encoder on benchmark sets: the figures of results.csv, without a run of the pipeline.

The type of task of a set decides how it is scored: sentence_distillery/evaluation/tasks.py has them all. The cosine of
each pair is compared with its human rating, for instance (Pearson, Spearman, and MAE on a scale of 0 to 5, as
protocols/similarity.py defines them). An undefined figure has its reason in place of a number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sentence_distillery.evaluation.results import Measure, Result, as_result
from sentence_distillery.evaluation.sets.data import BenchmarkData, Split
from sentence_distillery.evaluation.tasks import MAIN, Embed, Role, TaskSet, Texts, check, own_task, read_task, scored
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import option
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Unavailable


class Encoder(Protocol):
    """Anything that embeds sentences: this project's encoders, sentence-transformers, model2vec, or your own.

    >>> class Lengths:
    ...     def encode(self, sentences):
    ...         return [[len(sentence), 1] for sentence in sentences]
    >>> embed(Lengths(), ["A cat.", "A dog runs."]).tolist()
    [[6.0, 1.0], [11.0, 1.0]]
    """

    def encode(self, sentences: list[str], /) -> Any:
        """Turn sentences of any length into (sentences, dimension) numbers, of any type and length."""
        ...


@dataclass(frozen=True)
class Function:
    """A function of sentences as an encoder: `embed` turns sentences into (sentences, dimension) numbers."""

    embed: Callable[[list[str]], Any]

    def encode(self, sentences: list[str], /) -> Any:
        """Turn sentences into (sentences, dimension) numbers."""
        return self.embed(sentences)


Task = str | Texts | TaskSet


def evaluate(
    encoder: Encoder,
    tasks: Sequence[Task],
    *,
    benchmarks: BenchmarkData | Path | str | None = None,
    split: Split = "test",
    name: str = "encoder",
) -> list[Result]:
    """Score an encoder on benchmark sets.

    Args:
        encoder: An object whose `encode` takes a list of sentences and returns (sentences, dimension) numbers.
        tasks: Names of benchmark sets, or sets of your own: a PairSet with scores on its scale, or with the labels 0
            and 1; two DocumentSets, one to train a classifier on and one to test it on; one, to be clustered; a
            QuerySet. A `tasks.TaskSet` says itself how it is scored.
        benchmarks: The directory of the benchmark sets, as the stage `benchmarks` writes it; needed for names.
        split: The split of named sets to score on, train, dev or test; a classifier always learns from train.
        name: The encoder's name in the results.

    Returns:
        A figure for each task and metric, in the order of the tasks: Pearson and Spearman in [-1, 1], MAE in [0, 5],
        all others in [0, 1]; `n` is the number of pairs, test documents or queries. A figure that is undefined,
        such as the correlation of predictions that are all alike, has an `Unavailable` with the reason as its value.
        `low` and `high` are the ends of a 95 % interval of every figure but V-measure, from 2,000 draws of the pairs,
        test documents or queries. `left_out` of the draws have no figure, such as one of pairs with equal ratings; if
        most have none, there is no interval.
        Pairs of the same words in another order have cosine 1 up to the last bit of a float32, which decides their
        ranks: Spearman may differ by as much between two ways of computing the same vectors.

    Raises:
        InputError: If a set is absent, has no scores or no such split, a score is outside its scale, the columns of a
            set have different lengths, or `encode` returns vectors of another shape.
        ImportError: If documents are to be classified or clustered and scikit-learn (extra `distill`) is not installed.

    Example:
        >>> import numpy as np
        >>> from sentence_distillery import PairSet, load
        >>> pairs = PairSet(
        ...     name="mine",
        ...     split="test",
        ...     sentences1=["The storm closed the port.", "A dog plays.", "The bank failed."],
        ...     sentences2=["The harbour was shut by the gale.", "A dog runs.", "He plays the guitar."],
        ...     scores=np.array([3.5, 4.0, 0.0], dtype=np.float32),
        ...     labels=None,
        ...     scale=(0.0, 5.0),
        ... )
        >>> for result in evaluate(load(), [pairs], name="released"):
        ...     print(result.dataset, result.metric, round(result.value, 1), result.n)
        mine pearson 1.0 3
        mine spearman 1.0 3
        mine mae 1.0 3
    """
    # A directory is read when a set is asked for by name.
    data = BenchmarkData(Path(benchmarks)) if isinstance(benchmarks, Path | str) else benchmarks
    results: list[Result] = []
    for task in tasks:
        read = _read(task, data, split)
        results += [as_result(name, *read.place, each) for each in scored(partial(embed, encoder), read)]
    return results


def main_measure(encoder: Encoder, task: TaskSet) -> Measure:
    """Measure the main figure of a set, on vectors of unit length, since a classifier depends on the length."""
    protocol, metric = MAIN[task.type]
    found = scored(unit(encoder), replace(task, protocols=(protocol,)))
    return next(each for each in found if each.metric == metric)


def main_result(name: str, encoder: Encoder | Unavailable, task: TaskSet) -> Result:
    """Measure the main figure of a set as a row of the table of figures; its value may be why there is no encoder."""
    if isinstance(encoder, Unavailable):
        check(task)
        return as_result(name, *task.place, Measure(*MAIN[task.type], encoder, task.size))
    return as_result(name, *task.place, main_measure(encoder, task))


def _read(task: Task, data: BenchmarkData | None, split: Split) -> TaskSet:
    """Read a set by its name; return a set of the caller unchanged."""
    if isinstance(task, TaskSet):
        return task
    if not isinstance(task, str):
        return own_task(task)
    if data is None:
        raise InputError(f"Task '{task}' is a name: give {option('benchmarks')}, the directory that holds this set.")
    return read_task(data, task, split)


def unit(encoder: Encoder) -> Embed:
    """Return a function that embeds texts by an encoder, (texts, dimension) float32, rows of unit length."""
    return lambda texts, role=None: unit_rows(embed(encoder, texts, role))


def embed(encoder: Encoder, texts: list[str], role: Role | None = None) -> Floats:
    """Encode texts with any encoder, (texts, dimension) float32; raises InputError if it returns another shape.

    A query or a document is encoded by encode_query or encode_document, as in MTEB, if the encoder has them.
    """
    encode = encoder.encode if role is None else getattr(encoder, f"encode_{role}", encoder.encode)
    vectors = np.asarray(encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise InputError(
            f"encode returned an array of shape {vectors.shape} for {len(texts)} sentences; "
            "it must return one row of numbers for each sentence."
        )
    return vectors
