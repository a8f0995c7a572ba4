"""Score any sentence encoder on benchmark sets: the figures of results.csv, without a run of the pipeline.

The cosine of each pair is compared with its human rating (Pearson, Spearman, and MAE on a scale of 0 to 5, as
sentence_distillery/benchmarks/metrics.py defines them). Documents are classified by a linear SGD classifier on their
embeddings (precision, recall and F1). An undefined figure has its reason in place of a number.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sentence_distillery.benchmarks.data import BenchmarkData, DocumentSet, PairSet, Split
from sentence_distillery.benchmarks.metrics import cosines, similarity_figures
from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

PAIR_PROTOCOL = "mean"  # in results.csv: the system's own embedding, under no other weighting of its tokens
SEED = 1  # of the classifier's order of documents


class Encoder(Protocol):
    """Anything that embeds sentences: this project's encoders, sentence-transformers, model2vec, or your own."""

    def encode(self, sentences: list[str], /) -> Any:
        """Return an array, (sentences, dimension)."""
        ...


Documents = tuple[DocumentSet, DocumentSet]  # to train the classifier on, and to test it on
Task = str | PairSet | Documents


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
        tasks: Names of benchmark sets, or sets of your own: a PairSet with scores on its scale, or two DocumentSets,
            one to train a classifier on and one to test it on.
        benchmarks: The directory of the benchmark sets, as the stage `benchmarks` writes it; needed for names.
        split: The split of named pair sets to score on, train, dev or test.
        name: The encoder's name in the results.

    Returns:
        A figure for each task and metric, in the order of the tasks: Pearson and Spearman in [-1, 1], MAE in [0, 5],
        precision, recall and F1 in [0, 1]; `n` is the number of pairs or test documents. A figure that is undefined,
        such as the correlation of predictions that are all alike, has an `Unavailable` with the reason as its value.
        Pairs of the same words in another order have cosine 1 up to the last bit of a float32, which decides their
        ranks: Spearman may differ by as much between two ways of computing the same vectors.

    Raises:
        InputError: If a set is absent, has no scores or no such split, a score is outside its scale, the columns of a
            set have different lengths, or `encode` returns vectors of another shape.
        ImportError: If documents are to be classified and scikit-learn (extra `distill`) is not installed.

    Example:
        >>> import numpy as np
        >>> from sentence_distillery import load
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
        mine mae 1.1 3
    """
    data = BenchmarkData(Path(benchmarks)) if isinstance(benchmarks, Path | str) else benchmarks
    results: list[Result] = []
    for task in tasks:
        scored = _read(task, data, split) if isinstance(task, str) else task
        figures = pair_figures(encoder, scored) if isinstance(scored, PairSet) else document_figures(encoder, scored)
        results += [Result(name, *row) for row in figures]
    return results


def _read(task: str, data: BenchmarkData | None, split: Split) -> PairSet | Documents:
    """Read a set by its name."""
    if data is None:
        raise InputError(f"Task '{task}' is a name: pass `benchmarks`, the directory that holds this set.")
    if task in data.available("documents"):
        return data.documents(task, "train"), data.documents(task, "test")
    return data.pairs(task, split)


Row = tuple[str, str, str, str, Any, int]  # dataset, split, protocol, metric, value, n


def pair_figures(encoder: Encoder, pairs: PairSet) -> Iterator[Row]:
    """Yield Pearson, Spearman and MAE of the cosines; raises InputError if the pairs have no scores."""
    scores, scale = checked_scores(pairs)
    texts = list(dict.fromkeys([*pairs.sentences1, *pairs.sentences2]))  # many sentences are in several pairs
    place = {text: row for row, text in enumerate(texts)}
    vectors = embed(encoder, texts)
    left, right = (vectors[[place[text] for text in side]] for side in (pairs.sentences1, pairs.sentences2))
    for metric, value in similarity_figures(cosines(left, right), scores, scale).items():
        yield pairs.name, pairs.split, PAIR_PROTOCOL, metric, value, len(scores)


def checked_scores(pairs: PairSet) -> tuple[Floats, tuple[float, float]]:
    """Return the scores of pairs, (pairs,) float32, and their scale; raises InputError if they cannot be compared."""
    name = f"Set '{pairs.name}'"
    if pairs.scores is None or pairs.scale is None:
        raise InputError(f"{name} has no scores with a scale, so cosines cannot be compared with them.")
    scores, (low, high) = np.asarray(pairs.scores, dtype=np.float32), pairs.scale
    sizes = len(pairs.sentences1), len(pairs.sentences2), len(scores)
    if len(set(sizes)) > 1:
        raise InputError(f"{name} has {sizes[0]} first sentences, {sizes[1]} second ones and {sizes[2]} scores.")
    if not low < high:
        raise InputError(f"{name} has the scale {low:g} to {high:g}; give the lowest and then the highest score.")
    for side in (pairs.sentences1, pairs.sentences2):
        if wrong := [row for row, text in enumerate(side) if not isinstance(text, str)]:
            raise InputError(f"{name}: pair {wrong[0]} (from 0) has {side[wrong[0]]!r} in place of a sentence.")
    outside = np.flatnonzero(~((scores >= np.float32(low)) & (scores <= np.float32(high))))
    if len(outside):
        value = scores[outside[0]]
        raise InputError(f"{name}: pair {outside[0]} (from 0) has the score {value:g}, outside {low:g} to {high:g}.")
    return scores, (low, high)


def document_figures(encoder: Encoder, documents: Documents) -> Iterator[Row]:
    """Yield precision, recall and F1 of a classifier on the embeddings of the documents."""
    try:  # pairs need no classifier, so the core scores them
        from sentence_distillery.evaluation.classification import PROTOCOL, classify
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Documents are classified by {error.name}; run `pip install 'sentence-distillery[distill]'`."
        ) from error
    train, test = documents
    train_vectors, test_vectors = (embed(encoder, split.texts) for split in documents)
    for metric, value in classify(train_vectors, train.labels, test_vectors, test.labels, SEED).items():
        yield test.name, test.split, PROTOCOL, metric, value, len(test.texts)


def embed(encoder: Encoder, texts: list[str]) -> Floats:
    """Encode texts, (texts, dimension) float32; raises InputError if `encode` returns another shape."""
    vectors = np.asarray(encoder.encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise InputError(
            f"encode returned an array of shape {vectors.shape} for {len(texts)} sentences; "
            "it must return one row for each sentence."
        )
    return vectors
