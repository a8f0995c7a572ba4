"""Sentiment by a linear classifier on embeddings, trained by stochastic gradient descent (paper 1, table 3).

The classifier is scikit-learn's SGDClassifier with its defaults, a linear support vector machine. Dense features are
scaled to mean 0 and variance 1 on the training documents.

    precision = TP / (TP + FP)      recall = TP / (TP + FN)      F1 = 2 precision recall / (precision + recall)

with the positive reviews, label 1, as the class to find.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sentence_distillery.evaluation.protocols.classification import FEW_TEXTS
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PROTOCOL = "sgd"
NEGATIVE, POSITIVE = "0", "1"
SENTIMENT_METRICS = ("precision", "recall", "f1")


def classify(
    train: "Floats | csr_array", train_labels: list[str], test: "Floats | csr_array", test_labels: list[str], seed: int
) -> dict[str, Figure]:
    """Fit on the training documents, and score on the test documents.

    Args:
        train: (documents, features) float32, dense or sparse; dense features are scaled.
        train_labels: One label for each row, (documents,) str; POSITIVE, which is "1", is the class to find.
        test: (documents, features) float32, of the same kind.
        test_labels: One label for each row, (documents,) str.
        seed: Of the classifier's order of documents, from 0 to 2^32 - 1.

    Returns:
        "precision", "recall" and "f1" in [0, 1]; `Unavailable` if a split has one class only, a label is neither "1"
        nor "0", or a feature is not finite.

    Example:
        >>> documents, labels = np.repeat(np.eye(2, dtype=np.float32), 9, axis=0), ["1"] * 9 + ["0"] * 9
        >>> classify(documents, labels, documents, labels, seed=1)
        {'precision': 1.0, 'recall': 1.0, 'f1': 1.0}

    Reference:
        Han and Yang 2024, Sentence Embedding Generation Framework Based on Kullback-Leibler Divergence Optimization
        and RoBERTa Knowledge Distillation, https://doi.org/10.3390/math12243990
    """
    return classified(train, train_labels, test, test_labels, seed)[0]


def classified(
    train: "Floats | csr_array", train_labels: list[str], test: "Floats | csr_array", test_labels: list[str], seed: int
) -> tuple[dict[str, Figure], list[str]]:
    """Fit and score as `classify`, and return the label of each test document, too; none if there is no figure."""
    if unavailable := _why_unavailable((train, test), (train_labels, test_labels)):
        return dict.fromkeys(SENTIMENT_METRICS, unavailable), []
    from sklearn.linear_model import SGDClassifier  # takes a second, and only sets of documents need it
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Sparse features are left as they are: to centre them would make them dense.
    linear = SGDClassifier(random_state=seed)
    classifier = make_pipeline(StandardScaler(), linear) if isinstance(train, np.ndarray) else linear
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", FEW_TEXTS)
        predicted = classifier.fit(train, train_labels).predict(test).tolist()
        figures = precision_recall_fscore_support(
            test_labels, predicted, pos_label=POSITIVE, average="binary", zero_division=0.0
        )
    return dict(zip(SENTIMENT_METRICS, map(float, figures), strict=False)), predicted


def figures_of_draws(labels: list[str], predicted: list[str], drawn: Floats) -> Floats:
    """Compute precision, recall and F1 of test documents in each draw, (draws, 3) float32 in [0, 1].

    They are NaN if all documents of the draw have one label. `drawn` says how often each document is in each draw,
    (draws, documents) float32.
    """
    positive, found = (np.array([label == POSITIVE for label in each], np.float32) for each in (labels, predicted))
    hits, true, given = (drawn @ each for each in (positive * found, positive, found))
    shares = [hits / np.maximum(given, 1), hits / np.maximum(true, 1), 2 * hits / np.maximum(true + given, 1)]

    # As in `classify`: with one label there is nothing to find.
    known = (true > 0) & (true < drawn.sum(axis=1))
    return np.where(known[:, None], np.stack(shares, axis=1), np.nan).astype(np.float32)


def _why_unavailable(
    features: "Sequence[Floats | csr_array]", labels: tuple[list[str], list[str]]
) -> Unavailable | None:
    for name, each in zip(("training", "test"), labels, strict=True):
        if len(set(each)) < 2:
            return Unavailable(f"all {name} documents have one label")
        if other := sorted(set(each) - {NEGATIVE, POSITIVE}):
            return Unavailable(f"the label {other[0]!r} is neither {NEGATIVE} nor {POSITIVE}")
    if not all(np.isfinite(each if isinstance(each, np.ndarray) else each.data).all() for each in features):
        return Unavailable("some vectors are not finite")
    return None
