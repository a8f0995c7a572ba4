"""Check what users give: texts in any container, which are also cut into batches, and whole numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from typing import Any, TypeGuard

import numpy as np

_SHOWN = 60  # characters of a refused value


def as_texts(texts: Iterable[str], first: int = 0) -> list[str]:
    """List one text, or those of a container: a list, a generator, a NumPy array, a column of pandas, Polars or Arrow.

    `first` is the index of the first of them in the whole input. Raises TypeError if `texts` is None, a number, bytes
    or a mapping, or if one of them is not a str: the message has its index and its value.
    """
    listed = _listed(texts)
    if not all(issubclass(kind, str) for kind in set(map(type, listed))):
        index = next(index for index, text in enumerate(listed) if not isinstance(text, str))
        raise TypeError(
            f"texts[{first + index}] is not a str but {shown(listed[index])}. Leave it out, or replace it, for example "
            'by "".'
        )
    return listed


def not_one(texts: Iterable[str]) -> Iterable[str]:
    """Return texts as they are; raises TypeError for one str, which is iterable, too."""
    if isinstance(texts, str):
        raise TypeError(f"This takes a list of texts, not one str, {shown(texts)}; encode takes both.")
    return texts


def _listed(texts: Any) -> list[Any]:
    if isinstance(texts, str):
        return [texts]
    return list(each_of(texts))


def each_of(texts: Any) -> Iterable[Any]:
    """Return what yields the texts of a container; TypeError for one that yields anything else."""
    arrow = sys.modules.get("pyarrow")  # imported by who has an array of it
    if arrow is not None and isinstance(texts, arrow.Array | arrow.ChunkedArray):
        return list(texts.to_pylist())
    if isinstance(texts, np.ndarray) and texts.ndim == 1:
        return list(texts.tolist())

    # These are iterable, but what they yield is not what a caller means.
    if isinstance(texts, bytes | bytearray | Mapping) or not isinstance(texts, Iterable):
        raise TypeError(f"texts are a str or an iterable of str, not {shown(texts)}.")
    if (axes := getattr(texts, "ndim", 1)) != 1:  # an array or a table, whose rows or columns are not texts
        raise TypeError(
            f"texts are a str or an iterable of str, not {type(texts).__name__} of {axes} axes; give one column."
        )
    return texts


def shown(value: object) -> str:
    """Show a value and its type for an error message, cut short."""
    text = repr(value)
    return f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'} ({type(value).__name__})"


def is_whole(value: object, least: int, most: float = inf) -> TypeGuard[int]:
    """Tell whether a value is a whole number from `least` to `most`; a bool, which Python counts among them, is not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(least <= value <= most)


def batches(texts: Iterable[str], size: int) -> Iterator[tuple[int, list[str]]]:
    """Cut an iterable, read once, into lists of `size` texts, each with the index of its first text in the whole.

    Each list is checked when its turn comes: TypeError as `as_texts`.
    """
    rest, first = iter(each_of(texts)), 0
    while batch := list(islice(rest, size)):
        yield first, as_texts(batch, first)
        first += len(batch)
