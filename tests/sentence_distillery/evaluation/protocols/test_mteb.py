"""Each protocol has the figures of MTEB's own evaluator, on the same vectors and data.

MTEB's task classes get local data and an encoder that returns given vectors, so that everything after the encoder is
theirs: draws, seeds, classifiers, search, trec_eval. Nothing is fetched.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sentence_distillery.evaluation.protocols.classification import Labelled, few_shot, full
from sentence_distillery.evaluation.protocols.clustering import clustering
from sentence_distillery.evaluation.protocols.pair_classification import pair_classification
from sentence_distillery.evaluation.protocols.ranking import Judgements
from sentence_distillery.evaluation.protocols.reranking import reranking
from sentence_distillery.evaluation.protocols.retrieval import retrieval
from sentence_distillery.evaluation.protocols.similarity import similarity
from sentence_distillery.io.ragged import Floats

pytestmark = pytest.mark.skipif(
    find_spec("mteb") is None, reason="mteb is not installed: pip install 'sentence-distillery[dev]'"
)

ABOUT = {
    "description": "given vectors",
    "dataset": {"path": "local", "revision": "1"},
    "eval_langs": ["eng-Latn"],
    "eval_splits": ["test"],
}


def library(name: str) -> Any:
    """MTEB or datasets; they take three seconds to load, which only the process that runs these tests needs."""
    return import_module(name)


class Given:
    """An encoder of MTEB's kind that returns the vectors of known texts."""

    mteb_model_meta = None

    def __init__(self, vectors: dict[str, Floats]) -> None:
        self.vectors = vectors

    def encode(self, inputs: Any, **options: Any) -> Floats:
        return np.stack([self.vectors[text] for batch in inputs for text in batch["text"]])

    def similarity(self, one: Any, other: Any) -> Any:
        return library("mteb").similarity_functions.cos_sim(one, other)

    def similarity_pairwise(self, one: Any, other: Any) -> Any:
        return library("mteb").similarity_functions.pairwise_cos_sim(one, other)


def scores(base: str, kind: str, main: str, data: Any, vectors: dict[str, Floats], **settings: Any) -> dict[str, Any]:
    """Run a task of MTEB on local data, and return its figures."""
    mteb = library("mteb")
    about = mteb.TaskMetadata(name="Local", type=kind, main_score=main, **ABOUT)
    made = type("Local", (getattr(mteb.abstasks, base),), {"metadata": about, **settings})
    task = made()
    task.dataset, task.data_loaded = data, True
    with threadpool_limits(1):  # theirs would start threads for each of many small problems
        found: dict[str, Any] = task.evaluate(Given(vectors), encode_kwargs={"show_progress_bar": False})["default"]
    return found


def vectors_of(count: int, seed: int, dimension: int = 8) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)


def named(prefix: str, vectors: Floats) -> dict[str, Floats]:
    """A text for each vector."""
    return {f"{prefix} {row}": vector for row, vector in enumerate(vectors)}


def groups(labels: Sequence[int], seed: int, spread: float = 1.5) -> Floats:
    """Vectors near the centre of their label, which overlap with the neighbours'."""
    centres = vectors_of(max(labels) + 1, 99)
    return (centres[list(labels)] + spread * vectors_of(len(labels), seed)).astype(np.float32)


def split(**columns: Any) -> Any:
    return library("datasets").Dataset.from_dict(columns)


def test_similarity() -> None:
    left, right = vectors_of(200, 1), vectors_of(200, 2)
    ratings = np.random.default_rng(3).integers(0, 6, 200).astype(np.float32)
    one, other = named("a", left), named("b", right)
    data = {"default": {"test": split(sentence1=list(one), sentence2=list(other), score=ratings.tolist())}}
    expected = scores("AbsTaskSTS", "STS", "cosine_spearman", data, one | other)
    found = similarity(left, right, ratings)
    assert found.pearson == pytest.approx(expected["cosine_pearson"], abs=1e-6)
    assert found.spearman == pytest.approx(expected["cosine_spearman"], abs=1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_pair_classification(tied: bool) -> None:
    """With ties: vectors of +-1 in four dimensions, whose cosines are exact multiples of a half."""
    left, right = vectors_of(300, 1, 4), vectors_of(300, 2, 4)
    if tied:
        left, right = np.sign(left), np.sign(right)
    noise = np.random.default_rng(3).normal(size=300)
    positive = (left * right).sum(axis=1) + noise > 1
    one, other = named("a", left), named("b", right)
    data = {"default": {"test": split(sentence1=list(one), sentence2=list(other), labels=positive.astype(int))}}
    expected = scores("AbsTaskPairClassification", "PairClassification", "cosine_ap", data, one | other)
    found = pair_classification(left, right, positive)
    for metric in ("ap", "accuracy", "f1"):
        assert getattr(found, metric) == pytest.approx(expected[f"cosine_{metric}"], abs=1e-6), metric


@pytest.mark.filterwarnings("ignore:Precision is ill-defined")  # MTEB also computes it, for labels never predicted
@pytest.mark.parametrize(("labels", "shots"), [(2, 8), (5, 8), (12, 3), (5, None)])
def test_classification(labels: int, shots: int | None) -> None:
    """Few-shot, with a label that has fewer examples than are asked for, and full if `shots` is None."""
    drawn = np.random.default_rng(4)
    kinds = [drawn.integers(0, labels, count).tolist() for count in (200, 60)]
    kinds[0] = [0] * 2 + [kind or 1 for kind in kinds[0]]
    train, test = groups(kinds[0], 5), groups(kinds[1], 6)
    one, other = named("a", train), named("b", test)
    data = library("datasets").DatasetDict(
        train=split(text=list(one), label=kinds[0]), test=split(text=list(other), label=kinds[1])
    )
    settings = {"samples_per_label": shots} if shots else {"samples_per_label": 1_000, "n_experiments": 1}
    expected = scores("AbsTaskClassification", "Classification", "accuracy", data, one | other, **settings)
    sides = [Labelled(vectors, list(map(str, kind))) for vectors, kind in zip((train, test), kinds, strict=True)]
    found = few_shot(*sides, samples=shots) if shots else full(*sides)
    assert found.accuracy == pytest.approx(expected["accuracy"], abs=1e-4)
    assert found.f1 == pytest.approx(expected["f1"], abs=1e-4)
    assert 1 / labels < expected["accuracy"] < 0.99


def test_clustering() -> None:
    kinds = np.random.default_rng(4).integers(0, 6, 700).tolist()
    vectors = groups(kinds, 5, 0.8)
    texts = named("a", vectors)
    data = {"default": {"test": split(sentences=list(texts), labels=kinds)}}
    settings = {"max_fraction_of_documents_to_embed": None, "max_documents_per_cluster": 2_000}
    expected = scores("AbsTaskClustering", "Clustering", "v_measure", data, texts, **settings)
    found = clustering(vectors, list(map(str, kinds)), texts=2_000)
    assert found.v_measure == pytest.approx(expected["v_measure"], abs=1e-4)
    assert 0.2 < expected["v_measure"] < 0.95


def judged(queries: int, documents: int, seed: int, least: int = 0) -> Judgements:
    """Graded judgements of every query but the last, among them documents that do not exist."""
    drawn = np.random.default_rng(seed)
    rows = [(query, document) for query in range(queries - 1) for document in drawn.permutation(documents)[:12]]
    query, document = np.array(rows, dtype=np.int64).T
    document[drawn.random(len(document)) < 0.1 if not least else []] = -1
    grade = drawn.integers(0, 4, len(query))
    grade[query == 1] = 0  # a query without a relevant document
    return Judgements(query, document, grade)


def relevant(judgements: Judgements) -> dict[str, dict[str, int]]:
    """The same as MTEB has them; every document that does not exist has a name of its own."""
    found: dict[str, dict[str, int]] = {}
    for row, (query, document, grade) in enumerate(
        zip(judgements.query, judgements.document, judgements.grade, strict=True)
    ):
        found.setdefault(f"q{query}", {})[f"d{document}" if document >= 0 else f"absent {row}"] = int(grade)
    return found


def collection(texts: dict[str, Floats], prefix: str) -> Any:
    return split(id=[f"{prefix}{row}" for row in range(len(texts))], text=list(texts))


@pytest.mark.parametrize(("count", "tied"), [(150, False), (1_500, False), (150, True)])
def test_retrieval(count: int, tied: bool) -> None:
    """More documents than a ranking holds, ties between documents, and judged documents that do not exist."""
    queries, documents = vectors_of(30, 1, 4), vectors_of(count, 2, 4)
    if tied:
        queries, documents = np.sign(queries), np.sign(documents)
    judgements, ids = judged(30, count, 3), [f"d{row}" for row in range(count)]
    one, other = named("q", queries), named("d", documents)
    part = {"queries": collection(one, "q"), "corpus": collection(other, "d"), "top_ranked": None}
    data = {"default": {"test": part | {"relevant_docs": relevant(judgements)}}}
    expected = scores("AbsTaskRetrieval", "Retrieval", "ndcg_at_10", data, one | other)
    found = retrieval(queries, documents, ids, judgements)
    assert found.ndcg_at_10 == pytest.approx(expected["ndcg_at_10"], abs=1e-4)
    assert found.recall_at_100 == pytest.approx(expected["recall_at_100"], abs=1e-4)
    assert found.map == pytest.approx(expected["map_at_1000"], abs=1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_reranking(tied: bool) -> None:
    queries, documents = vectors_of(30, 1, 4), vectors_of(150, 2, 4)
    if tied:
        queries, documents = np.sign(queries), np.sign(documents)
    judgements, ids = judged(30, 150, 3, least=1), [f"d{row}" for row in range(150)]
    one, other = named("q", queries), named("d", documents)
    answers = relevant(judgements)
    part = {"queries": collection(one, "q"), "corpus": collection(other, "d"), "relevant_docs": answers}
    data = {"default": {"test": part | {"top_ranked": {query: list(found) for query, found in answers.items()}}}}
    expected = scores("AbsTaskRetrieval", "Reranking", "map_at_1000", data, one | other)
    found = reranking(queries, documents, ids, judgements)
    assert found.map == pytest.approx(expected["map_at_1000"], abs=1e-4)
    assert found.mrr == pytest.approx(expected["mrr_at_1000"], abs=1e-4)
