"""Held-out documents: whole ones, the same in any order, and nothing of them in the training text."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sentence_distillery.corpus.articles import articles_from_texts
from sentence_distillery.corpus.cleaning import clean
from sentence_distillery.corpus.decisions import draw_held_out
from sentence_distillery.corpus.fingerprints import fingerprints, ranks
from sentence_distillery.corpus.options import Clean, HeldOut
from sentence_distillery.corpus.schema import HELD_OUT, HELD_OUT_FILE
from sentence_distillery.io.counters import Counters
from stages.corpus import clean as clean_stage
from tests.corpus.conftest import Workspace

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
CLEAN = Clean(
    language="en",
    minimum_tokens=4,
    maximum_tokens=100,
    near_duplicate_threshold=0.8,
    line_repeats=100,
    shard_documents=16,
)
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


def test_documents_are_taken_in_the_order_of_their_ranks() -> None:
    sizes, identities = np.array([3, 2, 9, 1, 0]), np.arange(5, dtype=np.uint64)
    order = [int(place) for place in np.argsort(ranks(identities, 1)) if sizes[place]]
    left, expected = 7, set()
    for document in order:
        if sizes[document] <= left:
            expected.add(document)
            left -= int(sizes[document])
    held_out = draw_held_out(sizes, identities, HeldOut(share=0.5, maximum_sentences=100, seed=1))
    assert set(np.flatnonzero(held_out)) == expected
    assert sizes[held_out].sum() <= 7
    assert not held_out[[2, 4]].any()  # too large, and without a sentence


def test_ranks_are_spread_and_depend_on_the_seed() -> None:
    identities = np.arange(20_000, dtype=np.uint64)
    one, other = ranks(identities, 1), ranks(identities, 2)
    assert len(np.unique(one)) == len(identities)
    assert 0.09 < (one < np.uint64(2**64 // 10)).mean() < 0.11
    assert abs(np.corrcoef(one.astype(float), other.astype(float))[0, 1]) < 0.03


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


@pytest.mark.parametrize("limit", [1, 3])
def test_at_most_so_many_sentences(limit: int, tmp_path: Path) -> None:
    _, held_out, _ = cleaned(QUESTIONS, tmp_path / "few", OPTIONS.model_copy(update={"maximum_sentences": limit}))
    assert len(held_out) == limit


@pytest.mark.parametrize(("texts", "share"), [(NEWS, 0.0), ([NEWS[0]], 0.2)], ids=["share 0", "one document"])
def test_nothing_is_held_out(texts: list[str], share: float, tmp_path: Path) -> None:
    training, held_out, counted = cleaned(texts, tmp_path / "none", OPTIONS.model_copy(update={"share": share}))
    assert held_out == [] and training
    assert "held out" not in counted["details"]


def test_the_stage(workspace: Workspace) -> None:
    workspace.articles(NEWS)
    workspace.set("held_out", share=0.2)
    clean_stage.main()
    kept, details = workspace.kept(), workspace.counters("clean")["details"]
    assert details["held out"] > 0
    workspace.set("held_out", share=0.0)
    clean_stage.main()
    assert len(workspace.kept()) == len(kept) + details["held out"]
