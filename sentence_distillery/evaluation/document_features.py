"""Features of documents for a linear classifier: a system's own mean, or its tokens.

    sgd          the system's own mean over the document, (documents, dimension)
    sgd+tokens   for a table of token vectors: the count of each token in the document, times the length of its
                 vector, (documents, vocabulary), rows of unit length; the mean before its sum is taken

In a mean of 300 words, little is left of the few words that distinguish a good review from a bad one.
"""

from typing import TYPE_CHECKING

import numpy as np

from sentence_distillery.evaluation.classification import PROTOCOL, TOKENS
from sentence_distillery.evaluation.systems import StudentSystem, System, WordSystem
from sentence_distillery.io.ragged import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 1_000  # documents whose tokens are in memory


def features(system: System, texts: list[str], protocol: str = PROTOCOL) -> "Floats | csr_array":
    """Return the features of each document, (documents, dimension) float32 or (documents, vocabulary) sparse."""
    if protocol == TOKENS:
        assert isinstance(system, WordSystem | StudentSystem)
        return token_features(system, texts)
    return means(system, texts)


def means(system: System, texts: list[str]) -> Floats:
    """Pool each document by the system's own mean, (documents, dimension) float32."""
    chunks = (texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK))
    return np.concatenate([system.pool(system.token_ids(chunk), [None])[0] for chunk in chunks])


def token_features(system: WordSystem | StudentSystem, texts: list[str]) -> "csr_array":
    """Count tokens, each by the length of its vector, (documents, vocabulary), rows of unit length."""
    from scipy.sparse import csr_array  # only sets of documents need these
    from sklearn.preprocessing import normalize

    tokens, lengths = system.token_ids(texts), system.lengths
    counted = csr_array(
        (lengths[tokens.ids], tokens.ids, tokens.offsets.astype(np.int32)), shape=(len(tokens), len(lengths))
    )
    counted.sum_duplicates()
    return csr_array(normalize(counted))
