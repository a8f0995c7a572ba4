"""Check the texts that `encode` gets, in any container, and cut them into batches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

_SHOWN = 60  # characters of a refused value


def as_texts(texts: Iterable[str], first: int = 0) -> list[str]:
    """List texts, and refuse other values.

    Args:
        texts: Any iterable of str: a list, a generator, a NumPy array, a column of pandas, Polars or Arrow.
        first: The index of the first of them in the whole input, which an error names.

    Returns:
        The texts in their order.

    Raises:
        TypeError: If `texts` is None, a number, bytes or a mapping, or if one of them is not a str. The message has its
            index and its value.

    Example:
        >>> as_texts(word for word in ("storm", "port"))
        ['storm', 'port']
        >>> as_texts(["storm", None])
        Traceback (most recent call last):
        TypeError: texts[1] is not a str but None (NoneType). Leave it out, or replace it, for example by "".
    """
    listed = _listed(texts)
    if not all(issubclass(kind, str) for kind in set(map(type, listed))):
        index = next(index for index, text in enumerate(listed) if not isinstance(text, str))
        raise TypeError(
            f"texts[{first + index}] is not a str but {shown(listed[index])}. Leave it out, or replace it, for example "
            'by "".'
        )
    return listed


def _listed(texts: Any) -> list[Any]:
    arrow = sys.modules.get("pyarrow")  # imported by who has an array of it
    if arrow is not None and isinstance(texts, arrow.Array | arrow.ChunkedArray):
        return list(texts.to_pylist())
    if isinstance(texts, np.ndarray) and texts.ndim == 1:
        return list(texts.tolist())
    if isinstance(texts, bytes | bytearray | Mapping) or not isinstance(texts, Iterable):
        raise TypeError(f"texts are a str or an iterable of str, not {shown(texts)}.")
    if (axes := getattr(texts, "ndim", 1)) != 1:  # an array or a table, whose rows or columns are not texts
        raise TypeError(
            f"texts are a str or an iterable of str, not {type(texts).__name__} of {axes} axes; give one column."
        )
    return list(texts)


def shown(value: object) -> str:
    """Show a value and its type for an error message, cut short.

    Example:
        >>> shown(b"storm"), shown(None)
        ("b'storm' (bytes)", 'None (NoneType)')
    """
    text = repr(value)
    return f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'} ({type(value).__name__})"


def batches(texts: Iterable[str], size: int) -> Iterator[tuple[int, list[str]]]:
    """Cut an iterable into lists, and check each one when its turn comes.

    Args:
        texts: Any iterable of str; it is read once, a batch at a time.
        size: Texts in a batch, at least 1.

    Yields:
        The index of a batch's first text in the whole, and the batch: `size` texts, fewer in the last one.

    Raises:
        TypeError: As `as_texts` does, with the index in the whole.

    Example:
        >>> list(batches(iter("abc"), 2))
        [(0, ['a', 'b']), (2, ['c'])]
    """
    rest, first = iter(texts), 0
    while batch := list(islice(rest, size)):
        yield first, as_texts(batch, first)
        first += len(batch)
