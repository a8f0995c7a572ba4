"""Readers of the sets for classification, clustering, retrieval, reranking and pair classification."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sentence_distillery.corpus.fingerprints import fingerprint
from sentence_distillery.evaluation.sets import registry
from sentence_distillery.evaluation.sets.benchmark import build_parts
from sentence_distillery.evaluation.sets.records import BadDataError, drawn, lines
from sentence_distillery.evaluation.tasks import TASKS
from sentence_distillery.io.artifacts import InputError
from tests.sentence_distillery.evaluation.sets.conftest import real, write
from tests.sentence_distillery.evaluation.sets.small import BANK, CAT, DOG, FILES, GALE, LOAN, STORM, shrink, written


def rows(name: str, directory: Path) -> list[tuple[object, ...]]:
    """The rows of a reader, without their places."""
    for file, text in FILES[name].items():
        directory.joinpath(file).write_bytes(text.encode())
    [spec] = registry.BENCHMARKS[name].tables
    return [row[1:] for row in spec.read(directory)]


def test_documents_and_pairs(tmp_path: Path) -> None:
    """Text and label from columns, from parallel files, and from lines that begin with the label."""
    assert rows("banking77", tmp_path)[-2:] == [("test", LOAN, "exchange_rate"), ("test", CAT, "card_arrival")]
    assert rows("tweet_emotion", tmp_path)[2:] == [("dev", CAT, "1"), ("test", GALE, "0"), ("test", CAT, "1")]
    assert rows("trec", tmp_path)[2:] == [("train", GALE, "1"), ("test", GALE, "1"), ("test", CAT, "0")]
    assert rows("stackoverflow", tmp_path)[-1] == ("test", LOAN, "20")
    assert rows("twitter_url", tmp_path)[2] == ("test", BANK, DOG, None, "0")


def test_queries(tmp_path: Path) -> None:
    """The title belongs to the text; a query is of the split that judges it; Cranfield's are counted from 1."""
    found = rows("scifact", tmp_path)
    assert ("all", "0", STORM) in found and ("test", "7", "0", 1) in found
    assert found[-2:] == [("test", "7", GALE), ("train", "8", CAT)]
    assert rows("nfcorpus", tmp_path)[-2:] == [("test", "P-2", "M-3", 2), ("test", "P-2", "M-2", 1)]
    cranfield = rows("cranfield", tmp_path)
    assert cranfield[:2] == [("test", "1", GALE), ("test", "2", CAT)]
    assert cranfield[2:4] == [("test", "1", f"{STORM} it blew ."), ("test", "2", "")]
    assert cranfield[4:] == [("test", "1", "1", 1), ("test", "2", "1", 1)]
    wikiqa = rows("wikiqa", tmp_path)
    assert wikiqa[:3] == [("test", "4", GALE), ("test", "4-01", STORM), ("test", "4", "4-01", 1)]
    assert wikiqa[-1] == ("test", "9", "9-02", 1)


JUDGED = "query-id\tcorpus-id\tscore\n"
FAULTS = [
    ("banking77", "test.csv", "text,category\na,b\n", r"test.csv, line 2: unknown label 'b'; known labels: Refund"),
    ("trec", "TREC.test.all", "1 a\n0\n", r"TREC.test.all, line 2: '0' is not a label, a space and a text"),
    ("tweet_emotion", "val_labels.txt", "1\n1\n", r"val_labels.txt has 2 lines, .*val_text.txt has 1"),
    (
        "stackoverflow",
        "label_StackOverflow.txt",
        "0\n1\n2\n2\n3\n3\n",
        r"line 1: unknown label '0'; known labels: 1, 2",
    ),
    ("twitter_url", "a.toks", f"{STORM}\n \n{BANK}\n", r"line 2: a blank text"),
    ("scifact", "corpus.jsonl", '{"_id": "0", "text": "a"}\n', r"line 1: not a JSON object with the fields _id, title"),
    ("scifact", "corpus.jsonl", "[1]\n", r"corpus.jsonl, line 1: not a JSON object"),
    ("scifact", "qrels-test.tsv", f"{JUDGED}7\t5\t1\n", r"split 'test' has no document '5'"),
    ("scifact", "qrels-test.tsv", f"{JUDGED}7\t0\t-1\n", r"'-1' is not a whole number of 0 or more"),
    ("scifact", "queries.jsonl", '{"_id": "9", "text": "a"}\n', r"unknown split 'none'; known splits: test, train"),
    (
        "nfcorpus",
        "test.docs",
        f"M-2\t{BANK}\nM-2\t{STORM}",
        r"test.docs, line 2: the id 'M-2' is in split 'test' twice",
    ),
    ("nfcorpus", "test.docs", f"M-2\t{BANK}\n", r"split 'test' of nfcorpus.documents has 1 rows, expected 2"),
    ("nfcorpus", "dev.3-2-1.qrel", "P-2\t0\tM-1\t3\n", r"dev.3-2-1.qrel, line 1: split 'dev' has no query 'P-2'"),
    ("cranfield", "cranqrel", "1 1 3\n1 1 9\n", r"cranqrel, line 2: '1 1 9' is not a query, a document and a code"),
    ("cranfield", "cran.qry", "what\n", r"cran.qry, line 1: 'what' comes before the first field .I"),
    ("cranfield", "cran.qry", ".I 1\nwhat\n", r"cran.qry, line 1: entry 1 has no field .W"),
    ("wikiqa", "sim.txt", "1\n0\n0\n2\n", r"line 4: unknown label '2'; known labels: 0, 1"),
]


@pytest.mark.parametrize(("name", "file", "text", "problem"), FAULTS)
@pytest.mark.fault(16)
def test_files_that_do_not_fit(
    name: str, file: str, text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value, the file and the line."""
    shrink(monkeypatch, name, tmp_path)
    write(tmp_path, {file: text})
    [spec] = registry.BENCHMARKS[name].tables
    with pytest.raises(BadDataError, match=problem):
        build_parts(spec, tmp_path)


@pytest.mark.fault(16)
def test_lines_in_another_encoding(tmp_path: Path) -> None:
    """A byte that is not UTF-8; a separator of Unicode or a lone CR does not end a line."""
    path = tmp_path / "t.txt"
    path.write_bytes("a\u2028b\rc\r\n\n".encode() + b"\xa3\n")
    assert [line for _, line in lines(path, "latin-1")] == ["a\xe2\x80\xa8b\rc", "", "£"]
    with pytest.raises(BadDataError, match=r"t.txt, line 3: 'utf-8' codec can't decode byte 0xa3"):
        list(lines(path))


def test_a_drawn_split() -> None:
    """As many as asked for, the same ones in another order, others for another seed, equal texts together."""
    texts = [f"text {row // 2}" for row in range(40)]
    chosen = drawn(texts, 10, seed=1)
    assert sum(chosen) == 10 and chosen[::2] == chosen[1::2]
    assert drawn(texts[::-1], 10, seed=1) == chosen[::-1] != drawn(texts, 10, seed=2)[::-1]


def test_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries search the documents of their split, or those of all splits."""
    data = written(monkeypatch, tmp_path, list(FILES))
    assert data.available() == list(FILES) and data.available("queries") == list(FILES)[4:8]
    test = data.queries("nfcorpus", "test")
    assert (test.queries, test.documents, test.ids) == ([GALE], [BANK, STORM], ["M-2", "M-3"])
    assert (test.judgements.query.tolist(), test.judgements.document.tolist()) == ([0, 0], [1, 0])
    assert test.judgements.grade.tolist() == [2, 1] and not test.judged_only
    train = data.queries("scifact", "train")
    assert (train.queries, train.documents, train.judgements.document.tolist()) == ([CAT], [STORM, DOG, BANK], [1])
    assert data.queries("wikiqa", "test").judged_only
    assert data.task("wikiqa") == ("reranking", ()) and data.task("banking77") == ("classification", ())
    with pytest.raises(InputError, match="'trec' holds documents, not queries"):
        data.queries("trec", "test")
    with pytest.raises(InputError, match=r"'wikiqa' has no split 'dev' \(it has test\)"):
        data.queries("wikiqa", "dev")


@pytest.mark.fault(18)
def test_no_split_may_be_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training split of a set that is not for training is kept out of the corpus, and the documents."""
    data = written(monkeypatch, tmp_path, ["scifact", "trec"])
    assert set(data.fingerprints().tolist()) == {fingerprint(text) for text in (STORM, DOG, BANK, GALE, CAT)}
    sets = data.provenance()["sets"]
    assert sets["scifact"]["distinct"]["all"]["sentences"] == 3
    assert sets["trec"]["overlaps"]["train"]["scifact/all"]["sentences"] == 2


@pytest.mark.parametrize("name", registry.BENCHMARKS)
def test_a_table_says_how_it_is_scored(name: str) -> None:
    """Its protocols are of its type of task, and its main figure is one of theirs; words are rated pairs."""
    for spec in registry.BENCHMARKS[name].tables:
        kind = TASKS[spec.task]
        assert set(spec.protocols) <= set(kind.protocols)
        expected = {"queries": {"retrieval", "reranking"}, "documents": {"classification", "clustering"}}
        assert spec.task in expected.get(spec.kind, {"sts", "pair_classification"})
        assert (spec.kind == "queries") == bool(spec.passages) == bool(spec.judgements)
        if spec.scored and spec.protocols != ("sgd",):
            assert spec.main_metric in {metric for each in kind.protocols.values() for metric in each.metrics}
        if spec.task == "sts":
            assert spec.scale is not None


@pytest.mark.parametrize("name", ["subj", "mr"])
@pytest.mark.fault(18)
def test_drawn_splits_share_no_text(name: str) -> None:
    """And both classes are in both splits, about as many."""
    [spec] = registry.BENCHMARKS[name].tables
    [table] = build_parts(replace(spec), real(name)).values()
    split, text, label = (table[column].to_pylist() for column in ("split", "text", "label"))
    texts = {part: {t for t, s in zip(text, split, strict=True) if s == part} for part in ("train", "test")}
    assert not texts["train"] & texts["test"]
    counts = Counter(zip(split, label, strict=True))
    assert 0.45 < counts["test", "1"] / spec.rows["test"] < 0.55
