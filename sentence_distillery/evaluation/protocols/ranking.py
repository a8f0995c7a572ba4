"""Rank documents by their cosine with a query, and measure rankings as trec_eval does.

For the grades g_1, g_2, ... of the ranked documents (0 if one is not judged), the grades i_1 >= i_2 >= ... of all
judged documents in the best order, and R documents of a grade above 0:

    nDCG@10 = sum_(r <= 10) g_r / log2(r + 1)  /  sum_(r <= 10) i_r / log2(r + 1)
    recall@100 = relevant documents up to rank 100 / R
    AP = 1/R * the sum of the precision at the rank of each relevant document that was found
    RR = 1 / the rank of the first relevant document

A query without a relevant document has 0 in all of them. Among equal cosines the larger document id comes first, as in
trec_eval, so that a ranking does not depend on the order of the documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.neighbours import descending
from sentence_distillery.io.ragged import Floats, unit_rows

DEPTH = 1_000  # documents of a ranking
BLOCK = 2**24  # cosines in memory at a time

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judgements:
    """The documents that answer each query, (judgements,) int64 each.

    Attributes:
        query: A row of the queries.
        document: A row of the documents; -1 for a document that the collection lacks.
        grade: 0 for a document that does not answer the query, more for a better answer.
    """

    query: Integers
    document: Integers
    grade: Integers

    def by_query(self) -> Iterator[tuple[int, Integers, Integers]]:
        """Yield each judged query, in ascending order, with its documents and their grades, (judged,) int64 each."""
        order = np.argsort(self.query, kind="stable")
        queries, starts = np.unique(self.query[order], return_index=True)
        parts = np.split(order, starts[1:]) if len(queries) else []
        for query, rows in zip(queries.tolist(), parts, strict=True):
            yield query, self.document[rows], self.grade[rows]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The figures of each judged query, in ascending order of the queries, (queries,) float64 in [0, 1] each.

    `ap` is the average precision, `rr` the reciprocal rank.
    """

    ndcg_at_10: NDArray[np.float64]
    recall_at_100: NDArray[np.float64]
    ap: NDArray[np.float64]
    rr: NDArray[np.float64]


class Index:
    """Documents that are searched exactly: (documents, dimension) float32; ids decide between equal cosines.

    Example:
        >>> index = Index(np.array([[1, 0], [0, 1], [2, 0]], np.float32), ["a", "b", "c"])
        >>> [ranking.tolist() for ranking in index.search(np.array([[1, 0]], np.float32))]
        [[2, 0, 1]]
    """

    def __init__(self, documents: Floats, ids: Sequence[str]) -> None:
        self.rows = np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True), dtype=np.int64)
        self.unit = unit_rows(documents)[self.rows]
        self.places = np.argsort(self.rows)  # of each document in `unit`

    def search(self, queries: Floats, depth: int = DEPTH) -> Iterator[Integers]:
        """Yield the rows of the `depth` nearest documents of each query, the nearest first, (at most depth,) int64."""
        step = max(1, BLOCK // max(1, len(self.rows)))
        for start in range(0, len(queries), step):
            cosines = unit_rows(queries[start : start + step]) @ self.unit.T
            yield from self.rows[descending(cosines, min(depth, len(self.rows)))]

    def rank(self, query: Floats, candidates: Integers) -> Integers:
        """Order the rows `candidates` of documents by their cosine with a query of (dimension,), the nearest first."""
        places = np.sort(self.places[candidates])
        cosines = self.unit[places] @ unit_rows(query[None])[0]
        return self.rows[places[np.argsort(-cosines, kind="stable")]]


def measured(rankings: Sequence[Integers], judgements: Judgements, documents: int) -> Ranked:
    """Measure the rankings of all judged queries.

    Args:
        rankings: Rows of documents for each judged query, (ranked,) int64, the best first.
        judgements: The right answers.
        documents: The number of documents, at least 1.

    Reference:
        nDCG: Järvelin and Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques,
        https://doi.org/10.1145/582415.582418; RR: Voorhees 1999, The TREC-8 Question Answering Track Report,
        https://trec.nist.gov/pubs/trec8/papers/qa_report.pdf
    """
    grades_of = np.zeros(documents + 1, dtype=np.int64)  # the last one is that of documents that the collection lacks
    figures = []

    # One array of grades serves all queries; each clears what it has set.
    for ranking, (_, judged, grades) in zip(rankings, judgements.by_query(), strict=True):
        grades_of[judged] = np.maximum(grades, 0)
        figures.append(_measure(grades_of[ranking], np.maximum(grades, 0)))
        grades_of[judged] = 0
    return Ranked(*np.array(figures, dtype=np.float64).reshape(-1, 4).T)


def _measure(found: Integers, judged: Integers) -> tuple[float, float, float, float]:
    """Return nDCG@10, recall@100, AP and RR of the grades of a ranking, given all grades of the query."""
    relevant = int((judged > 0).sum())
    if not relevant:
        return 0.0, 0.0, 0.0, 0.0

    # Ranks of the right documents among those that were found; the others are at no rank.
    ranks = np.flatnonzero(found > 0) + 1
    precision = np.arange(1, len(ranks) + 1) / ranks
    return (
        _gain(found[:10]) / _gain(np.sort(judged)[::-1][:10]),
        int((ranks <= 100).sum()) / relevant,
        float(precision.sum()) / relevant,
        1.0 / int(ranks[0]) if len(ranks) else 0.0,
    )


def _gain(grades: NDArray[Any]) -> float:
    """Compute the discounted cumulative gain."""
    return float((grades / np.log2(np.arange(2, len(grades) + 2))).sum())
