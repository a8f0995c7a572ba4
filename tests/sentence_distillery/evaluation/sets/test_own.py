"""Sets of the user's own labels: read from any kind of file, registered like any set, refused if a row does not fit."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import evaluate, main_result
from sentence_distillery.evaluation.present import pair_sets, task_sets
from sentence_distillery.evaluation.protocols.pair_classification import figures_of_draws, pair_classification
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.options import Benchmarks, OwnBenchmark
from sentence_distillery.evaluation.tasks import own_tasks
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.benchmarks import benchmarks as stage
from tests.sentence_distillery.evaluation.sets.conftest import ROOT
from tests.workspace import write_params

WORDS = ("storm", "port", "bank", "rate", "team", "goal")
TEXTS = [f"The {one} and the {other}." for one in WORDS for other in WORDS if one != other]
PAIRS = [
    {"a": one, "b": other, "rating": str(sum(word in one and word in other for word in WORDS))}
    for one, other in zip(TEXTS, TEXTS[7:], strict=False)
]
LABELLED = [{"question": text, "intent": text.split()[1]} for text in TEXTS]
COLUMNS = {"sentence1": "a", "sentence2": "b", "score": "rating"}


def own(name: str, task: str, columns: dict[str, str], scale: object = None, **files: str) -> dict[str, Any]:
    """The entry of a set in params.yaml."""
    return {"name": name, "task": task, "files": files, "columns": columns, "scale": scale}


LABELS = {"text": "question", "label": "intent"}
STS = own("mine", "sts", COLUMNS, scale=[0, 5], test="mine.csv")
SAME = own("same", "pair_classification", {"sentence1": "a", "sentence2": "b", "label": "together"}, test="same.csv")
INTENTS = own("intents", "classification", LABELS, train="train.jsonl", test="test.tsv")
GROUPS = own("groups", "clustering", LABELS, test="test.tsv")
FAQ = own(
    "faq",
    "retrieval",
    {name: name for name in ("id", "text", "query", "document", "grade")},
    queries="queries.csv",
    documents="documents.parquet",
    judgements="judgements.jsonl",
)


class Bag:
    """A count of each word of WORDS, at unit length."""

    def encode(self, sentences: list[str]) -> Floats:
        return unit_rows(np.array([[text.lower().count(word) for word in WORDS] for text in sentences], np.float32))


def write(path: str, rows: Sequence[dict[str, str]]) -> None:
    """Write rows as the suffix says."""
    file = Path(path)
    match file.suffix:
        case ".jsonl":
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(list(rows)), file)
        case suffix:
            with file.open("w", encoding="utf-8", newline="") as target:
                writer = csv.DictWriter(target, list(rows[0]), delimiter="\t" if suffix == ".tsv" else ",")
                writer.writeheader()
                writer.writerows(rows)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory: files of three sets, and the samples of this project."""
    monkeypatch.chdir(tmp_path)
    paths.SAMPLES.parent.mkdir(parents=True)
    paths.SAMPLES.symlink_to(ROOT / paths.SAMPLES)
    write("mine.csv", PAIRS)
    write("same.csv", [row | {"together": "yes" if int(row["rating"]) > 0 else "No"} for row in PAIRS])
    write("train.jsonl", LABELLED[::2])
    write("test.tsv", LABELLED[1::2])
    write("queries.csv", [{"id": f"q{row}", "text": f"Where is the {word}?"} for row, word in enumerate(WORDS)])
    write("documents.parquet", [{"id": f"d{row}", "text": f"A {word} here."} for row, word in enumerate(WORDS)])
    write("judgements.jsonl", [{"query": f"q{row}", "document": f"d{row}", "grade": "1"} for row in range(len(WORDS))])
    yield tmp_path


def run(*own: dict[str, Any]) -> BenchmarkData:
    write_params(benchmarks={"sets": ["samples"], "own": list(own)})
    stage.main()
    return BenchmarkData(paths.BENCHMARKS)


def problem(*own: dict[str, Any]) -> str:
    with pytest.raises(SystemExit) as caught:
        run(*own)
    return str(caught.value.code)


def test_they_are_sets_like_any_other(here: Path) -> None:
    data = run(STS, INTENTS, FAQ)
    assert data.own() == ["mine", "intents", "faq"]
    pairs = data.pairs("mine", "test")
    assert (pairs.sentences1[0], pairs.scale, len(pairs.sentences1)) == (PAIRS[0]["a"], (0.0, 5.0), len(PAIRS))
    assert data.documents("intents", "test").labels == [row["intent"] for row in LABELLED[1::2]]
    assert data.queries("faq", "test").documents[2] == "A bank here."
    assert "mine" in data.present(["mine"], "x")
    assert [each.name for each in pair_sets(data, "pairs")] == ["samples", "samples", "mine"]
    assert [task.tested.name for task in task_sets(data)] == ["intents", "faq"]
    figures = {(row.dataset, row.metric): row.value for row in evaluate(Bag(), ["intents", "faq"], benchmarks=data)}
    assert figures["faq", "ndcg_at_10"] == 1.0
    assert {row.split for row in evaluate(Bag(), ["samples"], benchmarks=data, split="dev")} == {"dev"}
    rated = evaluate(Bag(), ["mine"], benchmarks=str(data.directory))
    assert rated == evaluate(Bag(), [pairs])
    assert [(row.dataset, row.split, row.metric) for row in rated] == [
        ("mine", "test", metric) for metric in ("pearson", "spearman", "mae")
    ]


def test_their_test_texts_are_taken_out_of_the_training_text(here: Path) -> None:
    marks = set(run(STS, INTENTS, FAQ).fingerprints().tolist())
    test = [PAIRS[0]["a"], LABELLED[1]["question"], "Where is the port?", "A bank here."]
    assert {fingerprint(text) for text in test} <= marks
    alone = set(run(INTENTS).fingerprints().tolist())
    assert fingerprint(LABELLED[0]["question"]) not in alone


def test_figures_with_intervals(here: Path) -> None:
    """The values are those of `evaluate`; all but the V-measure have an interval."""
    tasks = own_tasks(run(STS, INTENTS, FAQ, SAME, GROUPS))
    expected = {(row.dataset, row.protocol, row.metric): row for row in evaluate(Bag(), tasks)}
    found = [main_result("bag", Bag(), task) for task in tasks]
    assert [(row.dataset, row.protocol, row.metric, row.n) for row in found] == [
        ("mine", "mean", "spearman", len(PAIRS)),
        ("intents", "full", "accuracy", len(LABELLED[1::2])),
        ("faq", "search", "ndcg_at_10", len(WORDS)),
        ("same", "cosine", "ap", len(PAIRS)),
        ("groups", "k-means", "v_measure", len(LABELLED[1::2])),
    ]
    for row in found:
        other = expected[row.dataset, row.protocol, row.metric]
        assert (row.system, row.split, row.n) == ("bag", "test", other.n)
        assert isinstance(row.value, float) and row.value == pytest.approx(other.value, abs=1e-6)
        if row.dataset == "groups":
            assert (row.low, row.high) == (None, None)
        else:
            assert row.low is not None and row.high is not None and row.low <= row.value <= row.high
    reason = Unavailable("it is not here")
    assert {main_result("gone", reason, task).value for task in tasks} == {reason}


@pytest.mark.parametrize(
    ("yes", "no", "suffix"),
    [("1", "0", ".jsonl"), ("TRUE", "False", ".csv"), (True, False, ".parquet"), (1.0, 0.0, ".jsonl")],
)
def test_ways_to_say_yes_and_no(yes: Any, no: Any, suffix: str, here: Path) -> None:
    rows = [row | {"together": yes if int(row["rating"]) > 0 else no} for row in PAIRS]
    write(f"same{suffix}", rows)
    labels = run(SAME | {"files": {"test": f"same{suffix}"}}).pairs("same", "test").labels
    assert labels == ["1" if int(row["rating"]) > 0 else "0" for row in PAIRS]
    write("same.csv", [row | {"together": "maybe"} for row in PAIRS])
    assert "same.csv, line 2: the label 'maybe' is neither yes nor no; write 1 and 0" in problem(SAME)


def test_figures_of_draws() -> None:
    """Each draw as the protocol scores it, equal cosines and all."""
    rng = np.random.default_rng(3)
    predicted = rng.integers(0, 8, 40).astype(np.float32) / 8
    positive = rng.random(40) < 0.4
    drawn = bootstrap.counts(40, 50)
    left = np.stack([predicted, np.sqrt(1 - predicted**2)], axis=1).astype(np.float32)
    right = np.tile(np.array([1, 0], np.float32), (40, 1))
    expected: list[Any] = []
    for draw in drawn.astype(int):
        rows = np.repeat(np.arange(40), draw)
        expected.append([*vars(pair_classification(left[rows], right[rows], positive[rows])).values()])
    found: Any = figures_of_draws(cosines(left, right), positive, drawn)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "stsb"}, "benchmarks.own: 'stsb' is the name of a set of this library; choose another one."),
        ({"files": {"test": "gone.csv"}}, "'mine' has the file test = gone.csv, which is not a file here"),
        (
            {"files": {"test": "mine.xlsx"}},
            "test = mine.xlsx, which has none of the suffixes .csv, .tsv, .jsonl, .parquet;",
        ),
        ({"columns": COLUMNS | {"score": "stars"}}, "mine.csv, line 1: no column 'stars' (it has a, b, rating)."),
        ({"scale": [4, 5]}, f"mine.csv, line 2: score {float(PAIRS[0]['rating'])} is outside 4.0-5.0. To repair it"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], message: str, here: Path) -> None:
    Path("mine.xlsx").touch()
    assert message in problem(STS | changes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("other.csv", "a,b,rating\n", "other.csv has no rows."),
        ("other.csv", "a,b,rating\nx,y\n", "other.csv, line 2: 2 fields, expected 3 (a, b, rating)."),
        ("other.jsonl", '{"a": "x", "b": "y", "rating": 1}\n{"a": 1\n', "other.jsonl, line 2 is not JSON ("),
        ("other.jsonl", "[1]\n", "other.jsonl, row 1 holds a int, expected an object"),
        ("other.jsonl", '{"a": null, "b": "y", "rating": 1}\n', "#1: column 'a' has None, which is neither a text"),
        ("other.parquet", "not a table", "other.parquet cannot be read: "),
    ],
)
@pytest.mark.fault(16)
def test_broken_files(name: str, content: str, message: str, here: Path) -> None:
    Path(name).write_text(content, encoding="utf-8")
    found = problem(STS | {"files": {"test": name}})
    assert found.startswith("benchmarks: ") and message in found


def test_judgements_of_nothing(here: Path) -> None:
    write("judgements.jsonl", [{"query": "q0", "document": "d99", "grade": "1"}])
    assert "judgements.jsonl#1: split 'test' has no document 'd99'." in problem(FAQ)
    write("judgements.jsonl", [{"query": "q0", "document": "d1", "grade": "good"}])
    assert "judgements.jsonl#1: 'good' is not a whole number of 0 or more." in problem(FAQ)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": {"dev": "a.csv"}}, "mine: files lacks 'test'; it needs test"),
        ({"files": {"test": "a.csv", "tset": "b.csv"}}, "mine: files has 'tset'; it may have dev, test"),
        ({"columns": {"sentence1": "a"}}, "mine: columns lacks 'score'; it needs score, sentence1, sentence2"),
        ({"scale": None}, r"mine: scale must be \[lowest, highest\] for the task sts, and null for other tasks"),
        ({"scale": [5, 0]}, r"mine: scale = \[5.0, 0.0\] does not begin with the lower score"),
        ({"scale": [0, 1e39]}, r"mine: scale = \[0.0, 1e\+39\] .* is not within -1e\+38 to 1e\+38"),
        ({"task": "reranking"}, "Input should be 'sts', 'pair_classification', 'classification', 'clustering' or "),
        ({"task": "clustering"}, "mine: columns lacks 'label'; it needs label, text"),
        ({"name": "My set"}, "String should match pattern"),
    ],
)
def test_options_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        OwnBenchmark.model_validate(STS | changes)


def test_a_name_twice() -> None:
    with pytest.raises(ValidationError, match="two sets of own have the name mine; rename one"):
        Benchmarks.model_validate({"sets": [], "own": [STS, STS]})
