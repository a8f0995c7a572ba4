"""`evaluate` on any object with `encode`: named sets, the caller's own, the command line and the stage's `score`."""

import doctest
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproductions.systems.data import EvaluationData
from reproductions.systems.options import Evaluate
from reproductions.systems.scoring import score, unavailable_results
from reproductions.systems.systems import StudentSystem
from sentence_distillery import load
from sentence_distillery.cli import main
from sentence_distillery.evaluation.evaluate import evaluate
from sentence_distillery.evaluation.present import task_sets
from sentence_distillery.evaluation.protocols.ranking import Judgements
from sentence_distillery.evaluation.results import read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, PairSet, QuerySet
from sentence_distillery.evaluation.sets.registry import BENCHMARKS
from sentence_distillery.evaluation.tasks import TaskSet, read_task
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from tests.sentence_distillery.evaluation.sets.small import BANK, CAT, DOG, FILES, GALE, LOAN, STORM, written
from tests.workspace import demo_params

MINE = PairSet("mine", "test", ["a b", "c", "d"], ["a", "c", "e"], np.array([3, 5, 0], np.float32), None, (0.0, 5.0))
REVIEWS = DocumentSet("mine", "test", ["good film", "bad film"] * 20, ["1", "0"] * 20)


@dataclass
class Fixed:
    """An encoder that returns the same vectors whatever it is given."""

    vectors: Any

    def encode(self, sentences: list[str]) -> Any:
        return self.vectors


class Letters:
    """Counts letters, and keeps its calls."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, sentences: list[str]) -> Floats:
        self.asked.append(sentences)
        return np.array([[text.count(letter) for letter in "abcdefgo"] for text in sentences], dtype=np.float32)


PARAMS = Evaluate(**demo_params()["evaluate"] | {"speed_sentences": 16, "speed_seconds": 0.01})
COLUMNS = {
    "banking77": [("few-shot", "accuracy"), ("few-shot", "f1"), ("full", "accuracy"), ("full", "f1")],
    "stackoverflow": [("k-means", "v_measure")],
    "scifact": [("search", "ndcg_at_10"), ("search", "recall_at_100"), ("search", "map")],
    "wikiqa": [("rerank", "map"), ("rerank", "mrr")],
    "twitter_url": [("cosine", "ap"), ("cosine", "accuracy"), ("cosine", "f1")],
}
PAIRS = PairSet("mine", "test", [STORM, DOG, BANK], [GALE, CAT, DOG], None, ["1", "1", "0"], None)
TITLES = DocumentSet("mine", "test", [STORM, GALE, DOG, CAT, BANK, LOAN], ["a", "a", "b", "b", "c", "c"])
QUERIES = QuerySet(
    "mine", "test", [GALE, CAT], [STORM, DOG, BANK], ["s", "d", "b"],
    Judgements(np.array([0, 1, 1]), np.array([0, 1, 2]), np.array([1, 1, 0])),
)  # fmt: skip


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BenchmarkData:
    """A small set of each type of task."""
    return written(monkeypatch, tmp_path, list(COLUMNS))


def test_named_sets(data: BenchmarkData) -> None:
    """The released student tells storms from dogs and banks: on so few texts it makes no mistake."""
    rows = evaluate(load(), list(COLUMNS), benchmarks=data, name="released")
    for name, columns in COLUMNS.items():
        found = [row for row in rows if row.dataset == name]
        assert [(row.protocol, row.metric) for row in found] == columns
        assert {row.value for row in found} == {1.0}
        assert {(row.system, row.split) for row in found} == {("released", "test")}
    assert [next(row.n for row in rows if row.dataset == name) for name in COLUMNS] == [2, 6, 1, 2, 3]


def test_sets_of_the_caller() -> None:
    """Pairs with labels, documents to cluster, queries to search for or to rerank."""
    reranked = replace(QUERIES, judged_only=True)
    rows = evaluate(load(), [PAIRS, TITLES, QUERIES, reranked])
    assert [(row.protocol, row.metric) for row in rows] == [
        column for name in ("twitter_url", "stackoverflow", "scifact", "wikiqa") for column in COLUMNS[name]
    ]
    assert {row.value for row in rows} == {1.0}
    classes = TaskSet("classification", (replace(TITLES, split="train"), TITLES), ("full",))
    assert [(row.protocol, row.metric, row.n) for row in evaluate(load(), [classes])] == [
        ("full", "accuracy", 6),
        ("full", "f1", 6),
    ]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (replace(PAIRS, labels=["1", "0"]), "Set 'mine' has 3 first sentences, 3 second ones and 2 labels"),
        (TaskSet("pair_classification", replace(PAIRS, labels=["1", "0", "2"])), "has the label '2'"),
        (TaskSet("pair_classification", replace(PAIRS, labels=None)), "3 second ones and 0 labels"),
        (replace(TITLES, labels=["a"]), "Set 'mine' has 6 texts and 1 labels"),
        ((TITLES, replace(TITLES, labels=["a"])), "Set 'mine' has 6 texts and 1 labels"),
        (replace(QUERIES, ids=["s"]), "Set 'mine' has 3 documents, 1 ids"),
        (replace(PAIRS, labels=None), "Set 'mine' has no scores with a scale"),
    ],
)
@pytest.mark.fault(16)
def test_sets_that_do_not_fit(task: Any, message: str) -> None:
    """Columns of different lengths, and labels that no pair can have."""
    with pytest.raises(InputError, match=message):
        evaluate(load(), [task])


def test_the_stage_scores_them(data: BenchmarkData, tmp_path: Path) -> None:
    """On vectors of unit length, as `encode` returns them; a reason for each figure if the system is not there."""
    content = EvaluationData([STORM, DOG], [], [], [], tasks=task_sets(data))
    rows = [row for row in score(StudentSystem(load()), content, PARAMS, tmp_path) if row.dataset != "corpus"]
    write_results(tmp_path / "of_the_stage.csv", rows)
    own = evaluate(load(), list(COLUMNS), benchmarks=data, name="student")
    write_results(tmp_path / "own.csv", [replace(row, low=None, high=None, left_out=None) for row in own])
    assert read_results(tmp_path / "of_the_stage.csv") == read_results(tmp_path / "own.csv")
    reason = Unavailable("weights not available here")
    absent = [row for row in unavailable_results("student", reason, content) if row.dataset != "corpus"]
    assert absent == [replace(row, value=reason) for row in rows]
    assert {"ball", "interest"} <= set(content.vocabulary())


def test_what_the_stage_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dev and test splits; sets for the SGD classifier and those that are not scored by default are left to others."""
    names = [name for name in FILES if name in ("tweet_emotion", "nfcorpus")]
    found = task_sets(written(monkeypatch, tmp_path, names))
    assert [(task.tested.name, task.tested.split) for task in found] == [
        (name, split) for name in names for split in ("dev", "test")
    ]
    for spec in BENCHMARKS["samples"].tables:
        assert spec.task == "sts" or spec.protocols == ("sgd",) or not spec.scored


def test_the_command_line(data: BenchmarkData, capsys: pytest.CaptureFixture[str]) -> None:
    """Sets by name, with the protocol before the metric; without anything to score, it says what to give."""
    main(["evaluate", "--sets", "wikiqa", "twitter_url", "--benchmarks", str(data.directory)])
    assert capsys.readouterr().out.splitlines() == [
        "wikiqa\trerank map\t1.0000 [1.0000, 1.0000]\tn = 2",
        "wikiqa\trerank mrr\t1.0000 [1.0000, 1.0000]\tn = 2",
        *(
            f"twitter_url\tcosine {name}\t1.0000 [1.0000, 1.0000] (654 draws without a figure are left out)\tn = 3"
            for name in ("ap", "accuracy", "f1")
        ),
    ]
    with pytest.raises(SystemExit, match="nothing to score: give --texts and --teacher, a file of pairs"):
        main(["evaluate"])
    with pytest.raises(SystemExit, match="Task 'wikiqa' is a name: give --benchmarks"):
        main(["evaluate", "--sets", "wikiqa"])
    with pytest.raises(InputError, match="Task 'wikiqa' is a name: give benchmarks"):
        evaluate(Letters(), ["wikiqa"])
    with pytest.raises(InputError, match=r"has no set 'stsb'.*add it to benchmarks\.sets"):
        evaluate(Letters(), ["stsb"], benchmarks=data)


def test_sets_of_an_earlier_version(data: BenchmarkData) -> None:
    """A directory whose sets have no task: pairs are rated, documents are classified by SGD."""
    assert data.task("twitter_url") == ("pair_classification", ())

    class Earlier(BenchmarkData):
        def provenance(self) -> Any:
            content = super().provenance()
            for entry in content["sets"].values():
                del entry["task"], entry["protocols"], entry["scored"]
            return content

    earlier = Earlier(data.directory)
    assert earlier.task("twitter_url") == ("sts", ()) and earlier.scored("twitter_url")
    assert earlier.task("banking77") == ("classification", ("sgd",))
    assert read_task(earlier, "banking77", "test").columns == [("sgd", name) for name in ("precision", "recall", "f1")]


def test_queries_and_documents_are_encoded_by_their_own_methods() -> None:
    """As in MTEB; everything else by `encode`."""

    class Both(Letters):
        def encode_query(self, texts: list[str]) -> Floats:
            return self.encode([f"query {text}" for text in texts])

        def encode_document(self, texts: list[str]) -> Floats:
            return self.encode([f"document {text}" for text in texts])

    both, plain = Both(), Letters()
    for encoder in (both, plain):
        evaluate(encoder, [QUERIES, MINE])
    queries, documents, *pairs = plain.asked
    expected = [[f"query {text}" for text in queries], [f"document {text}" for text in documents], *pairs]
    assert both.asked == expected


def test_figures_by_hand() -> None:
    """Cosines 1 / sqrt 2, 1 and 0 for the ratings 3, 5 and 0; each text is encoded once."""
    encoder = Letters()
    found = {row.metric: row.value for row in evaluate(encoder, [MINE])}
    expected = np.array([1 / np.sqrt(2), 1.0, 0.0])
    assert found["pearson"] == pytest.approx(np.corrcoef(expected, [3, 5, 0])[0, 1], abs=1e-6)
    assert found["spearman"] == pytest.approx(1.0)
    assert found["mae"] == pytest.approx(np.abs(2.5 * (expected + 1) - [3, 5, 0]).mean(), abs=1e-6)
    assert encoder.asked == [["a b", "c", "d", "a", "e"]]


def test_documents_of_the_caller() -> None:
    """A classifier learns from the first set, and is tested on the second."""
    rows = evaluate(Letters(), [(replace(REVIEWS, split="train"), REVIEWS), MINE], name="letters")
    assert [(row.metric, row.value, row.n, row.protocol) for row in rows[:3]] == [
        (metric, 1.0, 40, "sgd") for metric in ("precision", "recall", "f1")
    ]
    assert {row.system for row in rows} == {"letters"} and len(rows) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [4.0, 2.0]}, "has 3 first sentences, 3 second ones and 2 scores"),
        ({"sentences2": ["a", "b"]}, "has 3 first sentences, 2 second ones and 3 scores"),
        ({"scale": (5.0, 0.0)}, "has the scale 5 to 0; give the lowest and then the highest"),
        ({"scale": (0.0, np.inf)}, "has the scale 0 to inf; give the lowest and then the highest"),
        ({"scores": [4.0, 2.0, 5.5]}, r"pair 2 \(from 0\) has the score 5.5, outside 0 to 5"),
        ({"scores": [4.0, np.nan, 5.5]}, r"pair 1 \(from 0\) has the score nan, outside 0 to 5"),
        ({"sentences1": ["a", None, "c"]}, r"pair 1 \(from 0\) has None in place of a sentence"),
    ],
)
@pytest.mark.fault(16)
def test_pairs_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    """No figure of scores outside their scale, or of columns of different lengths."""
    with pytest.raises(InputError, match=message):
        evaluate(Letters(), [replace(MINE, **change)])


def test_scores_of_a_list(tmp_path: Path) -> None:
    """A list of scores does as well as an array, and the highest score may be the end of the scale."""
    scores: Any = [4.8, 2.0, 0.1]
    pairs = PairSet("mine", "test", ["storm", "b", "c"], ["gale", "c", "d"], scores, None, (0.1, 4.8))
    listed = evaluate(load(), [pairs])
    assert listed == evaluate(load(), [replace(pairs, scores=np.array(scores, np.float32))])


@pytest.mark.parametrize("shape", [(5,), (4, 3), (1, 5, 3), (5, 0)])
def test_vectors_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"encode returned an array of shape \(.*\) for 5 sentences"):
        evaluate(Fixed(np.ones(shape)), [MINE])


def test_examples_of_docstrings() -> None:
    failed, attempted = doctest.testmod(sys.modules[evaluate.__module__])
    assert attempted > 0 and failed == 0
