"""Score an encoder on sets of the user's own labels: the main figure of each, with its interval.

    sts                  Spearman of the cosines and the scores       drawn again: pairs
    pair_classification  average precision of the cosines             drawn again: pairs
    classification       accuracy of a logistic regression            drawn again: test texts
    clustering           V-measure of k-means                         no interval
    retrieval            nDCG@10 of an exact search                   drawn again: queries

The figures are those of the same protocols in the stage `evaluate`, which scores all systems on these sets, and has no
intervals. Each interval holds 95 % of 2,000 draws with replacement. V-measure is the mean of ten clusterings of texts
that are drawn already.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import rankdata

from sentence_distillery.benchmarks import bootstrap
from sentence_distillery.benchmarks.data import BenchmarkData, DocumentSet, PairSet, QuerySet
from sentence_distillery.domain.measures import Measure
from sentence_distillery.domain.scoring import as_result
from sentence_distillery.evaluation.evaluate import Encoder, embed
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.tasks import (
    POSITIVE,
    TASKS,
    Documents,
    Embed,
    TaskSet,
    check,
    checked_scores,
    read_task,
)
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Figure, Unavailable
from sentence_distillery.protocols.classification import Labelled, predictions
from sentence_distillery.protocols.classification import why_unavailable as why_not_classified
from sentence_distillery.protocols.clustering import clustering
from sentence_distillery.protocols.pair_classification import pair_classification, precisions_of_draws
from sentence_distillery.protocols.retrieval import searched
from sentence_distillery.protocols.retrieval import why_unavailable as why_not_searched
from sentence_distillery.protocols.similarity import correlations, cosines

Two = tuple[Floats, Floats]


def own_tasks(benchmarks: BenchmarkData) -> list[TaskSet]:
    """Read the test split of each set of the user's own labels."""
    return [read_task(benchmarks, name, "test") for name in benchmarks.own()]


def scored_on_labels(name: str, encoder: Encoder | Unavailable, task: TaskSet) -> Result:
    """Measure an encoder on a set.

    Args:
        name: The encoder's name in the results.
        encoder: It, or why there is none.
        task: The set: rated pairs, texts with labels to train on and to test on, or queries.

    Returns:
        The main figure with its interval, or why there is none.

    Raises:
        InputError: If the columns of the set do not fit each other.
    """
    return scored_with_draws(name, encoder, task)[0]


def scored_with_draws(name: str, encoder: Encoder | Unavailable, task: TaskSet) -> tuple[Result, Floats | None]:
    """Measure an encoder on a set, and keep the draws of its interval; arguments as of `scored_on_labels`.

    Returns:
        The main figure, and the figure of each draw, (draws,), if it has an interval. All encoders have the same draws
        of a set, so the interval of a difference of two encoders is that of the differences of their draws.
    """
    check(task)
    value, drawn = (encoder, None) if isinstance(encoder, Unavailable) else _measured(partial(_unit, encoder), task)
    low, high = (None, None) if drawn is None else bootstrap.interval(drawn)
    measure = Measure(*_place(task), value, task.size, low, high)
    return replace(as_result(name, measure, task.tested.name), split=task.tested.split), drawn


def _place(task: TaskSet) -> tuple[str, str]:
    """Return the protocol and the metric of the main figure."""
    match task.tested:
        case PairSet():
            return ("mean", "spearman") if task.type == "sts" else ("cosine", "ap")
        case DocumentSet() if task.type == "clustering":
            return "k-means", "v_measure"
        case DocumentSet():
            return "full", "accuracy"
        case QuerySet():
            return "search", "ndcg_at_10"


def _measured(embed: Embed, task: TaskSet) -> tuple[Figure, Floats | None]:
    """Return the main figure of an encoder and its draws, or the reason why there is none."""
    vectors = TASKS[task.type].embed(embed, task.texts)
    if isinstance(task.texts, PairSet):
        return (_correlated if task.type == "sts" else _decided)(vectors, task.texts)
    if isinstance(task.texts, DocumentSet):
        return clustering(vectors, task.texts.labels).v_measure, None
    values = _found(vectors, task.texts) if isinstance(task.texts, QuerySet) else _classified(vectors, task.texts)
    if isinstance(values, Unavailable):
        return values, None
    return float(values.mean()), bootstrap.means(values, bootstrap.counts(len(values)))


def _correlated(vectors: Two, pairs: PairSet) -> tuple[Figure, Floats | None]:
    """Correlate cosines with scores; the ranks are those of all pairs in every draw."""
    predicted, (scores, _) = cosines(*vectors), checked_scores(pairs)
    value = correlations(predicted, scores)["spearman"]
    if isinstance(value, Unavailable):
        return value, None
    return value, bootstrap.pearson(rankdata(predicted), rankdata(scores), bootstrap.counts(len(scores)))


def _decided(vectors: Two, pairs: PairSet) -> tuple[Figure, Floats | None]:
    """Tell pairs that belong together from others by their cosines."""
    positive = np.array([label == POSITIVE for label in pairs.labels or ()], dtype=bool)
    value = pair_classification(*vectors, positive).ap
    if isinstance(value, Unavailable):
        return value, None
    return value, precisions_of_draws(cosines(*vectors), positive, bootstrap.counts(len(positive)))


def _classified(vectors: Two, texts: Documents) -> Floats | Unavailable:
    """Tell of each test text whether it got the right label, (texts,) 1 or 0."""
    train, test = (Labelled(each, documents.labels) for each, documents in zip(vectors, texts, strict=True))
    if unavailable := why_not_classified(train, test):
        return unavailable
    predicted = predictions(train, range(len(train.labels)), test.vectors)
    return np.array([one == other for one, other in zip(predicted, test.labels, strict=True)], dtype=np.float32)


def _found(vectors: Two, queries: QuerySet) -> Floats | Unavailable:
    """Return nDCG@10 of each judged query, (queries,)."""
    if unavailable := why_not_searched(*vectors, queries.judgements):
        return unavailable
    return searched(*vectors, queries.ids, queries.judgements).ndcg_at_10.astype(np.float32)


def _unit(encoder: Encoder, texts: list[str]) -> Floats:
    """Embed texts, rows of unit length: the classifier depends on the length."""
    return unit_rows(embed(encoder, texts))
