"""Embeddings in fewer bits for an index: the five precisions of sentence-transformers, with the same results.

    float32   4 bytes per dimension, unchanged
    int8      1 byte: 256 buckets between the least and the greatest value of each dimension, -128 to 127
    uint8     the same, 0 to 255
    ubinary   1 bit: whether a dimension is above 0, eight of them in a byte
    binary    the same bytes less 128, as int8

int8 and uint8 need the ranges of the dimensions. Without `ranges` they come from the given embeddings, so the results
of two calls cannot be compared. Take the ranges of one large sample for all calls instead.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.native import loading

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
CALIBRATED = ("int8", "uint8")

_BUCKETS = 255
_HALF = 128


def quantize_embeddings(
    embeddings: NDArray[Any], precision: Precision, ranges: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Store embeddings in fewer bits.

    Args:
        embeddings: (texts, dimension) or (dimension,) float32, of any length.
        precision: "float32", "int8", "uint8", "binary" or "ubinary".
        ranges: (2, dimension) float32, the least and the greatest value of each dimension, for int8 and uint8. By
            default those of `embeddings`.

    Returns:
        float32, int8 or uint8 in the shape of `embeddings`; for "binary" (int8) and "ubinary" (uint8) an eighth of the
        dimensions, rounded up.

    Raises:
        ValueError: If the precision is unknown, or if ranges would have to come from one embedding.

    Example:
        >>> vectors = np.array([[-0.6, 0.8], [0.8, 0.6], [0.1, 0.7]], np.float32)
        >>> quantize_embeddings(vectors, "uint8").tolist()
        [[0, 255], [255, 0], [127, 127]]
        >>> quantize_embeddings(vectors, "ubinary").tolist()
        [[64], [192], [192]]

    Reference:
        Shakir, Aarsen and Lee 2024, Binary and Scalar Embedding Quantization for Significantly Faster & Cheaper
        Retrieval, https://huggingface.co/blog/embedding-quantization
    """
    check_precision(precision)
    if precision == "float32":
        return embeddings.astype(np.float32, copy=False)
    if precision in CALIBRATED:
        return _bucketed(embeddings, precision, _ranges(embeddings, precision) if ranges is None else ranges)
    bits: NDArray[np.uint8] = np.packbits(embeddings > 0, axis=-1)
    return bits if precision == "ubinary" else (bits - np.uint8(_HALF)).astype(np.int8)


def check_precision(precision: str, allowed: tuple[str, ...] = PRECISIONS) -> None:
    """Raise ValueError for a precision that is not among `allowed`, which the message lists."""
    if precision not in allowed:
        raise ValueError(f"precision is {precision!r}; it is one of {', '.join(allowed)}.")


def _ranges(embeddings: NDArray[Any], precision: str) -> NDArray[Any]:
    """Compute the ranges, (2, dimension), of at least two embeddings; without embeddings any range will do."""
    if embeddings.ndim == 1 or len(embeddings) == 1:
        raise ValueError(
            f"{precision} needs the range of each dimension, which cannot be known from one embedding. Encode in "
            "float32 and "
            "call quantize_embeddings with ranges=np.stack([sample.min(axis=0), sample.max(axis=0)]), the sample being "
            "the embeddings of many texts."
        )
    if len(embeddings) == 0:
        return np.zeros((2, embeddings.shape[1]), dtype=np.float32)
    return np.stack([embeddings.min(axis=0), embeddings.max(axis=0)])


def _bucketed(embeddings: NDArray[Any], precision: str, ranges: NDArray[Any]) -> NDArray[Any]:
    least, greatest = ranges.astype(np.float32, copy=False)
    steps = (greatest - least) / _BUCKETS
    steps = np.where(steps == 0, 1, steps)  # a dimension of one value has one bucket
    compiled = loading.core()
    if compiled is not None and embeddings.dtype == np.float32:
        given = np.ascontiguousarray(np.atleast_2d(embeddings))
        numbers = np.empty(given.shape, np.uint8)
        compiled.write_buckets(given, np.ascontiguousarray(least), np.ascontiguousarray(steps, np.float32), numbers)
        numbers = numbers.reshape(embeddings.shape)
        return numbers if precision == "uint8" else (numbers ^ np.uint8(_HALF)).view(np.int8)
    buckets: NDArray[Any] = np.clip(np.floor((embeddings - least) / steps), 0, _BUCKETS)
    return buckets.astype(np.uint8) if precision == "uint8" else (buckets - _HALF).astype(np.int8)
