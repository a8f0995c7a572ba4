"""Vectors of words that the teacher did not embed, estimated from the sentences that have them.

    x_w = m + n / (n + 2) * (s_w - s)

s_w is the mean soft label of the n sentences with the word w, s that of all sentences, and m the mean of the words that
the teacher did embed, or s if it embedded none. A rare word says little about itself, hence the factor. A piece that no
sentence has gets the mean of the words that are cut into it, and m if there is none.

It is only a start, from which the student is trained: docs/how-to/choose-a-teacher.md has what came of it.
"""

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.ragged import Floats, TokenIds

SHRINKAGE = 2.0
ROWS = 20_000  # sentences whose labels are float32 at a time


def with_estimates(vectors: Floats, words: list[str], tokens: TokenIds, targets: NDArray[np.float16]) -> Floats:
    """Fill the zero rows of word vectors.

    Args:
        vectors: (words, dimension) float32, the teacher's, projected; zero rows are unknown.
        words: Words and pieces; the token id of a word is its place plus one.
        tokens: Token ids of the sentences.
        targets: (sentences, dimension) float16, their soft labels, projected.

    Returns:
        (words, dimension) float32; the same array if no row is zero.

    Example:
        >>> tokens = TokenIds.from_lists([[1], [1], [2]])
        >>> targets = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float16)
        >>> found = with_estimates(np.zeros((2, 2), np.float32), ["storm", "port"], tokens, targets)
        >>> bool(found[0, 0] > found[0, 1] and found[1, 1] > found[1, 0])
        True
    """
    known = vectors.any(axis=1)
    if known.all():
        return vectors
    sums, counts = _sums(len(words) + 1, tokens, targets)
    middle = targets.mean(axis=0, dtype=np.float32)
    centre = vectors[known].mean(axis=0) if known.any() else middle
    seen = counts > 0
    filled: Floats = vectors.copy()
    estimated = np.flatnonzero(~known & seen)
    factors = counts[estimated] / (counts[estimated] + SHRINKAGE)
    offsets = sums[estimated] / counts[estimated, None] - middle
    filled[estimated] = centre + factors[:, None] * offsets
    unseen = np.flatnonzero(~known & ~seen)
    evident = np.flatnonzero(known | seen)
    filled[unseen] = _of_pieces(
        [words[row] for row in unseen], [words[row] for row in evident], filled[evident], centre
    )
    return filled


def _sums(size: int, tokens: TokenIds, targets: NDArray[np.float16]) -> tuple[Floats, NDArray[np.int64]]:
    """Return for each word the sum of the labels of its occurrences, and their number, the unknown token apart."""
    from scipy.sparse import csr_array  # few teachers lack words

    sums = np.zeros((size, targets.shape[1]), dtype=np.float32)
    for start in range(0, len(tokens), ROWS):
        part = tokens.span(start, min(start + ROWS, len(tokens)))
        has = csr_array((np.ones(len(part.ids), np.float32), part.ids, part.offsets), shape=(len(part), size))
        sums += has.T @ targets[start : start + ROWS].astype(np.float32)
    return sums[1:], np.bincount(tokens.ids, minlength=size)[1:]


def _of_pieces(pieces: list[str], words: list[str], vectors: Floats, centre: Floats) -> Floats:
    """Return for each piece the mean of the words that are cut into it, or `centre`."""
    tokenizer = static_tokenizer([UNKNOWN, *pieces])
    cut = TokenIds.from_lists(encoding.ids for encoding in tokenizer.encode_batch(words))
    sums, counts = _sums(len(pieces) + 1, cut, vectors.astype(np.float16))
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centre).astype(np.float32)
