"""Sentiment of documents from their embeddings: a linear classifier by stochastic gradient descent (paper 1, table 3).

The classifier is scikit-learn's SGDClassifier as it comes, a linear support vector machine, on one of two features:

    sgd          the system's own mean over the document, scaled to mean 0 and variance 1 on the training documents
    sgd+tokens   for a table of token vectors: how often each token stands in the document, times the length of its
                 vector, (documents, vocabulary), rows of unit length; the mean before its sum is taken

A mean of 300 words has little left of the few that tell a good review from a bad one.

    precision = TP / (TP + FP)      recall = TP / (TP + FN)      F1 = 2 precision recall / (precision + recall)

with the positive reviews, label 1, as the class that is sought.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from sentence_distillery.benchmarks.data import DocumentSet
from sentence_distillery.benchmarks.metrics import Figure, Undefined
from sentence_distillery.evaluation.systems import StudentSystem, System, WordSystem
from sentence_distillery.io.ragged import Floats

PROTOCOL = "sgd"
TOKENS = "sgd+tokens"
POSITIVE = "1"
CHUNK = 1_000  # documents whose tokens are in memory


def sample(documents: DocumentSet, limit: int, seed: int) -> DocumentSet:
    """At most `limit` documents, drawn at random, in their order."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(documents.texts))[:limit]).tolist()
    texts, labels = ([column[row] for row in rows] for column in (documents.texts, documents.labels))
    return replace(documents, texts=texts, labels=labels)


def features(system: System, texts: list[str], protocol: str = PROTOCOL) -> Floats | csr_array:
    """(documents, dimension) float32, or (documents, vocabulary) sparse."""
    if protocol == TOKENS:
        assert isinstance(system, WordSystem | StudentSystem)
        return token_features(system, texts)
    return means(system, texts)


def means(system: System, texts: list[str]) -> Floats:
    """The system's own mean over each document, (documents, dimension)."""
    chunks = (texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK))
    return np.concatenate([system.pool(system.token_ids(chunk), [None])[0] for chunk in chunks])


def token_features(system: WordSystem | StudentSystem, texts: list[str]) -> csr_array:
    """Tokens counted by the length of their vectors, (documents, vocabulary), rows of unit length."""
    tokens, lengths = system.token_ids(texts), system.lengths
    counted = csr_array(
        (lengths[tokens.ids], tokens.ids, tokens.offsets.astype(np.int32)), shape=(len(tokens), len(lengths))
    )
    counted.sum_duplicates()
    return csr_array(normalize(counted))


def classify(
    train: Floats | csr_array, train_labels: list[str], test: Floats | csr_array, test_labels: list[str], seed: int
) -> dict[str, Figure]:
    """Precision, recall and F1 on the test documents; undefined, with the reason, where a split has one class only.

    Dense features are scaled, sparse ones are taken as they are.
    """
    for name, labels in (("training", train_labels), ("test", test_labels)):
        if len(set(labels)) < 2:
            reason = Undefined(f"all {name} documents have one label")
            return dict.fromkeys(("precision", "recall", "f1"), reason)
    linear = SGDClassifier(random_state=seed)
    classifier = make_pipeline(StandardScaler(), linear) if isinstance(train, np.ndarray) else linear
    predicted = classifier.fit(train, train_labels).predict(test)
    figures = precision_recall_fscore_support(
        test_labels, predicted, pos_label=POSITIVE, average="binary", zero_division=0.0
    )
    return dict(zip(("precision", "recall", "f1"), map(float, figures), strict=False))
