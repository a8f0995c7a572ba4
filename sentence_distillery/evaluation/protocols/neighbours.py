"""Exact neighbours: how many of the teacher's nearest texts does another encoder find?

    recall@k of a text = sum_i teacher_k(i) own_k(i) / k

teacher_k(i) is 1 if text i is among the k nearest by the teacher's cosines, else 0, and own_k(i) by the encoder's.
Texts whose cosine equals that of the k-th place share the places that are left: a static encoder gives texts of the
same words the same vector, and texts without a known word all have the cosine 0.

    cosines 0.9, 0.5, 0.5, 0.1      k = 2      memberships 1, 1/2, 1/2, 0

Every text is compared with every other one, a block of rows at a time, so memory grows with the number of texts and
not with its square.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.ragged import Floats, unit_rows

BLOCK = 2**21  # cosines in memory at a time
TIE = np.float32(1e-6)  # cosines of equal vectors may differ in their last bits

Rows = NDArray[np.int64]


def recalls(own: Floats, teacher: Floats, ks: Sequence[int]) -> dict[int, NDArray[np.float64]]:
    """Measure how many of the teacher's nearest texts are among the encoder's.

    Args:
        own: The encoder's vectors, (texts, dimension) float32, of any length.
        teacher: The teacher's vectors of the same texts; the dimension may differ.
        ks: How many neighbours, each from 1 to texts - 1.

    Returns:
        The recall of each text in [0, 1], (texts,) float64, for each k.

    Reference:
        Aumüller, Bernhardsson and Faithfull 2020, ANN-Benchmarks: A Benchmarking Tool for Approximate Nearest
        Neighbor Algorithms, https://arxiv.org/abs/1807.05614
    """
    found: dict[int, list[NDArray[np.float64]]] = {k: [] for k in ks}

    # Memberships and not sets of texts, since equal cosines share a place.
    for mine, theirs in zip(cosine_blocks(own), cosine_blocks(teacher), strict=True):
        for k in ks:
            both = np.einsum("qn,qn->q", memberships(mine, k), memberships(theirs, k), dtype=np.float64)
            found[k].append(both / k)
    return {k: np.concatenate(parts) for k, parts in found.items()}


def nearest(vectors: Floats, count: int) -> Rows:
    """Find the `count` nearest other texts of each of (texts, dimension), (texts, count) int64, the nearest first.

    Of equal cosines the earlier text comes first.

    Example:
        >>> nearest(np.array([[1, 0], [1, 0.1], [0, 1]], np.float32), 1).tolist()
        [[1], [0], [1]]
    """
    return np.concatenate([descending(block, count) for block in cosine_blocks(vectors)])


def cosine_blocks(vectors: Floats) -> Iterator[Floats]:
    """Yield the cosines of some texts with all, (rows, texts) float32 in [-1, 1]; of a text with itself -inf."""
    unit = unit_rows(vectors)
    step = max(1, BLOCK // max(1, len(unit)))
    for start in range(0, len(unit), step):
        cosines = unit[start : start + step] @ unit.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        yield cosines


def memberships(cosines: Floats, k: int) -> Floats:
    """Return the share to which each text is among the k nearest, (rows, texts) float32 in [0, 1]; each row sums to k.

    `cosines` are (rows, texts), -inf for a text that is not a neighbour.

    Example:
        >>> memberships(np.array([[0.9, 0.5, 0.5, 0.1]], np.float32), 2).tolist()
        [[1.0, 0.5, 0.5, 0.0]]

    Reference:
        McSherry and Najork 2008, Computing Information Retrieval Performance Measures Efficiently in the Presence of
        Tied Scores, https://doi.org/10.1007/978-3-540-78646-7_38
    """
    border = np.partition(cosines, -k, axis=1)[:, -k][:, None]
    above = cosines > border + TIE
    tied = (cosines >= border - TIE) & ~above
    share = (k - above.sum(axis=1)) / tied.sum(axis=1)
    return np.asarray(above + tied * share[:, None].astype(np.float32), dtype=np.float32)


def descending(cosines: Floats, count: int) -> Rows:
    """Return the places of the largest cosines of each row, (rows, count); of equal ones the first comes first."""
    if count == cosines.shape[1] or np.isnan(cosines).any():  # which has no border
        return np.argsort(-cosines, axis=1, kind="stable")[:, :count].astype(np.int64)
    border = np.partition(cosines, -count, axis=1)[:, -count]

    # Only these are sorted, where most are not among the largest. They are in the order of rows and of places.
    rows, places = np.nonzero(cosines >= border[:, None])
    ordered = places[np.lexsort((-cosines[rows, places], rows))]
    starts = np.searchsorted(rows, np.arange(len(cosines)))
    first: Rows = ordered[starts[:, None] + np.arange(count)]
    return first
