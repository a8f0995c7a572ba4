"""Sentiment of documents from their embeddings: a linear classifier by stochastic gradient descent (paper 1, table 3).

The classifier is scikit-learn's SGDClassifier with its defaults, a linear support vector machine. Dense features are
scaled to mean 0 and variance 1 on the training documents.

    precision = TP / (TP + FP)      recall = TP / (TP + FN)      F1 = 2 precision recall / (precision + recall)

with the positive reviews, label 1, as the class to find. Its features are a system's own mean, or its tokens:

    sgd          the system's own mean over the document, (documents, dimension)
    sgd+tokens   for a table of token vectors: the count of each token in the document, times the length of its
                 vector, (documents, vocabulary), rows of unit length; the mean before its sum is taken

In a mean of 300 words, little is left of the few words that distinguish a good review from a bad one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sentence_distillery.benchmarks.data import DocumentSet
from sentence_distillery.benchmarks.metrics import Figure
from sentence_distillery.evaluation.systems import StudentSystem, System, WordSystem
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PROTOCOL = "sgd"
TOKENS = "sgd+tokens"
POSITIVE = "1"
CHUNK = 1_000  # documents whose tokens are in memory
SENTIMENT_METRICS = ("precision", "recall", "f1")


def sample(documents: DocumentSet, limit: int, seed: int) -> DocumentSet:
    """Draw at most `limit` documents at random; they keep their order."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(documents.texts))[:limit]).tolist()
    texts, labels = ([column[row] for row in rows] for column in (documents.texts, documents.labels))
    return replace(documents, texts=texts, labels=labels)


def classify(
    train: "Floats | csr_array", train_labels: list[str], test: "Floats | csr_array", test_labels: list[str], seed: int
) -> dict[str, Figure]:
    """Fit on the training documents, and score on the test documents.

    Args:
        train: (documents, features), dense or sparse; dense features are scaled.
        train_labels: One label for each row; POSITIVE is the class to find.
        test: (documents, features), of the same kind.
        test_labels: One label for each row.
        seed: Of the classifier's order of documents.

    Returns:
        Precision, recall and F1 in [0, 1]; `Unavailable` if a split has one class only.
    """
    for name, labels in (("training", train_labels), ("test", test_labels)):
        if len(set(labels)) < 2:
            reason = Unavailable(f"all {name} documents have one label")
            return dict.fromkeys(SENTIMENT_METRICS, reason)
    from sklearn.linear_model import SGDClassifier  # takes a second, and only sets of documents need it
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    linear = SGDClassifier(random_state=seed)
    classifier = make_pipeline(StandardScaler(), linear) if isinstance(train, np.ndarray) else linear
    predicted = classifier.fit(train, train_labels).predict(test)
    figures = precision_recall_fscore_support(
        test_labels, predicted, pos_label=POSITIVE, average="binary", zero_division=0.0
    )
    return dict(zip(SENTIMENT_METRICS, map(float, figures), strict=False))


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
