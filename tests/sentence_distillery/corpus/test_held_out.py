"""Held-out documents: whole ones, the same in any order, and nothing of them in the training text."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sentence_distillery.corpus.articles import articles_from_texts
from sentence_distillery.corpus.cleaning import clean
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.corpus.held_out import draw_pool, read_pool, write_pool
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.schema import HELD_OUT, HELD_OUT_FILE
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.runtime.options import Shards
from stages.corpus import clean as clean_stage
from stages.params import load_params, main
from tests.sentence_distillery.corpus.conftest import Workspace

PLACES = ("harbour", "market", "village", "hospital", "stadium", "library", "station", "museum")
PEOPLE = ("captain", "judge", "doctor", "farmer", "minister")
SHARED = "Nobody was hurt in the accident last night."
NEWS = [
    f"The {person} waited for hours at the {place} in the cold rain. A report about the {place} is expected on Monday "
    f"from the {person}. {SHARED}"
    for place in PLACES
    for person in PEOPLE
]
QUESTIONS = [f"Why was the {person} sent to the {place} today?" for place in PLACES for person in PEOPLE]
CLEAN = Clean(line_repeats=100, shard_documents=16)
OPTIONS = HeldOut(share=0.2, maximum_sentences=1000, seed=1)


def cleaned(texts: list[str], directory: Path, held_out: HeldOut | None) -> tuple[list[str], list[str], dict[str, Any]]:
    """The training sentences, the held-out ones, and the counters."""
    counters = Counters("sentences")
    clean(articles_from_texts(texts), directory, CLEAN, counters=counters, held_out=held_out)
    parts = sorted(directory.glob("part-*.parquet"))
    training = [text for part in parts for text in pq.read_table(part)["text"].to_pylist()]
    table = pq.read_table(directory / HELD_OUT_FILE)
    assert table.schema.equals(HELD_OUT)
    return training, table["text"].to_pylist(), counters.summary()


@pytest.mark.parametrize("texts", [NEWS, QUESTIONS], ids=["articles", "short texts"])
def test_nothing_of_a_held_out_document_is_in_the_training_text(texts: list[str], tmp_path: Path) -> None:
    training, held_out, counted = cleaned(texts, tmp_path / "with", OPTIONS)
    everything, none, _ = cleaned(texts, tmp_path / "without", None)
    assert none == []
    assert sorted([*training, *held_out]) == sorted(everything)
    assert 0.1 * len(everything) < len(held_out) <= 0.2 * len(everything)
    assert not set(fingerprints(training).tolist()) & set(fingerprints(held_out).tolist())
    assert counted["kept"] == len(training)
    assert counted["details"]["held out"] == len(held_out)
    documents = [text for text in texts if any(sentence in text for sentence in held_out if sentence != SHARED)]
    assert counted["details"]["documents held out"] == len(documents)
    assert not [sentence for sentence in training if sentence != SHARED and any(sentence in text for text in documents)]


def test_the_order_of_the_documents_makes_no_difference(tmp_path: Path) -> None:
    _, one, _ = cleaned(QUESTIONS, tmp_path / "one", OPTIONS)
    _, other, _ = cleaned(QUESTIONS[::-1], tmp_path / "other", OPTIONS)
    assert sorted(one) == sorted(other)
    _, another, _ = cleaned(QUESTIONS, tmp_path / "another", OPTIONS.model_copy(update={"seed": 2}))
    assert sorted(one) != sorted(another)


@pytest.mark.parametrize(
    ("texts", "changes", "number"),
    [
        (QUESTIONS, {"maximum_sentences": 3}, 3),
        (NEWS, {"maximum_sentences": 5}, 4),  # of two in each document
        (NEWS, {"share": 0.0}, 0),
        ([NEWS[0]], {}, 0),
    ],
    ids=["maximum", "whole documents", "share 0", "one document"],
)
def test_how_many_are_held_out(texts: list[str], changes: dict[str, Any], number: int, tmp_path: Path) -> None:
    training, held_out, counted = cleaned(texts, tmp_path / "sentences", OPTIONS.model_copy(update=changes))
    assert len(held_out) == number and training
    assert counted["details"].get("held out", 0) == number


def drawn(texts: list[str], file: Path) -> int:
    return draw_pool(articles_from_texts(texts), CLEAN, OPTIONS, file, Shards(processes=1, dask=None))


def test_a_pool_stays_the_same_as_the_text_grows(tmp_path: Path) -> None:
    """Twice the text, in another order: the same held-out texts, and none of them in the training text."""
    half = QUESTIONS[::2]
    number = drawn(half, tmp_path / "pool.csv")
    pool = read_pool(tmp_path / "pool.csv")
    assert pool is not None and len(pool) == number == 4
    for name, texts in (("half", half), ("all", QUESTIONS[::-1]), ("without", QUESTIONS[1::2])):
        counters = Counters("sentences")
        clean(articles_from_texts(texts), tmp_path / name, CLEAN, counters=counters, held_out=OPTIONS, pool=pool)
        assert pq.read_table(tmp_path / name / HELD_OUT_FILE).equals(pool.cast(HELD_OUT))
        parts = sorted((tmp_path / name).glob("part-*.parquet"))
        training = [text for part in parts for text in pq.read_table(part)["text"].to_pylist()]
        assert training and set(training) <= set(texts) - set(pool["text"].to_pylist())
        assert counters.details["held out"] == number
        assert counters.dropped.total() + len(training) == len(texts)
        assert counters.dropped["held out"] >= len(set(texts) & set(pool["text"].to_pylist()))


def test_nothing_that_nearly_repeats_the_pool(tmp_path: Path) -> None:
    """Neither an article with one other word, nor one that quotes a sentence of the pool, all of it."""
    filler = " ".join(f"word{number}" for number in range(40))
    article = f"The council met in the hall with {filler}. Nobody spoke about the bridge that day."
    clean(articles_from_texts([article, *NEWS]), tmp_path / "one", CLEAN)
    sentences = pq.read_table(tmp_path / "one/part-00000.parquet", columns=HELD_OUT.names)
    write_pool(sentences.slice(0, 2).cast(HELD_OUT), tmp_path / "pool.csv")
    pool = read_pool(tmp_path / "pool.csv")
    nearly, quoting = article.replace("hall", "house"), f"{NEWS[0]} Nobody spoke about the bridge that day!"
    clean(articles_from_texts([nearly, quoting]), tmp_path / "sentences", CLEAN, held_out=OPTIONS, pool=pool)
    training = " ".join(pq.read_table(tmp_path / "sentences/part-00000.parquet")["text"].to_pylist())
    assert "captain" in training and "word7" not in training and "bridge" not in training


def test_a_damaged_pool(tmp_path: Path) -> None:
    file = tmp_path / "pool.csv"
    file.write_text("document,position,text\n", encoding="utf-8")
    assert read_pool(file) is None
    for numbers in ("one,0", "-1,0", f"{2**63},0", f"1,{2**31}"):
        file.write_text(f"document,position,text\n{numbers},A storm.\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"pool\.csv"):
            read_pool(file)


def test_the_pool_of_a_run(workspace: Workspace) -> None:
    """`stages.params pool` keeps what the run has held out, once; the next run holds out the same."""
    workspace.articles(QUESTIONS)
    clean_stage.main()
    held_out = pq.read_table("data/corpus/sentences/held_out.parquet")
    main(["pool"])
    pool = Path("conf/held_out/demo.csv")
    assert load_params().held_out.pool == str(pool)
    kept = read_pool(pool)
    assert kept is not None and kept["text"].to_pylist() == held_out["text"].to_pylist()
    with pytest.raises(SystemExit, match=r"conf/held_out/demo\.csv exists, and its figures are of these texts"):
        main(["pool"])
    workspace.articles(QUESTIONS[::-1])
    clean_stage.main()
    assert workspace.counters("clean")["details"]["fixed pool"] == 1
    assert len(workspace.kept()) == len(QUESTIONS) - len(kept)
