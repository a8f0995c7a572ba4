"""Other seeds: the repeated trainings."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from reproductions.paper1.ablation import Method, cosines_of, gains, rows
from reproductions.paper1.gains import SET
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.systems import registry
from reproductions.systems.registration import SystemInputs, SystemOptions
from reproductions.systems.seeds import measured
from reproductions.systems.systems import StudentSystem, System, TeacherSystem, WordSystem
from sentence_distillery.corpus.text import tokenize
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.present import pair_sets
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import read_json
from stages import paths
from stages.ablations import fine_tuned_student, mlp_head
from stages.ablations import seeds as seeds_stage
from stages.ablations.all_systems import students
from stages.distillation import student
from stages.paper1 import fasttext, paper1_ablation, paper_student, refine, simcse, skipgram
from stages.params import load_params
from stages.paths import SEEDS
from tests.reproductions.paper1.conftest import write_corpus, write_params
from tests.reproductions.paper2.small import run_stage
from tests.sentence_distillery.distillation.conftest import (
    DOCUMENTS,
    write_benchmarks,
    write_fine_tuned_labels,
    write_refined,
    write_soft_labels,
)
from tests.tiny_bert import write_tiny_bert

SMALL = {"dimension": 6, "minimum_count": 1, "epochs": 1}
SECTIONS: dict[str, Any] = {
    "skipgram": SMALL,
    "fasttext": SMALL | {"buckets": 50},
    "contrastive": {"epochs": 1},
    "paper_student": {"epochs": 2},
    "simcse": {"enabled": True, "reference": "tiny", "sha256": None, "sentences": 8, "batch_size": 4},
    "student": {"dimension": 6, "epochs": 2, "batch_size": 64},
    "mlp_head": {"units": 4, "epochs": 2, "batch_size": 64},
    "fine_tuned_student": {"epochs": 1, "batch_size": 16},
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current directory: the corpus, the benchmarks and the soft labels of a small run."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("seeds"))
        patch.setenv("DISTILLERY_DEVICE", "cpu")
        torch.set_num_threads(1)
        write_corpus(DOCUMENTS[:4], part=0)
        write_corpus(DOCUMENTS[4:], part=1)
        write_soft_labels()
        write_fine_tuned_labels()
        write_refined()
        write_benchmarks(stsb=("train", "dev", "test"))
        Path("tiny").mkdir()
        write_tiny_bert(Path("tiny"))
        write_params(**SECTIONS)
        yield Path()
    torch.set_num_threads(threads)


def train_again(seed: int) -> list[Result]:
    run_stage(seeds_stage, str(seed))
    return read_results(SEEDS / f"{seed}.csv")


def test_paper_1s_method_taken_apart(workspace: Path) -> None:
    """The command saves the figures and the gains that the library makes of the same parameters."""
    run_stage(paper1_ablation, "1", "2")
    params, pairs = load_params(), BenchmarkData(paths.BENCHMARKS).pairs(*SET)
    sections = (params.skipgram, params.refine, params.contrastive, params.paper_student, params.evaluate)
    method = Method(LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS), *sections, Path("elsewhere"))
    seeded = method.with_seed(7)
    assert [part.seed for part in (seeded.skipgram, seeded.refine, seeded.contrastive, seeded.student)] == [7] * 4
    counted = list[int]()
    cosines, _ = cosines_of(method, pairs, [1, 2], counted.append)
    untimed = [row for row in read_results(paths.PAPER1_RUNS / "ablation.csv") if row.metric != "seconds"]
    expected = [row for row in rows(cosines, pairs, {}) if row.metric != "seconds"]
    assert counted == [1, 2] and {(row.seeds, row.paper) for row in untimed} == {(2, "1")}
    assert [(row.system, row.metric, row.number) for row in untimed] == [
        (row.system, row.metric, None if row.number is None else round(row.number, 4)) for row in expected
    ]
    saved = read_json(paths.PAPER1_RUNS / "ablation.json", list[dict[str, Any]])
    assert saved == [asdict(gain) for gain in gains(cosines, pairs)]
    command = "python -m stages.paper1.paper1_ablation 1 2; teacher "
    assert command in (paths.PAPER1_RUNS / "ablation.csv").read_text(encoding="utf-8").splitlines()[0]


def test_figures_of_the_runs_own_seed(workspace: Path) -> None:
    """The figures of a seed equal those of the run's stages with that seed; those of another seed are others."""
    rows, others = train_again(2), train_again(3)
    assert {(row.dataset, row.protocol, row.seed, row.low, row.high) for row in rows} == {
        ("stsb", "mean", 2, None, None)
    }
    assert [row.metric for row in rows[:3]] == ["pearson", "spearman", "mae"]
    for row, other in zip(rows, others, strict=True):
        assert row.metric != "pearson" or row.value != other.value
    write_params(**{name: section | {"seed": 2} for name, section in SECTIONS.items()})
    variants = (mlp_head, fine_tuned_student)
    for stage in (paper_student, simcse, skipgram, fasttext, refine, student, *variants):
        stage.main()
    sets = pair_sets(BenchmarkData(paths.BENCHMARKS), "pairs", ("test",))
    params = load_params()
    texts = [text for pairs in sets for text in (*pairs.sentences1, *pairs.sentences2)]
    run = SystemInputs(
        paths.MODELS,
        SystemOptions(512, fasttext=params.fasttext, simcse=params.simcse),
        lambda: (word for text in texts for word in tokenize(text)),
    )
    contrasted = registry.simcse(run)
    assert isinstance(contrasted, TeacherSystem)
    own: list[System] = [
        WordSystem("skip-gram", WordVectors.load(paths.SKIPGRAM), content_only=True),
        WordSystem("refined", WordVectors.load(paths.REFINED), content_only=True),
        registry.fasttext(run),
        StudentSystem(StaticEncoder.load(paths.PAPER_STUDENT), "paper student"),
        StudentSystem(StaticEncoder.load(paths.STUDENT)),
        StudentSystem(StaticEncoder.load(paths.MLP_HEAD), "student, MLP head"),
        StudentSystem(StaticEncoder.load(paths.FINE_TUNED_STUDENT), "student, fine-tuned"),
        contrasted,
    ]
    there = {name: load() for name, load in students()}  # of which `domain` and `all_systems` have further figures
    assert list(there) == [system.name for system in own if isinstance(system, StudentSystem)][1:]
    assert all(isinstance(encoder, StaticEncoder) for encoder in there.values())
    write_results(SEEDS / "own.csv", [result for system in own for result in measured(system, sets, 2)])
    assert (SEEDS / "own.csv").read_bytes() == (SEEDS / "2.csv").read_bytes()


def test_a_seed_that_would_count_twice(workspace: Path) -> None:
    write_params(**SECTIONS)
    with pytest.raises(SystemExit, match=r"is skipgram\.seed"):
        train_again(1)
