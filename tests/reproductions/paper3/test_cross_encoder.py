"""Cross-encoders of paper 3: a small one learns what is in the other sentence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproductions.paper2.pairs.options import ModernLearning
from reproductions.paper3.component_focus.options import ComponentTraining
from reproductions.paper3.cross_encoder import CrossEncoder, rows
from reproductions.paper3.section import series, tables
from reproductions.saved_matrix import keep_cells
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet, Split
from sentence_distillery.io.checksums import ledger
from stages import paths
from stages.benchmarks import benchmarks
from stages.paper3 import cross_encoder as stage
from stages.stage import written_before
from tests.reproductions.paper2.small import reference, run_stage, write_encoder
from tests.workspace import write_params

LEFT = ["the storm", "the dog", "a woman", "water", "the police"]


def pairs(split: Split) -> PairSet:
    """The rating says which of two words the other sentence has."""
    right = ["the government", "the people"] * len(LEFT)
    ratings = np.array([5.0, 0.0] * len(LEFT), dtype=np.float32)
    return PairSet("stsb", split, [text for text in LEFT for _ in range(2)], right, ratings, None, (0.0, 5.0))


def cross_encoder(directory: Path) -> CrossEncoder:
    training = ComponentTraining(epochs=8, batch_size=2, learning_rate=0.01)
    learning = ModernLearning()
    sets = {split: pairs(split) for split in ("train", "dev", "test")}
    return CrossEncoder(reference(directory / "tiny"), sets, training, learning, directory / "checkpoint")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cross_encoder")
    write_encoder(made / "tiny", "bert")
    return made


def test_it_reads_both_sentences(directory: Path) -> None:
    """Both sentences of a pair are one sequence, so the second one decides; a second call resumes at the end."""
    predicted = cross_encoder(directory).predicted(1)
    assert predicted[::2].min() > predicted[1::2].max() and predicted.min() >= 0 and predicted.max() <= 1
    np.testing.assert_array_equal(cross_encoder(directory).predicted(1), predicted)


def test_its_rows_stand_beside_those_of_bi_encoders() -> None:
    ratings = np.array([0.0, 0.5, 1.0], dtype=np.float32)
    found = rows("tiny", "stsb", [ratings, 1 - ratings], ratings)
    assert [(row.metric, row.number, row.seeds) for row in found] == [("pearson", 0.0, 2), ("spearman", 0.0, 2)]
    assert {(row.system, series(row), row.weight) for row in found} == {("tiny, cross-encoder", "tiny CLS", None)}
    (table,) = tables(found)
    assert [name for name, _ in table.blocks[-1][1]] == ["tiny, cross-encoder"]


def test_the_command_keeps_its_figures(samples: None) -> None:
    """On the sample pairs, with two seeds; the first line says how they were made."""
    write_encoder(Path("tiny"), "bert")
    encoders, training = {"tiny": reference(Path("tiny")).model_dump()}, {"epochs": 1, "seeds": [1, 2]}
    write_params(encoders=encoders, component_training=training, benchmarks={"sets": ["samples"]})
    benchmarks.main()
    run_stage(stage, "tiny", "samples")
    (file,) = paths.COMPONENT_RUNS.glob("*.csv")
    assert file.name == "samples.csv"
    found = read_results(file)
    assert [row.metric for row in found] == ["pearson", "spearman"]
    assert {(row.seeds, row.strategy) for row in found} == {(2, "cross-encoder")}
    command = "# python -m stages.paper3.cross_encoder tiny samples, component_training.precision=float32;"
    assert file.read_text(encoding="utf-8").startswith(command)
    assert {row.n for row in found} == {len(BenchmarkData(paths.BENCHMARKS).pairs("samples", "test").sentences1)}

    for name in ("another", "a third"):
        with ledger(written_before()):  # as `publish --matrix` does
            other = replace(found[0], system=name, encoder=name)
            keep_cells([other], ["samples"], paths.COMPONENT_RUNS, name, "2026-11-27")
    assert {row.system for row in read_results(file)} == {"tiny, cross-encoder", "another", "a third"}
