"""Cosine similarity of embeddings: all against all, or pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentence_distillery.io.errors import InputError
from sentence_distillery.io.ragged import Floats, plain, unit_rows

if TYPE_CHECKING:
    from sentence_distillery.encoder.static_encoder import StaticEncoder


def similarity(embeddings1: ArrayLike, embeddings2: ArrayLike) -> Floats:
    """Compute the cosine of each embedding with each, (texts of one, texts of the other) float32; 0 for a zero vector.

    Both are (texts, dimension), or (dimension,) for one text. Raises ValueError if the dimensions differ, an array is
    neither a vector nor a matrix, or there are texts.
    """
    one, other = _rows(embeddings1, embeddings2)
    cosines: Floats = unit_rows(one) @ unit_rows(other).T
    return cosines


def similarity_pairwise(embeddings1: ArrayLike, embeddings2: ArrayLike) -> Floats:
    """Compute the cosines pair by pair, (pairs,) float32; 0 if a vector of the pair is zero.

    Raises ValueError as `similarity`, and if the numbers of embeddings differ.
    """
    one, other = _rows(embeddings1, embeddings2)
    if len(one) != len(other):
        raise ValueError(f"There are {len(one)} embeddings on one side and {len(other)} on the other; pairs need both.")
    cosines: Floats = np.einsum("nd,nd->n", unit_rows(one), unit_rows(other))
    return cosines


def compare(encoder: StaticEncoder, first: str, second: str) -> float:
    """Return the cosine of two texts, in [-1, 1]; InputError if one of them has no known word."""
    (one, other), counts = encoder.encode_counting([first, second])
    for text, vector, count in zip((first, second), (one, other), counts, strict=True):
        if count == 0 or not vector.any():
            raise InputError(
                f"The encoder knows none of the words of {text!r}, so the cosine is undefined; use another text."
            )
    return float(one @ other)


def _rows(embeddings1: ArrayLike, embeddings2: ArrayLike) -> tuple[Floats, Floats]:
    one, other = _matrix(embeddings1), _matrix(embeddings2)
    if one.shape[1] != other.shape[1]:
        raise ValueError(
            f"Embeddings of {one.shape[1]} and of {other.shape[1]} dimensions cannot be compared. Take both "
            "from `encode`, or those of queries from `encode_query` and the others from `encode_document`."
        )
    return one, other


def _matrix(embeddings: ArrayLike) -> Floats:
    given = np.asarray(plain(embeddings))
    if given.dtype.kind in "US":
        raise ValueError("These are texts; compare their embeddings, which `encode` returns.")
    array: NDArray[Any] = np.atleast_2d(given.astype(np.float32, copy=False))
    if array.ndim != 2:
        raise ValueError(f"Embeddings have the shape (texts, dimension) or (dimension,), not {array.shape}.")
    return array
