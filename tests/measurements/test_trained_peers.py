"""measurements/trained_peers.py: the text it trains on, its batches, and its loss on pairs."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from measurements import trained_peers
from measurements.trained_peers import Corpus, batches, read_corpus, static_embedding, train
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError

PAIRS = [(f"{name} storm", f"{name} gale") for name in ("red", "blue", "green", "black")]


def written(folder: Path) -> Path:
    (folder / "news").mkdir()
    (folder / "captions").mkdir()
    table = pa.table({"title": ["A storm", None], "text": ["It closed the port.", "Rates fell."]})
    pq.write_table(table, folder / "news/news.parquet")
    lines = ["1.jpg#0\tA dog runs .", "1.jpg#1\tA dog is running .", "1.jpg#2\tA brown dog .", "2.jpg#0\tA cat ."]
    (folder / "captions/Flickr8k.token.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_text_of_dev_and_test_splits_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BenchmarkData, "fingerprints", lambda self: fingerprints(["a dog is running", "other"]))
    corpus = read_corpus([written(tmp_path)], BenchmarkData(tmp_path))
    assert corpus.captions == [["A dog runs .", "A brown dog ."], ["A cat ."]]
    assert corpus.pairs == [("A dog runs .", "A brown dog ."), ("A storm", "It closed the port.")]
    assert sorted(corpus.texts) == ["A brown dog .", "A cat .", "A dog runs .", "It closed the port.", "Rates fell."]


def test_a_missing_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder stsb is missing; give the directory that has it"):
        train([tmp_path], tmp_path / "out", ["stsb"])


def test_batches_have_each_pair_once_an_epoch_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained_peers, "BATCH", 2)
    found = [pair for batch in batches(PAIRS, 2) for pair in batch]
    assert sorted(found[:4]) == sorted(found[4:]) == sorted(PAIRS)
    assert found[:4] != found[4:]


def test_texts_of_a_pair_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(trained_peers, "BATCH", 4)
    encoder = static_embedding(PAIRS, 20)
    left, right = (encoder.encode([pair[side] for pair in PAIRS], normalize_embeddings=True) for side in (0, 1))
    assert ((left @ right.T).argmax(axis=1) == np.arange(4)).all()
    assert Corpus([], [["A dog .", "A brown dog ."]]).pairs == [("A dog .", "A brown dog .")]
