"""measurements/suite.py on a real set: each encoder's figures, the intervals, and a second call that does nothing."""

import importlib.metadata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measurements import peers, suite
from measurements.entailment import entailment
from sentence_distillery.evaluation.evaluate import Function
from sentence_distillery.evaluation.protocols.ranking import Judgements
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.evaluation.sets.data import PairSet, QuerySet
from sentence_distillery.evaluation.tasks import TaskSet
from sentence_distillery.io.unavailable import Unavailable
from tests.sentence_distillery.evaluation.sets.conftest import REAL_DIRECTORIES, real
from tests.workspace import ROOT

DIRECTORIES = [str(place) for place in REAL_DIRECTORIES if place.is_dir()]


def saved_figure(system: str, dataset: str, metric: str) -> float:
    """The figure of the release, as reports/runs/suite has it."""
    rows = read_results(ROOT / "reports/runs/suite/suite.csv")
    (row,) = [row for row in rows if (row.system, row.dataset, row.metric) == (system, dataset, metric)]
    assert row.number is not None
    return row.number


def retrieval() -> TaskSet:
    judgements = Judgements(np.array([0, 1]), np.array([1, 0]), np.array([1, 1]))
    documents = ["the storm closed the port", "the bank lowered its rates", "a dog plays in the garden"]
    texts = QuerySet(
        "own", "test", ["interest rates of a bank", "storms at a port"], documents, list("abc"), judgements
    )
    return TaskSet("retrieval", texts)


@pytest.mark.parametrize("name", ["TF-IDF", "BM25"])
def test_words_find_documents_that_have_them(name: str) -> None:
    pytest.importorskip("sklearn")
    task = retrieval()
    encoder = peers.PEERS[name].load(task)
    if isinstance(encoder, Unavailable):
        pytest.skip(encoder.reason)
    assert isinstance(task.texts, QuerySet)
    queries, documents = encoder.encode(task.texts.queries), encoder.encode(task.texts.documents)
    assert (queries @ documents.T).argmax(axis=1).tolist() == [1, 0]


def test_versions_of_packages_are_told() -> None:
    version = importlib.metadata.version("scikit-learn")
    assert peers.PEERS["TF-IDF"].described.endswith(f"no training (scikit-learn {version})")
    absent = peers.Peer("mine", peers.PEERS["TF-IDF"].load, ("no-such-package",))
    assert (absent.described, peers.PEERS["released"].described) == ("mine", peers.PEERS["released"].about)


def test_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real("wikiqa")
    monkeypatch.chdir(tmp_path)
    arguments = [*DIRECTORIES, "--sets", "wikiqa", "--peers", "released", "TF-IDF", "BM25"]
    suite.main(arguments)
    rows = read_results(Path("reports/runs/suite/suite.csv"))
    main = {row.system: row for row in rows if (row.protocol, row.metric) == ("search", "ndcg_at_10")}
    released, words = main["released"], main["TF-IDF"]
    assert released.number is not None and released.low is not None and released.high is not None
    assert released.low < released.number < released.high
    assert released.number == pytest.approx(saved_figure("released", "wikiqa", "ndcg_at_10"), abs=2e-4)
    difference = next(
        row for row in read_results(Path("reports/runs/suite/differences.csv")) if row.system == "released - TF-IDF"
    )
    assert words.number is not None and difference.number == pytest.approx(released.number - words.number, abs=2e-4)
    assert difference.low is not None and difference.high is not None
    assert difference.high - difference.low < released.high - released.low + (words.high or 0) - (words.low or 0)
    kept = {path: path.stat().st_mtime_ns for path in Path("suite-work/test").rglob("*")}
    suite.main(arguments)
    assert {path: path.stat().st_mtime_ns for path in Path("suite-work/test").rglob("*")} == kept


def rated(split: str, labels: list[str]) -> PairSet:
    same = [label == "ENTAILMENT" for label in labels]
    first = [f"the storm {number}" for number in range(len(labels))]
    second = [text if alike else "a dog" for text, alike in zip(first, same, strict=True)]
    return PairSet("sick", split, first, second, None, labels, None)


def test_labels_of_pairs_are_learnt_from_the_difference_of_their_vectors() -> None:
    pytest.importorskip("sklearn")
    labels = ["ENTAILMENT", "NEUTRAL"] * 6
    encoder = Function(lambda texts: np.array([[1.0, 0.0] if "storm" in text else [0.0, 1.0] for text in texts]))
    scored = rated("test", [*labels, "ENTAILMENT"])
    wrong = replace(scored, labels=[*labels, "NEUTRAL"])  # nobody can tell it
    for pairs, correct in ((scored, 13), (wrong, 12)):
        [row], draws = entailment(rated("train", labels), pairs, "mine", encoder)
        assert (row.dataset, row.metric, row.n) == ("sick-e", "accuracy", 13)
        assert row.number == pytest.approx(correct / 13)
        assert draws is not None and row.number is not None and row.low is not None and row.high is not None
        assert row.low <= row.number <= row.high
    absent = entailment(rated("train", labels), scored, "mine", Unavailable("it has no weights"))
    assert (absent[0][0].value, absent[1]) == (Unavailable("it has no weights"), None)


def test_further_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real("sick")
    monkeypatch.chdir(tmp_path)
    suite.main([*DIRECTORIES, "--sets", "sick-e", "--peers", "released", "BM25"])
    released, words = read_results(Path("reports/runs/suite/suite.csv"))
    assert released.number == pytest.approx(saved_figure("released", "sick-e", "accuracy"), abs=2e-3)
    assert isinstance(words.value, Unavailable)


def test_what_is_absent_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package, a peer that has to be trained, and a set."""
    load = peers.packaged("no_such_module", "no-such-package", lambda module: module.encode)
    assert load(retrieval()) == Unavailable("it needs no_such_module: run `pip install no-such-package`")
    monkeypatch.chdir(tmp_path)
    for name in ("student", "tokenlearn", "StaticEmbedding"):
        told = f"it needs suite-work/trained/{name}: run `python -m measurements.trained_peers FROM`"
        assert peers.PEERS[name].load(retrieval()) == Unavailable(told)
    with pytest.raises(SystemExit, match=r"suite: .*: the folder trec is missing; give the directory that has it"):
        suite.main([str(tmp_path), "--sets", "trec"])
