"""One way to score an encoder on a set: its type of task says which texts are embedded, and how the vectors are scored.

    type of task          protocols                  figures                                                 drawn again
    sts                   mean                       Pearson, Spearman, MAE on 0-5                           pairs
    pair_classification   cosine                     average precision; accuracy, F1 of the best threshold   pairs
    classification        few-shot, full             accuracy, macro-F1 of a logistic regression             test texts
                          sgd                        precision, recall, F1 of paper 1's classifier           test texts
    clustering            k-means                    V-measure                                               -
    retrieval             search                     nDCG@10, recall@100, MAP                                queries
    reranking             rerank                     MAP, MRR                                                queries

The figures are computed in the folder `protocols`, where each equals MTEB's. A protocol is a function of the
vectors of a set, so that those of one task embed its texts once. Adding one is adding an entry to TASKS.

Each figure but V-measure, the mean of ten clusterings of texts that are drawn already, can be computed again for draws
of what it is on: `scored` yields a `Measure`, which draws if it is asked for its interval.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any, Literal
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.protocols import classification as labels_of_texts
from sentence_distillery.evaluation.protocols import pair_classification as labels_of_pairs
from sentence_distillery.evaluation.protocols import sgd
from sentence_distillery.evaluation.protocols.classification import Classification, Labelled, few_shot, full
from sentence_distillery.evaluation.protocols.clustering import Clustering, clustering
from sentence_distillery.evaluation.protocols.pair_classification import PairClassification, pair_classification
from sentence_distillery.evaluation.protocols.reranking import Reranking, reranking
from sentence_distillery.evaluation.protocols.retrieval import Retrieval, retrieval
from sentence_distillery.evaluation.protocols.sgd import NEGATIVE, POSITIVE
from sentence_distillery.evaluation.protocols.similarity import as_printed, cosines, on_five, similarity_figures
from sentence_distillery.evaluation.results import Measure
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, PairSet, QuerySet, Split, TaskType
from sentence_distillery.evaluation.sets.records import SCORES, is_scale
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure

SEED = 1  # of the SGD classifier's order of documents

Two = tuple[Floats, Floats]
Documents = tuple[DocumentSet, DocumentSet]  # to train a classifier on, and to test it on
Texts = PairSet | Documents | DocumentSet | QuerySet
Role = Literal["query", "document"]
Draw = Callable[[], Floats]  # the figure of each draw of a bootstrap, (draws,)

MAIN: dict[TaskType, tuple[str, str]] = {  # the protocol and the metric that stand for a set
    "sts": ("mean", "spearman"),
    "pair_classification": ("cosine", "ap"),
    "classification": ("full", "accuracy"),
    "clustering": ("k-means", "v_measure"),
    "retrieval": ("search", "ndcg_at_10"),
    "reranking": ("search", "ndcg_at_10"),
}
# The column of `ranking.Ranked` whose mean over the queries is a figure.
RANKED = {"ndcg_at_10": "ndcg_at_10", "recall_at_100": "recall_at_100", "map": "ap", "mrr": "rr"}


class Embed(Interface):
    """Turns texts into (texts, dimension) float32; in a search it is told which of both they are."""

    def __call__(self, texts: list[str], role: Role | None = None, /) -> Floats: ...


@dataclass(frozen=True, eq=False)
class TaskSet:
    """One split of a set, and how it is scored.

    Example:
        >>> task = TaskSet("clustering", DocumentSet("mine", "test", ["A cat.", "A bank."], ["animal", "money"]))
        >>> list(task.all_texts()), task.size, task.columns
        (['A cat.', 'A bank.'], 2, [('k-means', 'v_measure')])
    """

    type: TaskType  # the type of task
    texts: Texts  # what is embedded: two DocumentSets for classification, one for clustering
    protocols: tuple[str, ...] = ()  # names of protocols of this type; empty for MTEB's

    @property
    def tested(self) -> DocumentSet | PairSet | QuerySet:
        """The texts that the figures are on."""
        return self.texts[1] if isinstance(self.texts, tuple) else self.texts

    @property
    def place(self) -> tuple[str, str]:
        """The name and the split of the set that the figures are on."""
        return self.tested.name, self.tested.split

    def all_texts(self) -> Iterator[str]:
        """Yield each text that is embedded: both sides of pairs, the documents, or the queries and their documents."""
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
    """Figures by name, and those that can be drawn again, for their intervals."""

    figures: Mapping[str, Figure]
    draws: Mapping[str, Draw] = field(default_factory=dict)


@dataclass(frozen=True)
class Protocol:
    """Figures of the vectors of a set."""

    metrics: tuple[str, ...]  # the names of the figures, in order
    score: Callable[[Any, Any], Scored]  # a function from the vectors and the texts of a set to the figures
    standard: bool = True  # whether a set of this type has it unless it names others


@dataclass(frozen=True)
class TaskKind:
    """A type of task: a function from an encoder and the texts of a set to their vectors, and the protocols by name."""

    embed: Callable[[Embed, Any], Any]
    protocols: Mapping[str, Protocol]


def scored(embed: Embed, task: TaskSet) -> Iterator[Measure]:
    """Score an encoder on a set; `embed` turns a list of texts into (texts, dimension) float32, of any length.

    Yields each figure, protocol by protocol: Pearson and Spearman in [-1, 1], MAE in [0, 5], all others in [0, 1]. All
    encoders have the same draws of a set, so the interval of a difference of two encoders is that of the differences of
    their draws (Efron 1979, https://doi.org/10.1214/aos/1176344552).

    Raises InputError if ratings or labels do not fit the texts, ImportError if scikit-learn is needed and not
    installed.
    """
    check(task)
    vectors = TASKS[task.type].embed(embed, task.texts)

    # All protocols of a set see the same vectors, so its texts are embedded once.
    for name, protocol in task.chosen:
        try:
            found = protocol.score(vectors, task.texts)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"Protocol '{name}' of {task.tested.name} needs {error.name}; "
                "run `pip install 'sentence-distillery[distill]'`."
            ) from error
        for metric in protocol.metrics:
            yield Measure(name, metric, found.figures[metric], task.size, found.draws.get(metric))


def read_task(data: BenchmarkData, name: str, split: Split) -> TaskSet:
    """Read one split of a set by its name; a classifier also gets the split train.

    Raises InputError, with the remedy, if the set is absent or has no such split.
    """
    kind, protocols = data.task(name)
    match kind:
        case "sts" | "pair_classification":
            return TaskSet(kind, data.pairs(name, split), protocols)
        # A classifier learns from train, whichever split it is scored on.
        case "classification":
            return TaskSet(kind, (data.documents(name, "train"), data.documents(name, split)), protocols)
        case "clustering":
            return TaskSet(kind, data.documents(name, split), protocols)
        case "retrieval" | "reranking":
            return TaskSet(kind, data.queries(name, split), protocols)


def own_tasks(data: BenchmarkData) -> list[TaskSet]:
    """Read the test split of each set of the user's own labels."""
    return [read_task(data, name, "test") for name in data.own()]


def own_task(texts: Texts) -> TaskSet:
    """Choose the type of task of a set by its form.

    Pairs with labels 0 and 1 but no scores are a pair classification, other pairs are rated. Two DocumentSets are
    classified: with labels 0 and 1 by the SGD classifier, which finds label 1, with any others as MTEB does. One
    DocumentSet is clustered; queries are searched for, or rerank their judged documents.
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
            # Paper 1 finds the positive reviews among those labelled 0 and 1.
            binary = {*train.labels, *test.labels} <= {NEGATIVE, POSITIVE}
            return TaskSet("classification", texts, (sgd.PROTOCOL,) if binary else ())


def check(task: TaskSet) -> None:
    """Raise InputError unless the columns of a set fit each other, and it has the scores or labels of its type."""
    match task.texts:
        case PairSet() as pairs if task.type == "sts":
            _checked_scores(pairs)
        case PairSet() as pairs:
            _check_pairs(pairs, pairs.labels, "labels")
            if unknown := sorted(set(pairs.labels or ()) - {NEGATIVE, POSITIVE}):
                raise InputError(f"Set '{pairs.name}' has the label {unknown[0]!r}; pairs are classified as 0 or 1.")
        case QuerySet() as queries:
            if len(queries.documents) != len(queries.ids):
                raise InputError(
                    f"Set '{queries.name}' has {len(queries.documents)} documents, {len(queries.ids)} ids."
                )
        # Texts with labels: those that are trained on and those that are scored, or the latter alone
        case both:
            for part in both if isinstance(both, tuple) else (both,):
                if len(part.texts) != len(part.labels):
                    raise InputError(f"Set '{part.name}' has {len(part.texts)} texts and {len(part.labels)} labels.")


def _checked_scores(pairs: PairSet) -> tuple[Floats, tuple[float, float]]:
    """Return the scores, (pairs,) float32, and their scale; raises InputError if they do not fit the pairs."""
    name = f"Set '{pairs.name}'"
    if pairs.scores is None or pairs.scale is None:
        raise InputError(f"{name} has no scores with a scale, so cosines cannot be compared; use a set with scores.")
    scores, (low, high) = np.asarray(pairs.scores, dtype=np.float32), pairs.scale
    _check_pairs(pairs, scores, "scores")
    if not is_scale(low, high):
        raise InputError(
            f"{name} has the scale {low:g} to {high:g}; give the lowest and then the highest score, within {SCORES}."
        )

    # In float32, as the scores are: 0.1 would be above a scale that ends at 0.1 in float64.
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
    return embed(texts.queries, "query"), embed(texts.documents, "document")


def _similarity(vectors: Two, pairs: PairSet) -> Scored:
    predicted, (scores, scale) = cosines(*vectors), _checked_scores(pairs)

    def spearman(drawn: Floats) -> Floats:
        from scipy.stats import rankdata  # takes a second, needed only to correlate

        return bootstrap.pearson(rankdata(predicted), rankdata(scores), drawn)  # the ranks of all pairs, in every draw

    # Drawn only if somebody asks for the interval.
    draws = {
        "pearson": _draw(partial(bootstrap.pearson, predicted, scores), len(scores)),
        "spearman": _draw(spearman, len(scores)),
        "mae": _mean(np.abs(as_printed(predicted) - on_five(scores, scale))),
    }
    return Scored(similarity_figures(predicted, scores, scale), draws)


def _pair_classification(vectors: Two, pairs: PairSet) -> Scored:
    positive = np.array([label == POSITIVE for label in pairs.labels or ()], dtype=bool)
    again = partial(labels_of_pairs.figures_of_draws, cosines(*vectors), positive)
    names = _names(PairClassification)
    return Scored(vars(pair_classification(*vectors, positive)), _columns(names, again, len(positive)))


def _classified(classify: Callable[[Labelled, Labelled], Classification], vectors: Two, texts: Documents) -> Scored:
    train, test = (Labelled(each, part.labels) for each, part in zip(vectors, texts, strict=True))
    found = classify(train, test)
    again = partial(labels_of_texts.figures_of_draws, test.labels, found.predicted)
    return Scored(vars(found), _columns(_names(Classification), again, len(test.labels)))


def _sgd(vectors: Two, texts: Documents) -> Scored:
    train, test = texts
    figures, predicted = sgd.classified(vectors[0], train.labels, vectors[1], test.labels, SEED)
    again = partial(sgd.figures_of_draws, test.labels, predicted)
    return Scored(figures, _columns(sgd.SENTIMENT_METRICS, again, len(test.labels)))


def _clustering(vectors: Floats, texts: DocumentSet) -> Scored:
    return Scored(vars(clustering(vectors, texts.labels)))


def _ranked(rank: Callable[..., Retrieval | Reranking], vectors: Two, texts: QuerySet) -> Scored:
    found = rank(*vectors, texts.ids, texts.judgements)
    draws = {metric: _mean(getattr(found.ranked, column)) for metric, column in RANKED.items()} if found.ranked else {}
    return Scored(vars(found), draws)


def _columns(metrics: tuple[str, ...], again: Callable[[Floats], Floats], size: int) -> dict[str, Draw]:
    """Return the draws of each metric, a column of what `again` computes; it is computed once for all of them."""
    # One draw gives all figures of a protocol, so it is not made again for each.
    found = cache(_draw(again, size))
    return {metric: partial(lambda column: found()[:, column], column) for column, metric in enumerate(metrics)}


def _mean(values: NDArray[Any]) -> Draw:
    """Return the draws of a mean over (items,) values."""
    return _draw(partial(bootstrap.means, values.astype(np.float32)), len(values))


def _draw(figure: Callable[[Floats], Floats], size: int) -> Draw:
    """Return a function that computes a figure for each draw of `size` items."""
    return partial(bootstrap.of_draws, figure, size)


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
            "few-shot": Protocol(_names(Classification), partial(_classified, few_shot)),
            "full": Protocol(_names(Classification), partial(_classified, full)),
            sgd.PROTOCOL: Protocol(sgd.SENTIMENT_METRICS, _sgd, standard=False),
        },
    ),
    "clustering": TaskKind(_embed_documents, {"k-means": Protocol(_names(Clustering), _clustering)}),
    "retrieval": TaskKind(_embed_queries, {"search": Protocol(_names(Retrieval), partial(_ranked, retrieval))}),
    "reranking": TaskKind(
        _embed_queries,
        {
            "rerank": Protocol(_names(Reranking), partial(_ranked, reranking)),
            "search": Protocol(_names(Retrieval), partial(_ranked, retrieval), standard=False),
        },
    ),
}
