"""Score an encoder on sets of the user's own labels: the main figure of each, with its interval.

    sts                  Spearman of the cosines and the scores       drawn again: pairs
    pair_classification  average precision of the cosines             drawn again: pairs
    classification       accuracy of a logistic regression            drawn again: test texts
    clustering           V-measure of k-means                         no interval
    retrieval            nDCG@10 of an exact search                   drawn again: queries

The figures are those of the same protocols in the stage `evaluate`, which scores all systems on these sets, and has no
intervals. Each interval holds 95 % of 2,000 draws with replacement; a draw without a figure, such as one of pairs with
equal ratings, is left out and counted. V-measure is the mean of ten clusterings of texts
that are drawn already.
"""

from dataclasses import replace
from functools import partial

from sentence_distillery.evaluation.evaluate import Encoder, embed
from sentence_distillery.evaluation.protocols import intervals as bootstrap
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import BenchmarkData, TaskType
from sentence_distillery.evaluation.tasks import TaskSet, check, figures_with_draws, read_task
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Unavailable

MAIN: dict[TaskType, tuple[str, str]] = {  # the protocol and the metric
    "sts": ("mean", "spearman"),
    "pair_classification": ("cosine", "ap"),
    "classification": ("full", "accuracy"),
    "clustering": ("k-means", "v_measure"),
    "retrieval": ("search", "ndcg_at_10"),
    "reranking": ("search", "ndcg_at_10"),
}


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
    protocol, metric = MAIN[task.type]
    check(task)
    row = Result(name, task.tested.name, task.tested.split, protocol, metric, 0.0, task.size)
    if isinstance(encoder, Unavailable):
        return replace(row, value=encoder), None
    rows = figures_with_draws(partial(_unit, encoder), replace(task, protocols=(protocol,)))
    value, draw = next((row[4], draw) for row, draw in rows if row[3] == metric)
    if draw is None:
        return replace(row, value=value), None
    low, high, left_out = bootstrap.interval(drawn := draw())
    return replace(row, value=value, low=low, high=high, left_out=left_out), drawn


def _unit(encoder: Encoder, texts: list[str]) -> Floats:
    """Embed texts, rows of unit length: the classifier depends on the length."""
    return unit_rows(embed(encoder, texts))
