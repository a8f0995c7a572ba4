"""Clustering: mini-batch k-means on the embeddings, compared with the labels by the V-measure.

    homogeneity  h = 1 - H(label | cluster) / H(label)      completeness  c = 1 - H(cluster | label) / H(cluster)
    V = 2 h c / (h + c)                                     (Rosenberg and Hirschberg 2007)

As MTEB's task type Clustering has it, for a set that is not reduced first: ten times, 16,384 texts are drawn with
replacement and clustered by k-means++ in batches of 512, into as many clusters as there are labels. The V-measure is
the mean of the ten.
"""

import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

EXPERIMENTS = 10
TEXTS = 16_384
BATCH = 512
SEED = 42


@dataclass(frozen=True)
class Clustering:
    """The figure of a clustering."""

    v_measure: Figure  # the V-measure, in [0, 1], or `Unavailable`


def clustering(
    vectors: Floats, labels: Sequence[str], *, texts: int = TEXTS, experiments: int = EXPERIMENTS, seed: int = SEED
) -> Clustering:
    """Cluster draws of texts, and average the V-measure.

    Args:
        vectors: (texts, dimension) float32, of any length.
        labels: The true cluster of each text, (texts,) str.
        texts: Size of a draw, at least 1; 16,384 in MTEB.
        experiments: Number of draws, at least 1; 10 in MTEB.
        seed: Of the draws and of k-means, from 0 to 2^32 - 1; 42 in MTEB.

    Returns:
        The mean, in [0, 1]; `Unavailable` if all texts have one label, there are more labels than texts of a draw, or a
        vector is not finite.

    Example:
        >>> clustering(np.repeat(np.eye(2, dtype=np.float32), 9, axis=0), ["cat"] * 9 + ["dog"] * 9, texts=100)
        Clustering(v_measure=1.0)

    Reference:
        Rosenberg and Hirschberg 2007, V-Measure: A Conditional Entropy-Based External Cluster Evaluation Measure,
        https://aclanthology.org/D07-1043/; mini-batch k-means: Sculley 2010, Web-Scale K-Means Clustering,
        https://doi.org/10.1145/1772690.1772862
    """
    if unavailable := _why_unavailable(vectors, labels, texts):
        return Clustering(unavailable)
    from sklearn.cluster import MiniBatchKMeans  # these take a second, and only such sets need them
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import v_measure_score

    # MTEB's own order of draws, by Python's generator.
    draw, names = random.Random(seed), np.asarray(labels)
    model = MiniBatchKMeans(len(set(labels)), init="k-means++", n_init=1, batch_size=BATCH, random_state=seed)
    values = []
    for _ in range(experiments):
        rows = draw.choices(range(len(labels)), k=texts)
        with warnings.catch_warnings(), threadpool_limits(1):  # threads cost more than batches of 512 take
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than labels: a low V says so
            values.append(v_measure_score(names[rows], model.fit_predict(vectors[rows])))
    return Clustering(float(np.mean(values)))


def _why_unavailable(vectors: Floats, labels: Sequence[str], texts: int) -> Unavailable | None:
    clusters = len(set(labels))
    if clusters < 2:
        return Unavailable("all documents have one label")
    if clusters > texts:
        return Unavailable(f"{clusters} labels, but a draw has {texts} texts")
    if not np.isfinite(vectors).all():
        return Unavailable("some vectors are not finite")
    return None
