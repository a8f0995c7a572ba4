"""The repulsion stage: a figure for each learning rate and iteration, and their trend."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.stats import spearmanr

from reproductions.paper1.word_vectors.model import WordVectors
from sentence_distillery.evaluation.sets.data import PAIRS
from sentence_distillery.io.artifacts import write_json, write_table
from stages.paper1 import repulsion as repulsion_stage
from stages.paths import BENCHMARKS, CURVES, SENTENCES, SKIPGRAM
from tests.workspace import write_params

CURVE = CURVES / "repulsion.csv"
WORDS = [f"word{number}" for number in range(30)]
RATES, ITERATIONS = [1e-4, 1e-2, 0.3], [0, 2, 5]


def write_pairs(**names: str) -> None:
    """Pair sets by name, each of one split, scored by the words that its sentences share."""
    draw = np.random.default_rng(2)
    sides = [[" ".join(draw.choice(WORDS, size=3, replace=False)) for _ in range(40)] for _ in range(2)]
    scores = [float(len(set(left.split()) & set(right.split()))) for left, right in zip(*sides, strict=True)]
    sets = {}
    for name, split in names.items():
        rows = pa.table([[split] * 40, *sides, scores, [None] * 40], schema=PAIRS)
        write_table(BENCHMARKS / f"{name}.parquet", rows)
        sets[name] = {"kind": "pairs", "scale": [0, 5], "rows": {split: 40}}
    write_json(BENCHMARKS / "provenance.json", {"sets": sets, "absent": {}, "pair_sets": []})


def configure(rates: list[float]) -> None:
    write_params(
        skipgram={"tokens": "all"},
        refine={"sentences": 60, "batch_size": 30},
        repulsion={"learning_rates": rates, "iterations": ITERATIONS},
    )


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The current directory: 90 sentences of 30 words with vectors, and two pair sets."""
    monkeypatch.chdir(tmp_path)
    configure(RATES)
    draw = np.random.default_rng(1)
    vectors = draw.normal(size=(30, 5)).astype(np.float32) + 1
    WordVectors(WORDS, np.arange(30, 0, -1), vectors).save(SKIPGRAM, {})
    sentences = [draw.choice(WORDS, size=4).tolist() for _ in range(90)]
    write_table(SENTENCES / "part-00000.parquet", pa.table({"tokens": sentences}))
    write_pairs(lee="test", stsb="dev")
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def points() -> list[dict[str, str]]:
    repulsion_stage.main()
    with CURVE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counters() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("reports/counters/repulsion.json").read_text())
    return content


def test_a_row_for_each_rate_and_iteration() -> None:
    """Iteration 0 is the same at each rate: nothing has moved, and Spearman is that of the unchanged vectors."""
    rows = points()
    assert [(float(row["learning_rate"]), int(row["iteration"])) for row in rows] == [
        (rate, iteration) for rate in RATES for iteration in ITERATIONS
    ]
    assert (counters()["unit"], counters()["total"], counters()["kept"]) == ("points", 9, 9)
    assert counters()["details"] == {"benchmark": "stsb/dev"}
    model = WordVectors.load(SKIPGRAM)
    table = pq.read_table(BENCHMARKS / "stsb.parquet")
    means = [
        np.stack([model.vectors[[model.index[word] for word in text.split()]].mean(axis=0) for text in side])
        for side in (table["sentence1"].to_pylist(), table["sentence2"].to_pylist())
    ]
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in means]
    expected = spearmanr((units[0] * units[1]).sum(axis=1), table["score"].to_numpy()).statistic
    starts = [row for row in rows if row["iteration"] == "0"]
    assert [float(row["displacement"]) for row in starts] == [0, 0, 0]
    assert [float(row["spearman"]) for row in starts] == pytest.approx([expected] * 3)


def test_without_sts_b() -> None:
    """Lee is next; without any known set every point is counted as lacking a figure, and the run goes on."""
    write_pairs(lee="test")
    assert len(points()) == 9 and counters()["details"] == {"benchmark": "lee/test"}
    write_pairs(sick="dev")
    assert points() == [] and counters()["dropped"] == {"without a figure": 9}


def test_a_rate_that_diverges_ends_early() -> None:
    """Points without a figure are counted, and the others stay."""
    configure([1e-4, 1e308])
    found = [(row["learning_rate"], row["iteration"]) for row in points()]
    assert found == [("0.0001", "0"), ("0.0001", "2"), ("0.0001", "5"), ("1e+308", "0")]
    assert counters()["dropped"] == {"without a figure": 2}
