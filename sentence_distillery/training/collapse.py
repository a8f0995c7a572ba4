"""A guard for encoders whose vectors are all alike."""

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError

COLLAPSED = 0.99


def refuse_collapsed(vectors: NDArray[np.float32], name: str, remedy: str) -> None:
    """Raise InputError if the mean cosine of different sentences is at least 0.99, or every vector is zero.

    `vectors` are (sentences, dimension) float32, rows of unit length or zero; `name` and `remedy` are for the message.
    """
    count = len(vectors)
    if not vectors.any():
        raise InputError(f"The {name} has collapsed: all its vectors are zero. {remedy}")
    if count < 2:
        return  # one sentence resembles no other
    mean = (np.square(vectors.sum(axis=0)).sum() - np.square(vectors).sum()) / (count * (count - 1))
    if mean >= COLLAPSED:
        raise InputError(
            f"The {name} has collapsed: the mean cosine of {count} different sentences is {mean:.3f}. {remedy}"
        )
