"""Reranking: order the candidates of each query, which are its judged documents, by their cosine with it.

ranking.py defines the figures. They are those of MTEB's task type Reranking for sets with at most 1,000 candidates a
query (`map_at_1000` and `mrr_at_1000`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sentence_distillery.evaluation.protocols.ranking import Index, Judgements, Ranked, measured
from sentence_distillery.evaluation.protocols.retrieval import why_unavailable
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure


@dataclass(frozen=True)
class Reranking:
    """Means over the judged queries."""

    map: Figure  # the mean average precision, in [0, 1], or `Unavailable`
    mrr: Figure  # the mean reciprocal rank, in [0, 1], or `Unavailable`
    # the figures of each judged query, for a bootstrap; None if there is no figure
    ranked: Ranked | None = field(default=None, repr=False, compare=False)


def reranking(queries: Floats, documents: Floats, ids: Sequence[str], judgements: Judgements) -> Reranking:
    """Order the judged documents of each query, those of grade 0 included; arguments as of `retrieval`.

    Returns:
        The means, in [0, 1]; `Unavailable` if no query is judged, or a vector is not finite.

    Example:
        >>> import numpy as np
        >>> judged = Judgements(np.array([0, 0]), np.array([0, 1]), np.array([0, 1]))
        >>> vectors = np.array([[4, 1], [4, 2], [1, 4]], np.float32)
        >>> reranking(np.array([[1, 0]], np.float32), vectors, ["a", "b", "c"], judged)
        Reranking(map=0.5, mrr=0.5)

    Reference:
        Muennighoff, Tazi, Magne and Reimers 2023, MTEB: Massive Text Embedding Benchmark,
        https://arxiv.org/abs/2210.07316
    """
    if unavailable := why_unavailable(queries, documents, judgements):
        return Reranking(unavailable, unavailable)

    # A judged document that the collection lacks (-1) cannot be ranked, but counts as one to find.
    index = Index(documents, ids)
    rankings = [index.rank(queries[query], judged[judged >= 0]) for query, judged, _ in judgements.by_query()]
    ranked = measured(rankings, judgements, len(documents))
    return Reranking(float(ranked.ap.mean()), float(ranked.rr.mean()), ranked)
