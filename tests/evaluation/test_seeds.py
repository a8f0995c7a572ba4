"""Other seeds: what is trained again, what is kept between runs, and means and deviations by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stages.benchmarks.data import PairSet
from stages.evaluation import seeds
from stages.evaluation.results import SEEDS, read_results
from stages.evaluation.seeds import KEPT, summary
from stages.student import student
from stages.vectors import fasttext, refine, skipgram
from tests.student.conftest import DOCUMENTS, write_benchmarks, write_soft_labels
from tests.vectors.conftest import write_corpus, write_params

SMALL = {"dimension": 6, "minimum_count": 1, "epochs": 1}
SECTIONS: dict[str, Any] = {
    "skipgram": SMALL,
    "fasttext": SMALL | {"buckets": 50},
    "contrastive": {"epochs": 1},
    "student": {"dimension": 6, "epochs": 2, "batch_size": 64},
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current directory: a small run of all that is trained again, and what seed 2 made of it."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("seeds"))
        patch.setenv("DISTILLERY_DEVICE", "cpu")
        torch.set_num_threads(1)
        write_corpus(DOCUMENTS[:4], part=0)
        write_corpus(DOCUMENTS[4:], part=1)
        write_soft_labels()
        write_benchmarks(samples=("dev", "test"))
        write_params(**SECTIONS, seeds={"values": [2]})
        for stage in (skipgram, fasttext, refine, student, seeds):
            stage.main()
        yield Path()
    torch.set_num_threads(threads)


def kept() -> dict[str, dict[str, dict[str, float]]]:
    """Figures by file, then by system."""
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in KEPT.iterdir()}


def test_mean_and_deviation_by_hand() -> None:
    """0.61, 0.62, 0.63 are 0.62 with 0.01; a figure of one sample alone has no spread and no row."""
    pairs = PairSet("stsb", "test", ["a"] * 4, ["b"] * 4, np.zeros(4, np.float32), None, (0.0, 5.0))
    samples = [{"student": {"stsb/pearson": value}} for value in (0.61, 0.62, 0.63)]
    samples[0]["student"]["stsb/mae"] = 1.5
    (row,) = summary(samples, [pairs])
    assert (row.system, row.dataset, row.metric, row.n, row.seeds) == ("student", "stsb", "pearson", 4, 3)
    assert row.value == pytest.approx(0.62) and row.spread == pytest.approx(0.01)


def test_everything_that_trains_in_minutes(workspace: Path) -> None:
    rows = read_results(SEEDS)
    assert list(dict.fromkeys(row["system"] for row in rows)) == ["skip-gram", "refined", "FastText", "student"]
    assert {(row["dataset"], row["protocol"], row["seeds"]) for row in rows} == {("samples", "mean", "2")}
    assert all(float(row["spread"]) > 0 for row in rows if row["metric"] == "pearson")
    found = {system for figures in kept().values() for system in figures}
    assert found == {"skip-gram", "refined", "FastText", "student"} and len(kept()) == 3


def test_what_is_done_is_kept(workspace: Path) -> None:
    """fault 2: a later run takes the figures that are there and makes the one that is missing, the same again."""
    before, rows = kept(), SEEDS.read_bytes()
    name = next(name for name, figures in before.items() if "student" in figures)
    (KEPT / name).unlink()
    times = {file.name: file.stat().st_mtime_ns for file in KEPT.iterdir()}
    seeds.main()
    assert kept() == before and SEEDS.read_bytes() == rows
    assert {file: (KEPT / file).stat().st_mtime_ns for file in times} == times


def test_another_parameter_is_another_figure(workspace: Path) -> None:
    """fault 14: only what depends on it is trained again."""
    before = kept()
    write_params(**SECTIONS | {"fasttext": SMALL | {"buckets": 40}}, seeds={"values": [2]})
    seeds.main()
    new = [figures for name, figures in kept().items() if name not in before]
    assert [list(figures) for figures in new] == [["FastText"]]


@pytest.mark.parametrize(("values", "reason"), [([1], "is skipgram.seed"), ([3, 2, 3], "has a seed twice")])
def test_a_seed_that_would_count_twice(workspace: Path, values: list[int], reason: str) -> None:
    write_params(**SECTIONS, seeds={"values": values})
    with pytest.raises(SystemExit, match=reason):
        seeds.main()


def test_without_other_seeds(workspace: Path) -> None:
    write_params(**SECTIONS, seeds={"values": []})
    seeds.main()
    assert read_results(SEEDS, may_be_empty=True) == []
