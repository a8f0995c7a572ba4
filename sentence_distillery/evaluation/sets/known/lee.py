"""Lee-50: similarity of 50 short news documents, by students of a university."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sentence_distillery.evaluation.sets.benchmark import Benchmark, Table, packaged
from sentence_distillery.evaluation.sets.records import BadDataError, Pair

POINTS = 5  # the raters' scale, 1 (unrelated) to 5 (the same); the file holds their mean divided by this


def read(directory: Path) -> Iterator[Pair]:
    """Read 1,225 pairs of 50 documents with the mean human similarity, 1-5.

    The matrix is upper triangular, its lower half zero and its diagonal one; lee.cor is Latin-1.
    """
    documents = (directory / "lee.cor").read_text(encoding="latin-1").rstrip("\n").split("\n")
    path = directory / "similarities0-1.txt"
    try:
        similarities = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise BadDataError(f"{path}: {error}.") from error
    size = len(documents)
    if similarities.shape != (size, size):
        raise BadDataError(
            f"{path}: a matrix of shape {similarities.shape}, expected {(size, size)}, one row a document."
        )
    if (np.tril(similarities) != np.eye(size)).any():
        raise BadDataError(f"{path}: the lower half is not zero or the diagonal is not one.")
    for i, j in zip(*np.triu_indices(size, k=1), strict=True):
        place = f"{path}, line {i + 1}, column {j + 1}"
        yield Pair(place, "test", documents[i], documents[j], float(similarities[i, j]) * POINTS)


SET = Benchmark(
    name="lee",
    title="Lee-50",
    source=packaged(),
    licence="none stated; Lee, Pincombe and Welsh 2005",
    citation="Lee, Pincombe and Welsh 2005, An empirical evaluation of models of text document similarity, CogSci",
    origin="package",
    files=("lee.cor", "similarities0-1.txt"),
    tables=(Table("lee", "pairs", read, {"test": 1225}, scale=(1, 5), main_metric="pearson"),),
)
