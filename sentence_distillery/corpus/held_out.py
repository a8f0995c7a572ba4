"""Held-out texts: documents that no model is trained on, so that it can be measured on text of the same kind.

    rank of a document = mix(identity + seed * 0x9E3779B97F4A7C15)       mix: the finaliser of SplitMix64

Whole documents are taken in the order of their ranks, as long as their sentences fit in the limit; one that does not
fit is passed over. The rank depends on the words of the document and the seed alone, so neither the order of the files
nor the number of processes makes a difference. A document may be a single short text, such as a row of a table.

Nothing that is held out has a near-duplicate in the training text: cleaning has dropped near-duplicates of documents
and repeated sentences by then, whichever of the two would have been held out. With `near_duplicate_threshold` 1 it
drops equal documents and equal sentences only.

    kept sentences of documents a, b, c, d: 3, 2, 9, 1      limit 4      order d, c, a, b      held out: d, a
"""

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.corpus.options import HeldOut

_GOLDEN = 0x9E3779B97F4A7C15
_LAST = 2**64 - 1


def ranks(identities: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return a number for each document, (documents,) uint64, that looks random but depends on its words alone."""
    mixed = identities + np.uint64(seed * _GOLDEN & _LAST)  # unsigned integers wrap around
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def draw(sentences: NDArray[np.int64], identities: NDArray[np.uint64], options: HeldOut) -> NDArray[np.bool_]:
    """Mark the documents, (documents,) bool, that are held out.

    Args:
        sentences: How many sentences of each document cleaning keeps, (documents,).
        identities: The identity of each document, (documents,).
        options: The share, the maximum and the seed.

    Example:
        >>> draw(np.array([1, 1, 1, 1]), np.arange(4, dtype=np.uint64), HeldOut(share=0.5, maximum_sentences=9, seed=1))
        array([False,  True, False,  True])
    """
    held_out = np.zeros(len(sentences), bool)
    left = min(int(options.share * sentences.sum()), options.maximum_sentences)
    candidates = np.flatnonzero((sentences > 0) & (sentences <= left))
    for document in candidates[np.argsort(ranks(identities[candidates], options.seed), kind="stable")].tolist():
        if left == 0:
            break
        if sentences[document] <= left:
            held_out[document] = True
            left -= int(sentences[document])
    return held_out
