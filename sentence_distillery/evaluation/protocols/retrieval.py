"""Retrieval: find the documents that answer a query among all, by exact search.

The 1,000 documents with the largest cosine are ranked; ranking.py defines the figures. They are those of MTEB's task
type Retrieval (`ndcg_at_10`, `recall_at_100` and `map_at_1000`), which measures with trec_eval: a judged document that
the collection lacks counts as relevant, and a query without a judgement is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sentence_distillery.evaluation.protocols.ranking import Index, Judgements, Ranked, measured
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable


@dataclass(frozen=True)
class Retrieval:
    """Means over the judged queries, in [0, 1], or `Unavailable`; `ranked` has each query, for a bootstrap."""

    ndcg_at_10: Figure
    recall_at_100: Figure
    map: Figure
    ranked: Ranked | None = field(default=None, repr=False, compare=False)


def retrieval(queries: Floats, documents: Floats, ids: Sequence[str], judgements: Judgements) -> Retrieval:
    """Search the documents for each query.

    Args:
        queries: (queries, dimension) float32, of any length.
        documents: (documents, dimension) float32, of any length.
        ids: The id of each document, (documents,) str, which decides between equal cosines.
        judgements: The right answers.

    Returns:
        The means, in [0, 1]; `Unavailable` if no query is judged, or a vector is not finite.

    Example:
        >>> judged = Judgements(np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
        >>> vectors = np.array([[4, 1], [4, 2], [1, 4]], np.float32)
        >>> retrieval(np.array([[1, 0]], np.float32), vectors, ["a", "b", "c"], judged)
        Retrieval(ndcg_at_10=0.6934264036172708, recall_at_100=1.0, map=0.5833333333333333)

    Reference:
        Thakur, Reimers, Rücklé, Srivastava and Gurevych 2021, BEIR: A Heterogenous Benchmark for Zero-shot Evaluation
        of Information Retrieval Models, https://arxiv.org/abs/2104.08663
    """
    if unavailable := why_unavailable(queries, documents, judgements):
        return Retrieval(unavailable, unavailable, unavailable)

    # As in trec_eval, a query that nobody judged is not searched for.
    rows = [query for query, _, _ in judgements.by_query()]
    ranked = measured(list(Index(documents, ids).search(queries[rows])), judgements, len(documents))
    ndcg, recall, ap = (float(each.mean()) for each in (ranked.ndcg_at_10, ranked.recall_at_100, ranked.ap))
    return Retrieval(ndcg, recall, ap, ranked)


def why_unavailable(queries: Floats, documents: Floats, judgements: Judgements) -> Unavailable | None:
    """Say why a search cannot be measured, or return None."""
    if not len(judgements.query):
        return Unavailable("no query is judged")
    if not (np.isfinite(queries).all() and np.isfinite(documents).all()):
        return Unavailable("some vectors are not finite")
    return None
