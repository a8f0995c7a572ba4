"""The refine stage: what it draws, counts and writes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from stages.params import load_params
from stages.ragged import TokenIds
from stages.vectors import refine, skipgram
from stages.vectors.corpus import SENTENCES, read_sentences
from stages.vectors.model import REFINED, SKIPGRAM, WordVectors

from .conftest import write_corpus, write_params


def curve() -> list[dict[str, float]]:
    with refine.CURVE.open(encoding="utf-8", newline="") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


@pytest.fixture
def trained(workspace: Path) -> Path:
    skipgram.main()
    return workspace


def test_files_and_counters(trained: Path) -> None:
    refine.main()
    before, after = WordVectors.load(SKIPGRAM), WordVectors.load(REFINED)
    assert after.words == before.words
    assert after.counts.tolist() == before.counts.tolist()
    lengths = np.linalg.norm(before.vectors, axis=1)
    moved = (np.linalg.norm(after.vectors - before.vectors, axis=1) / lengths).mean()
    assert [row["iteration"] for row in curve()] == [1, 2, 3]
    assert 0 < moved < 0.01
    assert curve()[-1]["displacement"] == pytest.approx(moved, rel=1e-3)
    summary = json.loads(Path("reports/counters/refine.json").read_text())
    assert summary["unit"] == "sentences"
    assert summary["total"] == 200
    config = json.loads((REFINED / "config.json").read_text())
    assert config["learning_rate"] == 1e-4
    assert config["skipgram"]["window"] == 5


def test_the_same_bytes_twice(trained: Path) -> None:
    """fault 27: one seed gives the same bytes."""
    refine.main()
    first = {path.name: path.read_bytes() for path in REFINED.iterdir()} | {"curve": refine.CURVE.read_bytes()}
    refine.main()
    second = {path.name: path.read_bytes() for path in REFINED.iterdir()} | {"curve": refine.CURVE.read_bytes()}
    assert first == second


def test_sentences_of_unknown_words_are_counted(trained: Path) -> None:
    """fault 19: a sentence without a known word is a counted drop, as the printed `continue`."""
    write_corpus(["Qwxz vbnm. Zzyx"], part=2)
    write_params(refine={"iterations": 1, "sentences": 100_000})
    refine.main()
    known = set(WordVectors.load(SKIPGRAM).words)
    empty = sum(not known.intersection(words) for words in read_sentences(SENTENCES, "content"))
    summary = json.loads(Path("reports/counters/refine.json").read_text())
    assert empty >= 2
    assert summary["dropped"] == {"zero vector": empty}
    assert summary["total"] == len(list(read_sentences(SENTENCES, "content")))


def test_no_known_sentence(trained: Path) -> None:
    for part in SENTENCES.iterdir():
        part.unlink()
    write_corpus(["Qwxz vbnm. Zzyx"])
    with pytest.raises(SystemExit, match=r"0 of 2 sentences drawn .* there is no pair"):
        refine.main()
    assert not REFINED.exists()


@pytest.mark.parametrize(
    ("learning_rate", "reason"),
    [(1e308, r"the loss is -?(nan|inf) in iteration \d, batch \d"), (1e200, "no finite float32 after 3 iterations")],
)
def test_divergence_keeps_what_was_there(trained: Path, learning_rate: float, reason: str) -> None:
    """fault 23: a loss or a result that is not finite stops the stage with the remedy; earlier output stays."""
    refine.main()
    before = (REFINED / "vectors.safetensors").read_bytes()
    write_params(refine={"learning_rate": learning_rate, "sentences": 200, "iterations": 3})
    with pytest.raises(SystemExit, match=rf"{reason}; lower refine\.learning_rate"):
        refine.main()
    assert (REFINED / "vectors.safetensors").read_bytes() == before


def test_no_skipgram_vectors(workspace: Path) -> None:
    with pytest.raises(SystemExit, match=r"models/skipgram/vocabulary\.parquet cannot be read: it does not exist"):
        refine.main()


def test_draw_is_seeded_and_without_repeats(workspace: Path) -> None:
    write_params(refine={"sentences": 5})
    params = load_params().refine
    corpus = TokenIds.from_lists([[number] for number in range(20)])
    drawn = refine.draw(corpus, params).ids.tolist()
    assert drawn == refine.draw(corpus, params).ids.tolist()
    assert len(set(drawn)) == 5
    assert drawn != sorted(drawn)
