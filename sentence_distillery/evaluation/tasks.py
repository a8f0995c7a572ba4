"""One way to score an encoder on a set: its type of task says which texts are embedded, and how the vectors are scored.

    type of task          protocols                  figures
    sts                   mean                       Pearson, Spearman, MAE on 0-5
    pair_classification   cosine                     average precision; accuracy and F1 of the best threshold
    classification        few-shot, full             accuracy, macro-F1 of a logistic regression
                          sgd                        precision, recall, F1 of paper 1's classifier
    clustering            k-means                    V-measure
    retrieval             search                     nDCG@10, recall@100, MAP
    reranking             rerank                     MAP, MRR

The figures are computed in the folder `protocols`, where each equals MTEB's. A protocol is a function of the
vectors of a set, so that those of one task embed its texts once. Adding one is adding an entry to TASKS.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols import intervals as bootstrap
from sentence_distillery.evaluation.protocols.classification import Classification, Labelled, few_shot, full
from sentence_distillery.evaluation.protocols.clustering import Clustering, clustering
from sentence_distillery.evaluation.protocols.metrics import cosines, similarity_figures
from sentence_distillery.evaluation.protocols.pair_classification import (
    PairClassification,
    pair_classification,
    precisions_of_draws,
)
from sentence_distillery.evaluation.protocols.reranking import Reranking, reranking
from sentence_distillery.evaluation.protocols.retrieval import Retrieval, retrieval
from sentence_distillery.evaluation.protocols.sgd import PROTOCOL as SGD
from sentence_distillery.evaluation.protocols.sgd import SENTIMENT_METRICS, classify
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, PairSet, QuerySet, Split, TaskType
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

SEED = 1  # of the SGD classifier's order of documents
POSITIVE, NEGATIVE = "1", "0"

Embed = Callable[[list[str]], Floats]  # (texts, dimension) float32
Two = tuple[Floats, Floats]
Documents = tuple[DocumentSet, DocumentSet]  # to train a classifier on, and to test it on
Texts = PairSet | Documents | DocumentSet | QuerySet
Row = tuple[str, str, str, str, Figure, int]  # dataset, split, protocol, metric, value, n
Draw = Callable[[], Floats]  # the figure of each draw of a bootstrap, (draws,)


@dataclass(frozen=True, eq=False)
class TaskSet:
    """One split of a set, and how it is scored.

    Attributes:
        type: The type of task.
        texts: What is embedded: two DocumentSets for classification, one for clustering.
        protocols: Names of protocols of this type; empty for MTEB's.

    Example:
        >>> task = TaskSet("clustering", DocumentSet("mine", "test", ["A cat.", "A bank."], ["animal", "money"]))
        >>> list(task.all_texts()), task.size, task.columns
        (['A cat.', 'A bank.'], 2, [('k-means', 'v_measure')])
    """

    type: TaskType
    texts: Texts
    protocols: tuple[str, ...] = ()

    @property
    def tested(self) -> DocumentSet | PairSet | QuerySet:
        """The texts that the figures are on."""
        return self.texts[1] if isinstance(self.texts, tuple) else self.texts

    def all_texts(self) -> Iterator[str]:
        """List the texts that are embedded.

        Yields:
            Each text: both sides of pairs, the documents, or the queries and their documents.
        """
        for part in self.texts if isinstance(self.texts, tuple) else (self.texts,):
            match part:
                case PairSet():
                    yield from (*part.sentences1, *part.sentences2)
                case DocumentSet():
                    yield from part.texts
                case QuerySet():
                    yield from (*part.queries, *part.documents)

    @property
    def chosen(self) -> list[tuple[str, "Protocol"]]:
        """The protocols by which it is scored, with their names."""
        known = TASKS[self.type].protocols
        names = self.protocols or [name for name, protocol in known.items() if protocol.standard]
        return [(name, known[name]) for name in names]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The protocol and the metric of each figure, in order."""
        return [(name, metric) for name, protocol in self.chosen for metric in protocol.metrics]

    @property
    def size(self) -> int:
        """The number of pairs, test documents or judged queries behind a figure."""
        match self.tested:
            case PairSet() as pairs:
                return len(pairs.sentences1)
            case DocumentSet() as documents:
                return len(documents.texts)
            case QuerySet() as queries:
                return len(np.unique(queries.judgements.query))


@dataclass(frozen=True)
class Scored:
    """Figures by name; the main one of most protocols can be drawn again, for its interval."""

    figures: Mapping[str, Figure]
    draws: Mapping[str, Draw] = field(default_factory=dict)


@dataclass(frozen=True)
class Protocol:
    """Figures of the vectors of a set.

    Attributes:
        metrics: The names of the figures, in order.
        score: A function from the vectors and the texts of a set to the figures.
        standard: Whether a set of this type has it unless it names others.
    """

    metrics: tuple[str, ...]
    score: Callable[[Any, Any], Scored]
    standard: bool = True


@dataclass(frozen=True)
class TaskKind:
    """A type of task.

    Attributes:
        embed: A function from an encoder and the texts of a set to their vectors.
        protocols: The protocols by name.
    """

    embed: Callable[[Embed, Any], Any]
    protocols: Mapping[str, Protocol]


def figures(embed: Embed, task: TaskSet) -> Iterator[Row]:
    """Score an encoder on a set.

    Args:
        embed: A function from a list of texts to (texts, dimension) float32, of any length.
        task: The set.

    Yields:
        Dataset, split, protocol, metric, value and n of each figure, protocol by protocol. Pearson and Spearman are in
        [-1, 1], MAE in [0, 5], all others in [0, 1].

    Raises:
        InputError: If ratings or labels do not fit the texts.
        ImportError: If a classifier or a clustering is asked for, and scikit-learn is not installed.

    Example:
        >>> pairs = PairSet("mine", "test", ["1 0", "1 0"], ["1 0", "1 5"], None, ["1", "0"], None)
        >>> embed = lambda texts: np.array([text.split() for text in texts], np.float32)
        >>> for row in figures(embed, own_task(pairs)):
        ...     print(*row)
        mine test cosine ap 1.0 2
        mine test cosine accuracy 1.0 2
        mine test cosine f1 1.0 2

    Reference:
        Muennighoff, Tazi, Magne and Reimers 2023, MTEB: Massive Text Embedding Benchmark,
        https://arxiv.org/abs/2210.07316
    """
    yield from (row for row, _ in figures_with_draws(embed, task))


def figures_with_draws(embed: Embed, task: TaskSet) -> Iterator[tuple[Row, Draw | None]]:
    """Score an encoder on a set, as `figures`, for intervals.

    Args:
        embed: As of `figures`.
        task: The set.

    Yields:
        Each row of `figures`; and for the main figure of its protocol, if it is a number, a function that computes it
        for each of 2,000 draws of pairs, test texts or queries: (draws,), NaN where a draw has no figure. They are
        Spearman, average precision, the accuracy of `full`, nDCG@10 and the MAP of `rerank`.

    Raises:
        InputError: As of `figures`.
        ImportError: As of `figures`.

    Example:
        >>> pairs = PairSet("mine", "test", ["1 0", "1 0"], ["1 0", "1 5"], None, ["1", "0"], None)
        >>> embed = lambda texts: np.array([text.split() for text in texts], np.float32)
        >>> [draw().shape for _, draw in figures_with_draws(embed, own_task(pairs)) if draw]
        [(2000,)]

    Reference:
        Efron 1979, Bootstrap Methods: Another Look at the Jackknife, https://doi.org/10.1214/aos/1176344552
    """
    check(task)
    vectors = TASKS[task.type].embed(embed, task.texts)
    for name, protocol in task.chosen:
        try:
            found = protocol.score(vectors, task.texts)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"Protocol '{name}' of {task.tested.name} needs {error.name}; "
                "run `pip install 'sentence-distillery[distill]'`."
            ) from error
        for metric in protocol.metrics:
            value = found.figures[metric]
            draw = None if isinstance(value, Unavailable) else found.draws.get(metric)
            yield (task.tested.name, task.tested.split, name, metric, value, task.size), draw


def read_task(data: BenchmarkData, name: str, split: Split) -> TaskSet:
    """Read one split of a set by its name.

    Args:
        data: The benchmark sets.
        name: The set.
        split: The split to score on, "train", "dev" or "test"; a classifier also gets the split train.

    Returns:
        The set with its type of task.

    Raises:
        InputError: If the set is absent, with the remedy, or has no such split.

    Example:
        >>> from pathlib import Path
        >>> read_task(BenchmarkData(Path("data/benchmarks")), "samples_reviews", "test").columns
        [('sgd', 'precision'), ('sgd', 'recall'), ('sgd', 'f1')]
    """
    kind, protocols = data.task(name)
    match kind:
        case "sts" | "pair_classification":
            return TaskSet(kind, data.pairs(name, split), protocols)
        case "classification":
            return TaskSet(kind, (data.documents(name, "train"), data.documents(name, split)), protocols)
        case "clustering":
            return TaskSet(kind, data.documents(name, split), protocols)
        case "retrieval" | "reranking":
            return TaskSet(kind, data.queries(name, split), protocols)


def own_task(texts: Texts) -> TaskSet:
    """Choose the type of task of a set by its form.

    Pairs with labels 0 and 1 but no scores are a pair classification, other pairs are rated. Two DocumentSets are
    classified: with labels 0 and 1 by the SGD classifier, which finds label 1, with any others as MTEB does. One
    DocumentSet is clustered; queries are searched for, or rerank their judged documents.

    Args:
        texts: A PairSet, a DocumentSet, two DocumentSets (train and test), or a QuerySet.

    Returns:
        The set with its type of task.

    Example:
        >>> own_task(DocumentSet("mine", "test", ["A cat."], ["animal"])).type
        'clustering'
    """
    match texts:
        case PairSet():
            labelled = texts.scores is None and texts.labels and set(texts.labels) == {NEGATIVE, POSITIVE}
            return TaskSet("pair_classification" if labelled else "sts", texts)
        case DocumentSet():
            return TaskSet("clustering", texts)
        case QuerySet():
            return TaskSet("reranking" if texts.judged_only else "retrieval", texts)
        case (train, test):
            binary = {*train.labels, *test.labels} <= {NEGATIVE, POSITIVE}
            return TaskSet("classification", texts, (SGD,) if binary else ())


def check(task: TaskSet) -> None:
    """Check that the columns of a set fit each other, and that it has the scores or labels of its type of task.

    Args:
        task: The set.

    Raises:
        InputError: If they do not fit.

    Example:
        >>> check(TaskSet("clustering", DocumentSet("mine", "test", ["A cat.", "A bank."], ["animal"])))
        Traceback (most recent call last):
        sentence_distillery.io.errors.InputError: Set 'mine' has 2 texts and 1 labels.
    """
    match task.texts:
        case PairSet() as pairs if task.type == "sts":
            checked_scores(pairs)
        case PairSet() as pairs:
            _check_pairs(pairs, pairs.labels, "labels")
            if unknown := sorted(set(pairs.labels or ()) - {NEGATIVE, POSITIVE}):
                raise InputError(f"Set '{pairs.name}' has the label {unknown[0]!r}; pairs are classified as 0 or 1.")
        case QuerySet() as queries:
            if len(queries.documents) != len(queries.ids):
                raise InputError(
                    f"Set '{queries.name}' has {len(queries.documents)} documents, {len(queries.ids)} ids."
                )
        case both:
            for part in both if isinstance(both, tuple) else (both,):
                if len(part.texts) != len(part.labels):
                    raise InputError(f"Set '{part.name}' has {len(part.texts)} texts and {len(part.labels)} labels.")


def checked_scores(pairs: PairSet) -> tuple[Floats, tuple[float, float]]:
    """Return the scores of pairs and their scale.

    Args:
        pairs: The pairs.

    Returns:
        The scores, (pairs,) float32 on their scale, and the lowest and the highest possible score.

    Raises:
        InputError: If there are no scores or no scale, or a score is outside the scale.

    Example:
        >>> pairs = PairSet("mine", "test", ["A cat."], ["A kitten."], np.array([4], np.float32), None, (0.0, 5.0))
        >>> checked_scores(pairs)
        (array([4.], dtype=float32), (0.0, 5.0))
    """
    name = f"Set '{pairs.name}'"
    if pairs.scores is None or pairs.scale is None:
        raise InputError(f"{name} has no scores with a scale, so cosines cannot be compared; use a set with scores.")
    scores, (low, high) = np.asarray(pairs.scores, dtype=np.float32), pairs.scale
    _check_pairs(pairs, scores, "scores")
    if not low < high:
        raise InputError(f"{name} has the scale {low:g} to {high:g}; give the lowest and then the highest score.")
    outside = np.flatnonzero(~((scores >= np.float32(low)) & (scores <= np.float32(high))))
    if len(outside):
        value = scores[outside[0]]
        raise InputError(f"{name}: pair {outside[0]} (from 0) has the score {value:g}, outside {low:g} to {high:g}.")
    return scores, (low, high)


def _check_pairs(pairs: PairSet, values: Any, what: str) -> None:
    """Raise InputError unless both sides have a text for each of the values."""
    sizes = len(pairs.sentences1), len(pairs.sentences2), 0 if values is None else len(values)
    if len(set(sizes)) > 1:
        raise InputError(
            f"Set '{pairs.name}' has {sizes[0]} first sentences, {sizes[1]} second ones and {sizes[2]} {what}."
        )
    for side in (pairs.sentences1, pairs.sentences2):
        if wrong := [row for row, text in enumerate(side) if not isinstance(text, str)]:
            raise InputError(
                f"Set '{pairs.name}': pair {wrong[0]} (from 0) has {side[wrong[0]]!r} in place of a sentence."
            )


def _embed_pairs(embed: Embed, pairs: PairSet) -> Two:
    """Embed each distinct text once: many sentences are in several pairs."""
    texts = list(dict.fromkeys([*pairs.sentences1, *pairs.sentences2]))
    place = {text: row for row, text in enumerate(texts)}
    vectors = embed(texts)
    left, right = (vectors[[place[text] for text in side]] for side in (pairs.sentences1, pairs.sentences2))
    return left, right


def _embed_classes(embed: Embed, texts: Documents) -> Two:
    train, test = texts
    return embed(train.texts), embed(test.texts)


def _embed_documents(embed: Embed, texts: DocumentSet) -> Floats:
    return embed(texts.texts)


def _embed_queries(embed: Embed, texts: QuerySet) -> Two:
    return embed(texts.queries), embed(texts.documents)


def _similarity(vectors: Two, pairs: PairSet) -> Scored:
    predicted, (scores, scale) = cosines(*vectors), checked_scores(pairs)

    def spearman() -> Floats:
        from scipy.stats import rankdata  # takes a second, needed only to correlate

        ranks = rankdata(predicted), rankdata(scores)  # those of all pairs, in every draw
        return bootstrap.of_draws(lambda drawn: bootstrap.pearson(*ranks, drawn), len(scores))

    return Scored(similarity_figures(predicted, scores, scale), {"spearman": spearman})


def _pair_classification(vectors: Two, pairs: PairSet) -> Scored:
    positive = np.array([label == POSITIVE for label in pairs.labels or ()], dtype=bool)

    def ap() -> Floats:
        predicted = cosines(*vectors)
        return bootstrap.of_draws(lambda drawn: precisions_of_draws(predicted, positive, drawn), len(positive))

    return Scored(vars(pair_classification(*vectors, positive)), {"ap": ap})


def _few_shot(vectors: Two, texts: Documents) -> Scored:
    return Scored(vars(few_shot(*_labelled(vectors, texts))))


def _full(vectors: Two, texts: Documents) -> Scored:
    found = full(*_labelled(vectors, texts))
    return Scored(vars(found), _means("accuracy", found.right))


def _labelled(vectors: Two, texts: Documents) -> tuple[Labelled, Labelled]:
    return Labelled(vectors[0], texts[0].labels), Labelled(vectors[1], texts[1].labels)


def _sgd(vectors: Two, texts: Documents) -> Scored:
    train, test = texts
    return Scored(classify(vectors[0], train.labels, vectors[1], test.labels, SEED))


def _clustering(vectors: Floats, texts: DocumentSet) -> Scored:
    return Scored(vars(clustering(vectors, texts.labels)))


def _retrieval(vectors: Two, texts: QuerySet) -> Scored:
    found = retrieval(*vectors, texts.ids, texts.judgements)
    return Scored(vars(found), _means("ndcg_at_10", found.ranked.ndcg_at_10 if found.ranked else None))


def _reranking(vectors: Two, texts: QuerySet) -> Scored:
    found = reranking(*vectors, texts.ids, texts.judgements)
    return Scored(vars(found), _means("map", found.ranked.ap if found.ranked else None))


def _means(metric: str, values: NDArray[Any] | None) -> dict[str, Draw]:
    """Return the draws of a mean over (items,) values."""
    if values is None:
        return {}
    items = values.astype(np.float32)
    return {metric: lambda: bootstrap.of_draws(lambda drawn: bootstrap.means(items, drawn), len(items))}


def _names(result: type) -> tuple[str, ...]:
    """Return the names of a protocol's figures; a field that is not compared holds the numbers behind them."""
    return tuple(field.name for field in fields(result) if field.compare)


TASKS: dict[TaskType, TaskKind] = {
    "sts": TaskKind(_embed_pairs, {"mean": Protocol(("pearson", "spearman", "mae"), _similarity)}),
    "pair_classification": TaskKind(
        _embed_pairs, {"cosine": Protocol(_names(PairClassification), _pair_classification)}
    ),
    "classification": TaskKind(
        _embed_classes,
        {
            "few-shot": Protocol(_names(Classification), _few_shot),
            "full": Protocol(_names(Classification), _full),
            SGD: Protocol(SENTIMENT_METRICS, _sgd, standard=False),
        },
    ),
    "clustering": TaskKind(_embed_documents, {"k-means": Protocol(_names(Clustering), _clustering)}),
    "retrieval": TaskKind(_embed_queries, {"search": Protocol(_names(Retrieval), _retrieval)}),
    "reranking": TaskKind(
        _embed_queries,
        {
            "rerank": Protocol(_names(Reranking), _reranking),
            "search": Protocol(_names(Retrieval), _retrieval, standard=False),
        },
    ),
}
