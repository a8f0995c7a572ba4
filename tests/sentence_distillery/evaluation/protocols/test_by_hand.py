"""What test_mteb.py does not compare: ties, the bootstrap, errors in paper 1's units, and reasons for no figure."""

import doctest
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation import protocols
from sentence_distillery.evaluation.protocols import classification, sgd
from sentence_distillery.evaluation.protocols.classification import Labelled, few_shot, full
from sentence_distillery.evaluation.protocols.clustering import clustering
from sentence_distillery.evaluation.protocols.pair_classification import pair_classification
from sentence_distillery.evaluation.protocols.ranking import Index, Judgements
from sentence_distillery.evaluation.protocols.reranking import reranking
from sentence_distillery.evaluation.protocols.retrieval import retrieval
from sentence_distillery.evaluation.protocols.similarity import cosines, similarity, similarity_figures
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

MODULES = [module.name for module in iter_modules(protocols.__path__)]
NAN = np.array([[np.nan, 1], [1, 0]], np.float32)
UNIT = np.eye(2, dtype=np.float32)
NEARLY = UNIT + np.array([[0, 1e-3], [0, 0]], np.float32)  # of cosines that differ in their last bits
JUDGED = Judgements(np.array([0]), np.array([1]), np.array([1]))
NOTHING = Judgements(*np.empty((3, 0), dtype=np.int64))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str) -> None:
    failed, attempted = doctest.testmod(import_module(f"{protocols.__name__}.{name}"))
    assert failed == 0 and attempted > 0


def at_angles(*degrees: float) -> Floats:
    """Vectors of the plane whose cosines with (1, 0) fall as the angle grows."""
    radians = np.deg2rad(np.array(degrees))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_cosines_by_hand() -> None:
    left = np.array([[3, 4], [1, 0], [2, 0], [0, 0], [-1, -1]], np.float32)
    right = np.array([[4, 3], [0, 5], [7, 0], [1, 1], [1, 1]], np.float32)
    np.testing.assert_allclose(cosines(left, right), [0.96, 0, 1, 0, -1], atol=1e-6)


@pytest.mark.parametrize(
    ("scale", "gold", "expected"),
    [
        # the cosines 1, 0 and -1 are 5, 2.5 and 0 of 5
        ((0.0, 5.0), [4, 2.5, 1], 2 / 3),
        ((1.0, 5.0), [5, 3, 1], 0.0),
        ((1.0, 5.0), [5, 3, 2], 1.25 / 3),
    ],
)
def test_error_in_units_of_a_0_to_5_scale(scale: tuple[float, float], gold: list[float], expected: float) -> None:
    """Cosines go from [-1, 1] to [0, 5] as in paper 1, and human ratings from their own scale."""
    ratings = np.array(gold, np.float32)
    assert similarity_figures(np.array([1, 0, -1], np.float32), ratings, scale)["mae"] == pytest.approx(expected)
    constant = similarity_figures(np.zeros(3, np.float32), ratings, scale)
    assert constant["pearson"] == Unavailable("all predictions are alike") and isinstance(constant["mae"], float)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 45), st.integers(0, 2**32 - 1))
def test_search_is_a_full_sort(documents: int, queries: int, depth: int, seed: int) -> None:
    """Exactly: vectors of -1, 0, 1 in one dimension have many ties."""
    drawn = np.random.default_rng(seed)
    searched, asked = (drawn.integers(-1, 2, (count, 1)).astype(np.float32) for count in (documents, queries))
    ids = [f"{number:03}" for number in drawn.permutation(documents)]
    found = list(Index(searched, ids).search(asked, depth))
    for query, ranking in zip(asked, found, strict=True):
        order = sorted(range(documents), key=lambda row: (float(searched[row, 0] * query[0]), ids[row]), reverse=True)
        assert ranking.tolist() == order[:depth]
        assert Index(searched, ids).rank(query, np.arange(documents)).tolist() == order


def test_blocks_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching one query at a time finds what searching all at once finds.

    No query lies in the middle of two documents, where the rounding of either product would decide.
    """
    documents, queries = at_angles(*range(0, 170, 7)), at_angles(*(angle + 0.25 for angle in range(0, 90, 10)))
    index = Index(documents, [f"{row:02}" for row in range(len(documents))])
    whole = [ranking.tolist() for ranking in index.search(queries)]
    monkeypatch.setattr("sentence_distillery.evaluation.protocols.ranking.BLOCK", 1)
    assert [ranking.tolist() for ranking in index.search(queries)] == whole


NO_FIGURE: list[tuple[Callable[[], Any], str]] = [
    (lambda: similarity(UNIT, NAN, np.ones(2, np.float32)), "some predictions are not finite"),
    (lambda: similarity(UNIT[:1], UNIT[:1], np.ones(1, np.float32)), "1 pairs"),
    (lambda: similarity(UNIT, UNIT, np.arange(2, dtype=np.float32)), "all predictions are alike"),
    (lambda: similarity(UNIT, NEARLY, np.arange(2, dtype=np.float32)), "all predictions are alike"),
    (lambda: similarity(UNIT, UNIT[[0, 0]], np.ones(2, np.float32)), "all human ratings are equal"),
    (lambda: pair_classification(UNIT, NAN, np.array([True, False])), "some predictions are not finite"),
    (lambda: pair_classification(UNIT, UNIT, np.array([True, False])), "all predictions are alike"),
    (lambda: pair_classification(UNIT, UNIT[[0, 0]], np.array([True, True])), "all pairs have one label"),
    (lambda: few_shot(Labelled(UNIT, ["a", "a"]), Labelled(UNIT, ["a", "b"])), "all training documents have one label"),
    (lambda: full(Labelled(NAN, ["a", "b"]), Labelled(UNIT, ["a", "b"])), "some vectors are not finite"),
    (lambda: clustering(UNIT, ["a", "a"]), "all documents have one label"),
    (lambda: clustering(NAN, ["a", "b"]), "some vectors are not finite"),
    (lambda: retrieval(UNIT, NAN, ["a", "b"], JUDGED), "some vectors are not finite"),
    (lambda: retrieval(UNIT, UNIT, ["a", "b"], NOTHING), "no query is judged"),
    (lambda: reranking(NAN, UNIT, ["a", "b"], JUDGED), "some vectors are not finite"),
    (lambda: reranking(UNIT, UNIT, ["a", "b"], NOTHING), "no query is judged"),
]


@pytest.mark.parametrize(("score", "reason"), NO_FIGURE)
@pytest.mark.fault(20)
def test_a_reason_in_place_of_figures(score: Callable[[], Any], reason: str) -> None:
    """Never NaN, and never an error of a package."""
    found = score()
    assert {getattr(found, field.name) for field in fields(found) if field.compare} == {Unavailable(reason)}
    assert not any(getattr(found, field.name) for field in fields(found) if not field.compare)


def drawn_labels(classifiers: int) -> tuple[list[str], list[list[str]], Floats]:
    """The labels of 30 texts, those that classifiers give them, and draws of the texts."""
    random = np.random.default_rng(1)
    expected, *given = random.choice(["0", "1", "2"], (classifiers + 1, 30)).tolist()
    return expected, given, bootstrap.counts(30, 20)


def test_figures_of_drawn_texts() -> None:
    """Accuracy and macro-F1 of each draw are scikit-learn's on the drawn texts, averaged over the classifiers."""
    metrics = pytest.importorskip("sklearn.metrics")
    expected, given, drawn = drawn_labels(2)
    for counts, found in zip(drawn.astype(int), classification.figures_of_draws(expected, given, drawn), strict=True):
        true, *others = (np.repeat(each, counts) for each in (expected, *given))
        accuracy = np.mean([metrics.accuracy_score(true, each) for each in others])
        f1 = np.mean([metrics.f1_score(true, each, average="macro") for each in others])
        assert found.tolist() == pytest.approx([accuracy, f1], abs=1e-6)


def test_figures_of_drawn_documents() -> None:
    """Precision, recall and F1 of label 1; none if all documents of a draw have one label."""
    metrics = pytest.importorskip("sklearn.metrics")
    expected, [given], drawn = drawn_labels(1)
    expected, given = (["1" if label == "1" else "0" for label in each] for each in (expected, given))
    for counts, found in zip(drawn.astype(int), sgd.figures_of_draws(expected, given, drawn), strict=True):
        true, other = (np.repeat(each, counts) for each in (expected, given))
        figures = metrics.precision_recall_fscore_support(true, other, pos_label="1", average="binary")
        assert found.tolist() == pytest.approx(figures[:3], abs=1e-6)
    assert np.isnan(sgd.figures_of_draws(["1", "0"], ["1", "0"], np.array([[2, 0], [0, 2]], np.float32))).all()
