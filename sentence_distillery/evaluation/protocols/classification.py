"""Classification: logistic regression on the embeddings of labelled texts.

    few-shot    ten classifiers, each trained on 8 examples of each label; the mean of their figures (MTEB)
    full        one classifier, trained on all examples

Both are scikit-learn's LogisticRegression with at most 100 iterations, on the vectors as they are, as MTEB's task type
Classification has it. Its draws are repeated exactly: before each experiment the rows, in the order that the one before
left them in, are shuffled by a generator that starts from the same seed, and the first 8 of each label are taken.

    macro-F1 = the mean over the labels of 2 precision recall / (precision + recall)
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

EXPERIMENTS = 10
SAMPLES = 8  # of each label
SEED = 42
ITERATIONS = 100
FEW_TEXTS = "The number of unique classes is greater than 50%"  # a warning of scikit-learn: the labels may be numbers


@dataclass(frozen=True)
class Classification:
    """The figures of a classifier on the test texts, in [0, 1], or `Unavailable`; `f1` is the macro-F1.

    `predicted` is the label that each classifier gave each test text, for a bootstrap; empty if there is no figure.
    """

    accuracy: Figure
    f1: Figure
    predicted: tuple[list[str], ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Vectors, (texts, dimension) float32, with a label for each."""

    vectors: Floats
    labels: Sequence[str]


def few_shot(
    train: Labelled, test: Labelled, *, samples: int = SAMPLES, experiments: int = EXPERIMENTS, seed: int = SEED
) -> Classification:
    """Train on few examples of each label, several times, and average the figures on the test texts.

    Args:
        train: The texts to draw examples from; of a label with fewer than `samples`, all are taken.
        test: The texts to classify.
        samples: Examples of each label, at least 1; 8 in MTEB.
        experiments: Number of draws, at least 1; 10 in MTEB.
        seed: Of the draws and the classifier, from 0 to 2^32 - 1; 42 in MTEB.

    Returns:
        The means, in [0, 1]; `Unavailable` if the training texts have one label, or a vector is not finite.

    Example:
        >>> texts = Labelled(np.repeat(np.eye(2, dtype=np.float32), 20, axis=0), ["cat"] * 20 + ["dog"] * 20)
        >>> few_shot(texts, texts)
        Classification(accuracy=1.0, f1=1.0)

    Reference:
        Muennighoff, Tazi, Magne and Reimers 2023, MTEB: Massive Text Embedding Benchmark,
        https://arxiv.org/abs/2210.07316
    """
    return _scored(train, draws(train.labels, samples, experiments, seed), test, seed)


def full(train: Labelled, test: Labelled, *, seed: int = SEED) -> Classification:
    """Train on all examples; arguments and figures as of `few_shot`.

    Reference:
        Conneau and Kiela 2018, SentEval: An Evaluation Toolkit for Universal Sentence Representations,
        https://aclanthology.org/L18-1269/
    """
    return _scored(train, [list(range(len(train.labels)))], test, seed)


def draws(labels: Sequence[str], samples: int, experiments: int, seed: int) -> Iterator[list[int]]:
    """Yield the rows of the training examples of each experiment, as MTEB draws them; of a rare label, all are drawn.

    Example:
        >>> [len(rows) for rows in draws(["cat"] * 9 + ["dog"], samples=2, experiments=3, seed=42)]
        [3, 3, 3]
    """
    rows = list(range(len(labels)))
    for _ in range(experiments):
        np.random.RandomState(seed).shuffle(rows)

        # Shuffled again from where the last experiment left the rows, as MTEB does.
        taken: Counter[str] = Counter()
        drawn = []
        for row in rows:
            if taken[labels[row]] < samples:
                taken[labels[row]] += 1
                drawn.append(row)
        yield drawn


def _scored(train: Labelled, experiments: Iterable[list[int]], test: Labelled, seed: int) -> Classification:
    """Train a classifier on the rows of each experiment, and average their figures on the test texts."""
    if unavailable := _why_unavailable(train, test):
        return Classification(unavailable, unavailable)
    from sklearn.metrics import accuracy_score, f1_score

    expected = list(test.labels)
    predicted = tuple(_predictions(train, rows, test.vectors, seed) for rows in experiments)

    # Labels may be nearly as many as texts, of which scikit-learn warns.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", FEW_TEXTS)
        figures = [(accuracy_score(expected, each), f1_score(expected, each, average="macro")) for each in predicted]
    accuracy, f1 = np.mean(figures, axis=0).tolist()
    return Classification(accuracy, f1, predicted)


def figures_of_draws(expected: Sequence[str], predicted: Sequence[Sequence[str]], drawn: Floats) -> Floats:
    """Compute the figures of test texts that are drawn again and again.

    `expected` has the label of each text, `predicted` those that each classifier gave, (classifiers, texts), and
    `drawn` how often each text is in each draw, (draws, texts). Returns accuracy and macro-F1 of each draw, the means
    of the classifiers, (draws, 2) float32 in [0, 1]. Macro-F1 is over the labels that a draw has or a classifier gives
    there.
    """
    names, codes = np.unique([expected, *predicted], return_inverse=True)
    one_hot = np.eye(len(names), dtype=np.float32)[codes.reshape(-1, len(expected))]
    true, total, found = drawn @ one_hot[0], drawn.sum(axis=1), np.zeros((len(drawn), 2))

    # Row 0 has the right labels, the others those of each classifier.
    for given in one_hot[1:]:
        hits, either = drawn @ (given * one_hot[0]), true + drawn @ given
        shares = np.divide(2 * hits, either, out=np.zeros_like(hits), where=either > 0)
        found += np.stack([hits.sum(axis=1) / total, shares.sum(axis=1) / (either > 0).sum(axis=1)], axis=1)
    return (found / len(predicted)).astype(np.float32)


def _predictions(train: Labelled, rows: list[int], vectors: Floats, seed: int) -> list[str]:
    """Train a classifier on some of the texts, and return a label for each of (texts, dimension) vectors."""
    from sklearn.exceptions import ConvergenceWarning  # these take a second, and only sets of labelled texts need them
    from sklearn.linear_model import LogisticRegression

    # MTEB's own settings, so that the figures are comparable.
    classifier = LogisticRegression(max_iter=ITERATIONS, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):  # threads cost more than such small problems take
        warnings.filterwarnings("ignore", FEW_TEXTS)
        warnings.simplefilter("ignore", ConvergenceWarning)  # 100 iterations are the protocol
        classifier.fit(train.vectors[rows], [train.labels[row] for row in rows])
        predicted: list[str] = classifier.predict(vectors).tolist()
    return predicted


def _why_unavailable(train: Labelled, test: Labelled) -> Unavailable | None:
    """Say why texts cannot be classified."""
    if not len(test.labels):
        return Unavailable("no test documents")
    if len(set(train.labels)) < 2:
        return Unavailable("all training documents have one label")
    if not (np.isfinite(train.vectors).all() and np.isfinite(test.vectors).all()):
        return Unavailable("some vectors are not finite")
    return None
