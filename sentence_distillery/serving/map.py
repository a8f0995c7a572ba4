"""A map of texts: their vectors in two dimensions, near ones near each other as far as that goes.

t-SNE (van der Maaten and Hinton 2008) keeps neighbours, not distances: two groups far apart need not differ more than
two that touch. Two principal components keep so little of the variance that neighbours are lost: of 3,000 questions to
a bank, 7 % of a text's ten nearest are among its ten nearest on such a map, with t-SNE 60 %. Each map says that figure
for itself. A handful of texts, for which t-SNE means nothing, is shown by principal components.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.ragged import Floats

POINTS = 3_000  # t-SNE takes 5 to 20 seconds for these
NEAREST = 10  # neighbours of a text, of which the map keeps a share
PLACED_BY = 3  # neighbours that place a text which is not drawn
_FEW = 10  # texts: t-SNE has nothing to keep
_ROUNDS = 500  # of t-SNE; 1,000 kept no more neighbours


@dataclass(frozen=True, eq=False)
class Map:
    """The positions of texts on the map: `points`, from -1 to 1, of the texts `drawn`, by "t-SNE" or "PCA".

    `vectors` are those of all texts, (texts, dimension) float32 at unit length.
    """

    vectors: Floats
    drawn: NDArray[np.int64]
    points: Floats
    method: str

    def place(self, index: int) -> list[float] | None:
        """Return where a text is, to four digits: at its point, or amid the nearest drawn ones; None for a zero one."""
        row = int(np.searchsorted(self.drawn, index))
        if row < len(self.drawn) and self.drawn[row] == index:
            point = self.points[row]
        elif self.vectors[index].any():
            # One that is not drawn stands amid the drawn ones that are closest to it
            nearest = np.argsort(-(self.vectors[self.drawn] @ self.vectors[index]), kind="stable")[:PLACED_BY]
            point = self.points[nearest].mean(axis=0)
        else:
            return None
        return [round(float(value), 4) for value in point]

    @cached_property
    def kept(self) -> float | None:
        """The share of the drawn texts' nearest neighbours that are among the nearest on the map, 0 to 1."""
        if len(self.drawn) <= 2 * NEAREST:  # on so small a map nearly all texts are near
            return None
        from sklearn.neighbors import NearestNeighbors  # as for t-SNE

        near, shown = (
            NearestNeighbors(n_neighbors=NEAREST).fit(rows).kneighbors(return_distance=False)
            for rows in (self.vectors[self.drawn], self.points)
        )
        return float((near[:, :, None] == shown[:, None, :]).sum() / near.size)


def draw(vectors: Floats, points: int = POINTS) -> Map:
    """Draw the map of at most `points` evenly chosen texts, the same for the same vectors; a zero vector is not drawn.

    Example:
        >>> import numpy as np
        >>> found = draw(np.array([[1, 0], [0, 0], [0, 1]], np.float32))
        >>> found.method, found.drawn.tolist(), found.points.shape
        ('PCA', [0, 2], (2, 2))
    """
    known = np.flatnonzero(vectors.any(axis=1))
    drawn = known[np.unique(np.linspace(0, len(known) - 1, min(points, len(known))).astype(np.int64))]
    shown = vectors[drawn]

    # t-SNE has nothing to keep of a handful of texts, or of texts that are all alike.
    if len(drawn) < _FEW or shown.shape[1] < 2 or not np.ptp(shown, axis=0).any():
        return Map(vectors, drawn, _within(_leading(shown)), "PCA")
    return Map(vectors, drawn, _within(_neighbour_embedding(shown)), "t-SNE")


def _leading(vectors: Floats) -> Floats:
    """Project on the two leading principal components; a student of one dimension has zeros for the second."""
    projected = np.zeros((len(vectors), 2), np.float32)
    if len(vectors):
        centred = vectors - vectors.mean(axis=0)
        # eigh has the least first
        leading = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
        projected[:, : leading.shape[1]] = centred @ leading
    return projected


def _neighbour_embedding(vectors: Floats) -> Floats:
    """Embed by t-SNE, from the principal components."""
    from sklearn.manifold import TSNE  # a second to import: the page is there before the map

    perplexity = min(30, (len(vectors) - 1) / 3)  # scikit-learn's default
    method = TSNE(init="pca", perplexity=perplexity, max_iter=_ROUNDS, random_state=0, n_jobs=1)
    found: Floats = method.fit_transform(vectors)
    return found


def _within(points: Floats) -> Floats:
    """Move points to -1 to 1 on both axes, in their proportions."""
    if not len(points):
        return points
    low, high = points.min(axis=0), points.max(axis=0)
    # One scale for both axes
    within: Floats = ((points - (low + high) / 2) / max(float((high - low).max()) / 2, 1e-9)).astype(np.float32)
    return within
