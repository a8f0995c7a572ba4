"""The refine stage: its samples, counts and files."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from gensim.test.utils import datapath

from reproductions.paper1.word_vectors import refinement as refine
from reproductions.paper1.word_vectors.corpus import read_sentences
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.options import Refine
from sentence_distillery.io.artifacts import read_table, write_table
from sentence_distillery.io.ragged import TokenIds
from stages.paper1 import refine as refine_stage
from stages.paper1 import skipgram
from stages.paths import CURVES, REFINED, SENTENCES, SKIPGRAM
from tests.workspace import demo_params

from .conftest import REPULSION, SCHEMA, write_corpus, write_params

CURVE = CURVES / "refine.csv"
CONTRASTIVE = {"epochs": 2, "batch_size": 64}


def curve() -> list[dict[str, float]]:
    with CURVE.open(encoding="utf-8", newline="") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def counters() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("reports/counters/refine.json").read_text())
    return found


def write_contrastive() -> None:
    write_params(refine={"objective": "contrastive"}, contrastive=CONTRASTIVE)


def written() -> dict[str, bytes]:
    """Return the bytes of the stage's outputs."""
    return {path.name: path.read_bytes() for path in (*REFINED.iterdir(), CURVE)}


@pytest.fixture
def trained(workspace: Path) -> Path:
    skipgram.main()
    return workspace


def displacement() -> float:
    """How far the words have moved, whose counts stay."""
    before, after = WordVectors.load(SKIPGRAM), WordVectors.load(REFINED)
    assert (after.words, after.counts.tolist()) == (before.words, before.counts.tolist())
    moves = np.linalg.norm(after.vectors - before.vectors, axis=1) / np.linalg.norm(before.vectors, axis=1)
    return float(moves.mean())


def test_repulsion(trained: Path) -> None:
    """Files and counters, and one seed makes the same bytes."""
    refine_stage.main()
    assert [row["iteration"] for row in curve()] == [1, 2, 3]
    assert 0 < displacement() < 0.01
    assert curve()[-1]["displacement"] == pytest.approx(displacement(), rel=1e-3)
    assert (counters()["unit"], counters()["total"]) == ("sentences", 200)
    config = json.loads((REFINED / "config.json").read_text())
    assert (config["learning_rate"], config["skipgram"]["window"]) == (1e-4, 5)
    first = written()
    refine_stage.main()
    assert written() == first


@pytest.mark.fault(27)
def test_contrastive(trained: Path) -> None:
    """Files and counters, and one seed makes the same bytes."""
    write_contrastive()
    refine_stage.main()
    assert list(curve()[0]) == ["iteration", "mean_kl", "displacement", "loss", "related_kl"]
    assert [row["iteration"] for row in curve()] == [1, 2]
    assert displacement() > 0.05
    assert curve()[-1]["displacement"] == pytest.approx(displacement(), rel=1e-4)
    index = WordVectors.load(SKIPGRAM).index
    known = [sum(word in index for word in words) for words in read_sentences(SENTENCES, "content")]
    assert counters()["kept"] == sum(count >= 2 for count in known)
    assert counters()["dropped"] == {"fewer than two known words": sum(count < 2 for count in known)}
    config = json.loads((REFINED / "config.json").read_text())
    assert (config["objective"], config["margin"], config["epochs"]) == ("contrastive", 0.2, 2)
    assert "iterations" not in config and config["skipgram"]["window"] == 5
    first = written()
    refine_stage.main()
    assert written() == first


def test_contrastive_reads_articles_not_sentences_alone(trained: Path) -> None:
    """The same sentences as articles of one sentence each have no neighbours, and other vectors come out."""
    write_contrastive()
    refine_stage.main()
    first = (REFINED / "vectors.safetensors").read_bytes()
    pairs = counters()["details"]["pairs"]
    for part in sorted(SENTENCES.iterdir()):
        table = read_table(part, SCHEMA)
        offset = 1000 * int(part.stem[-1])
        write_table(part, table.set_column(0, "document", pa.array([offset + row for row in range(len(table))])))
    refine_stage.main()
    assert counters()["details"]["pairs"] == counters()["kept"] < pairs
    assert (REFINED / "vectors.safetensors").read_bytes() != first


@pytest.mark.fault(19)
def test_one_article_has_nothing_unrelated(trained: Path) -> None:
    """A corpus of one article is refused with the remedy."""
    (SENTENCES / "part-00001.parquet").unlink()
    documents = Path(datapath("lee_background.cor")).read_text(encoding="utf-8").splitlines()
    write_corpus(documents[:1])
    write_contrastive()
    with pytest.raises(SystemExit, match=r"all in one article, so none is unrelated.*add more text"):
        refine_stage.main()
    assert not REFINED.exists()


@pytest.mark.fault(19)
def test_sentences_of_unknown_words_are_counted(trained: Path) -> None:
    """A sentence without a known word is a counted drop, as the printed `continue`."""
    write_corpus(["Qwxz vbnm. Zzyx"], part=2)
    write_params(refine=REPULSION | {"iterations": 1, "sentences": 100_000})
    refine_stage.main()
    known = set(WordVectors.load(SKIPGRAM).words)
    empty = sum(not known.intersection(words) for words in read_sentences(SENTENCES, "content"))
    assert empty >= 2
    assert counters()["dropped"] == {"zero vector": empty}
    assert counters()["total"] == len(list(read_sentences(SENTENCES, "content")))


def test_no_known_sentence(trained: Path) -> None:
    for part in SENTENCES.iterdir():
        part.unlink()
    write_corpus(["Qwxz vbnm. Zzyx"])
    with pytest.raises(SystemExit, match=r"0 of 2 sentences drawn .* no pair can be made"):
        refine_stage.main()
    assert not REFINED.exists()


@pytest.mark.parametrize(
    ("objective", "rate", "reason"),
    [
        ("repulsion", 1e308, r"The loss is -?(nan|inf) at epoch \d, step \d"),
        ("repulsion", 1e200, "Some refined vectors are not finite in float32"),
        ("contrastive", 1e38, ""),
    ],
)
@pytest.mark.fault(23)
def test_divergence_keeps_what_was_there(trained: Path, objective: str, rate: float, reason: str) -> None:
    """A loss or a result that is not finite stops the stage with the remedy; earlier output stays."""
    refine_stage.main()
    before = written()
    write_params(
        refine=REPULSION | {"objective": objective, "learning_rate": rate},
        contrastive=CONTRASTIVE | {"learning_rate": rate, "optimizer": "sgd"},
    )
    with pytest.raises(SystemExit, match=rf"{reason}.*Lower learning_rate"):
        refine_stage.main()
    assert written() == before


def test_draw_is_seeded_and_without_repeats() -> None:
    params = Refine(**demo_params()["refine"] | {"sentences": 5})
    corpus = TokenIds.from_lists([[number] for number in range(20)])
    drawn = refine.draw(corpus, params).ids.tolist()
    assert drawn == refine.draw(corpus, params).ids.tolist()
    assert len(set(drawn)) == 5
    assert drawn != sorted(drawn)
