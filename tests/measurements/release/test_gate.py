"""The comparison of a new encoder with the released one: known differences, kinds, intervals, no test split."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from measurements.release.gate import KINDS, compare, read
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.evaluation.sets.data import DOCUMENTS, PAIRS, BenchmarkData
from sentence_distillery.io.artifacts import InputError, write_json, write_table
from sentence_distillery.io.ragged import Floats

WORDS = [f"word{number}" for number in range(40)]
TEXTS = [f"{one} {other}" for one in WORDS for other in WORDS[:10]]


def encoder(seed: int, noise: float = 0.0) -> StaticEncoder:
    """An encoder of random vectors; the same seed gives the same ones, apart from the noise."""
    vectors = np.random.default_rng(1).normal(size=(len(WORDS) + 1, 8)).astype(np.float32)
    vectors += np.float32(noise) * np.random.default_rng(seed).normal(size=vectors.shape).astype(np.float32)
    vectors[0] = 0
    return StaticEncoder(static_tokenizer([UNKNOWN, *WORDS]), vectors)


def entry(kind: str, **rows: int) -> dict[str, object]:
    return {"kind": kind, "scale": [-1, 1], "rows": rows, "sha256": {}, "licence": "none stated"}


def entailed(*scores: Floats) -> list[str]:
    """SICK's labels: the half with the lower ratings is entailed."""
    return ["ENTAILMENT" if value < np.median(each) else "NEUTRAL" for each in scores for value in each]


@pytest.fixture
def data(tmp_path: Path) -> BenchmarkData:
    """STS-B and SICK by the cosines of `encoder(1)`; TREC by the sign of its first dimension.

    The test splits have noise. The labels of SICK say the opposite of its ratings.
    """
    vectors: Floats = encoder(1).encode(TEXTS)
    scores = np.einsum("nd,nd->n", vectors[:-1], vectors[1:]).astype(np.float32)
    test = np.random.default_rng(0).uniform(-1, 1, len(scores)).astype(np.float32)
    splits = ["dev"] * len(scores) + ["test"] * len(test)
    columns = [splits, TEXTS[:-1] * 2, TEXTS[1:] * 2, np.concatenate([scores, test]), [None] * len(splits)]
    write_table(tmp_path / "stsb.parquet", pa.table(columns, schema=PAIRS))
    labels = ["plus" if value > 0 else "minus" for value in vectors[:, 0]]
    rows = [["train"] * len(TEXTS) + ["test"] * 2, [*TEXTS, "a", "b"], [*labels, "plus", "minus"]]
    write_table(tmp_path / "trec.parquet", pa.table(rows, schema=DOCUMENTS))
    pairs = entry("pairs", dev=len(scores), test=len(test))
    write_table(tmp_path / "sick.parquet", pa.table([*columns[:4], entailed(scores, test)], schema=PAIRS))
    sets = {"stsb": pairs, "sick": pairs, "trec": entry("documents", train=len(TEXTS), test=2)}
    write_json(tmp_path / "provenance.json", {"sets": sets, "absent": {}, "pair_sets": []})
    return BenchmarkData(tmp_path)


def test_a_worse_encoder(data: BenchmarkData) -> None:
    similarity, pairs, classification = compare(encoder(1), encoder(2, noise=2.0), data)
    assert (similarity.kind, similarity.sets) == ("similarity", ("stsb", "sick"))
    assert similarity.old == pytest.approx(1.0)
    assert similarity.low < similarity.new - similarity.old < similarity.high < 0
    assert similarity.worse
    assert (classification.kind, classification.sets) == ("classification", ("trec",))
    assert classification.worse
    assert (pairs.kind, pairs.sets) == ("pairs", ("sick",))
    assert pairs.old < pairs.new and not pairs.worse, "its labels are read, and not its ratings"


def test_the_same_encoder(data: BenchmarkData) -> None:
    """The draws are the same ones, so the interval of no difference is a point."""
    for difference in compare(encoder(1), encoder(1), data):
        assert (difference.low, difference.high) == (0.0, 0.0)
        assert not difference.worse


def test_a_quarter_of_the_training_texts_is_scored(data: BenchmarkData) -> None:
    task = read(data, "classification", "trec", "train")
    assert isinstance(task.texts, tuple)
    fitted, scored = task.texts
    assert (len(fitted.texts), len(scored.texts)) == (300, 100)
    assert sorted(fitted.texts + scored.texts) == sorted(TEXTS)
    assert fitted.split == scored.split == "train"


def test_no_test_split_is_read() -> None:
    assert {split for sets in KINDS.values() for _, split in sets} == {"dev", "train"}


def test_an_undefined_figure(data: BenchmarkData) -> None:
    flat = StaticEncoder(static_tokenizer([UNKNOWN, *WORDS]), np.ones((len(WORDS) + 1, 8), np.float32))
    with pytest.raises(InputError, match="stsb/dev has no spearman: "):
        compare(flat, encoder(1), data)
