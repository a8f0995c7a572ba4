"""Weighted sentence embeddings and the directions to remove from them, for any encoder of tokens.

    v(S) = 1/|S| sum_{w in S} a_w x_w               paper 1, equation 8; `TokenIds.means` in io/ragged.py computes it

The weight a_w of a token comes from corpus statistics; the vector x_w from a table of word vectors or from a
transformer. Principal directions are fitted once on sentence vectors of the corpus, saved, and reused for new text:
fitting them on test sentences would leak the test set into its own figures.

    SIF    v - (v · u_1) u_1                       u_1: first right singular vector of the sentence vectors
                                                   (Arora et al. 2017, algorithm 1)
    DPCS   v - sum_{j > k} (v · u_j) u_j           u_j: principal components, k: see below (paper 1, equation 12)

So the two remove opposite ends: SIF the strongest direction, DPCS the weakest. `dpcs+common` removes both: DPCS's, and
then SIF's direction of the remainder. That lies in the space that DPCS keeps, so all removed rows are orthonormal.
Centring: SIF's vectors are not centred, as in Arora et al. DPCS's eigenvalues are variances, so its vectors are centred
    to find the components. As equation 12 has no mean, v itself is not centred when they are removed from it.

Worked example: (3, 1), (-3, 1), (3, -1), (-3, -1) have the mean (0, 0) and the variances 9 along u_1 = (1, 0) and 1
along u_2 = (0, 1): contributions 0.9 and 0.1. DPCS with T = 0.85 keeps k = 1 component and (2, 5) becomes (2, 0); with
T = 0.95 it keeps both and (2, 5) stays. SIF removes u_1 and (2, 5) becomes (0, 5). dpcs+common gives (0, 0) and (0, 5).
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError, read_tensors, write_tensors
from sentence_distillery.io.ragged import TokenIds

Floats = NDArray[np.float32]


class Weighting(StrEnum):
    """The weights of tokens in a sentence vector, and the directions that are removed from it.

    - MEAN: every token counts 1; nothing is removed.
    - TF_IDF: every occurrence counts ln((1 + N) / (1 + df)) + 1, for df of N sentences with the token, so that a token
      counts by its frequency in the sentence times its inverse document frequency; nothing is removed.
    - SIF: smooth inverse frequency a / (a + p); the first singular direction is removed (Arora et al. 2017).
    - DPCS: the weights of SIF; the principal components after the first k, which explain T of the variance, are
      removed (paper 1, equations 7-12).
    - DPCS_COMMON: DPCS, and then the first singular direction of the remainder is removed too, as in SIF.
    """

    MEAN = "mean"
    TF_IDF = "tf-idf"
    SIF = "sif"
    DPCS = "dpcs"
    DPCS_COMMON = "dpcs+common"


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Corpus statistics by token id: occurrences and sentences with the token, (vocabulary,) int64; all sentences."""

    counts: NDArray[np.int64]
    document_frequencies: NDArray[np.int64]
    documents: int


def frequencies(sentences: TokenIds, vocabulary: int) -> Frequencies:
    """Count tokens over the corpus; each sentence is a document."""
    counts = np.bincount(sentences.ids, minlength=vocabulary)
    once = np.unique(sentences.owners * vocabulary + sentences.ids) % vocabulary
    return Frequencies(counts, np.bincount(once, minlength=vocabulary), len(sentences))


def token_weights(weighting: Weighting, corpus: Frequencies, smoothing: float = 1e-3) -> Floats:
    """Weigh each token id, (vocabulary,) float32; `smoothing` > 0 is a of equation 7, 1e-3 in the paper.

    A token that the corpus lacks gets the largest weight: 1 for SIF and both DPCS (p = 0), ln(1 + N) + 1 for TF-IDF.
    """
    if weighting is Weighting.MEAN:
        return np.ones(len(corpus.counts), dtype=np.float32)
    weights: NDArray[np.float64]
    if weighting is Weighting.TF_IDF:
        weights = np.log((1 + corpus.documents) / (1 + corpus.document_frequencies)) + 1
    else:
        weights = smoothing / (smoothing + corpus.counts / max(corpus.counts.sum(), 1))
    return weights.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Components:
    """Directions to remove from sentence vectors: removed (directions, dimension) float32, orthonormal rows."""

    removed: Floats

    @property
    def kept(self) -> int:
        """Dimensions of the space that is left."""
        return int(self.removed.shape[1] - self.removed.shape[0])

    def apply(self, vectors: Floats) -> Floats:
        """Remove the directions from (sentences, dimension) float32 vectors; a zero vector stays zero."""
        if vectors.ndim != 2 or vectors.shape[1] != self.removed.shape[1]:
            raise ValueError(
                f"vectors of shape {vectors.shape} do not fit components of dimension {self.removed.shape[1]}; "
                "fit them on vectors of the same encoder"
            )
        return (vectors - (vectors @ self.removed.T) @ self.removed).astype(np.float32)

    def save(self, path: Path) -> None:
        write_tensors(path, {"removed": self.removed})

    @classmethod
    def load(cls, path: Path) -> "Components":
        """Read directions that `save` wrote.

        Raises:
            InputError: the file is not a valid safetensors file, or its rows are not orthonormal.
        """
        removed = read_tensors(path, {"removed": (None, None)})["removed"]
        # a comparison with NaN is false, so this catches rows that are not finite too
        if not (np.abs(removed @ removed.T - np.eye(len(removed))) < 1e-3).all():
            raise InputError(f"{path}: the rows of 'removed' are not orthonormal; fit and save them again.")
        return cls(removed.astype(np.float32))


def fit_components(weighting: Weighting, vectors: Floats, threshold: float = 0.95) -> Components:
    """Fit on sentence vectors of the corpus, (sentences, dimension); `threshold` in (0, 1] is T, 0.95 in the paper.

    For MEAN and TF_IDF there is nothing to fit and nothing is removed. Raises InputError if the vectors do not
    differ (one sentence, all zero, all alike) or are not finite: they have no principal direction.
    """
    if weighting in (Weighting.MEAN, Weighting.TF_IDF):
        return Components(np.empty((0, vectors.shape[1]), dtype=np.float32))
    exact = vectors.astype(np.float64)
    if not np.isfinite(exact).all():
        raise InputError(f"{weighting} cannot be fitted: some of {len(exact)} sentence vectors are not finite.")
    if len(exact) == 0 or (exact == exact[0]).all():
        raise InputError(
            f"{weighting} cannot be fitted: {len(exact)} sentence vectors, none unlike the first. Fit on more text, or "
            "see whether the encoder has collapsed."
        )
    if weighting is Weighting.SIF:
        return Components(principal_directions(exact)[1][:1].astype(np.float32))
    eigenvalues, directions = principal_directions(exact - exact.mean(axis=0))
    weakest = directions[components_kept(eigenvalues, threshold) :]
    if weighting is Weighting.DPCS:
        return Components(weakest.astype(np.float32))
    _, common = principal_directions(exact - (exact @ weakest.T) @ weakest)
    return Components(np.concatenate([common[:1], weakest]).astype(np.float32))


def principal_directions(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute eigenvalues of X^T X / n, largest first, (dimension,), and eigenvectors, (dimension, dimension) rows."""
    eigenvalues, columns = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    return np.maximum(eigenvalues[::-1], 0.0), np.ascontiguousarray(columns.T[::-1])


def components_kept(eigenvalues: NDArray[np.float64], threshold: float) -> int:
    """Return the smallest k whose cumulative contribution reaches `threshold` (equations 9-11)."""
    cumulative = np.cumsum(eigenvalues) / eigenvalues.sum()
    # rounding can leave the last sum below a threshold of 1
    return min(int(np.searchsorted(cumulative, threshold)) + 1, len(eigenvalues))
