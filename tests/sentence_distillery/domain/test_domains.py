"""measurements/domains.py: a table for each domain, and a second call that does nothing again."""

import csv
from pathlib import Path

import pytest

from measurements import domains
from sentence_distillery.domain.measures import METRICS
from sentence_distillery.evaluation.results import read_results
from tests.sentence_distillery.distillation.test_distill import SENTENCES
from tests.tiny_bert import write_tiny_bert


@pytest.fixture
def source(on_one_thread: None, tmp_path: Path) -> Path:
    folder = tmp_path / "suite/classification/banking77"
    folder.mkdir(parents=True)
    for split, texts in (("train", SENTENCES[::2]), ("test", SENTENCES[1::2])):
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([("text", "category"), *((text, text.split()[4]) for text in texts)])
    write_tiny_bert(tmp_path / "tiny")
    return tmp_path / "suite"


def test_a_domain(source: Path) -> None:
    arguments = [str(source), "--domains", "banking77", "--seeds", "1", "2", "--peers", "released"]
    arguments += ["--teacher", "./tiny", "--dimension", "6"]
    domains.main(arguments)
    rows = read_results(Path("reports/runs/domains/banking77.csv"))
    means = [row for row in rows if row.seed is None]
    metrics = [("full", "accuracy"), ("full_tuned", "accuracy"), *METRICS]
    assert {(row.protocol, row.metric) for row in rows} == set(metrics)
    seeds = {(name, seed) for name in ("student", "student from released") for seed in (None, 1, 2)}
    seeds.add(("released", 1))
    assert {(row.system, row.seed) for row in rows} == seeds
    assert all(row.seeds == 2 and row.spread is not None for row in means)
    (accuracy,) = [row for row in means if (row.system, row.protocol, row.metric) == ("student", "full", "accuracy")]
    own = [row.number for row in rows if row.system == "student" and row.seed and row.protocol == "full"]
    assert accuracy.number == pytest.approx(sum(value or 0.0 for value in own) / 2, abs=1e-4)
    student = Path("domains-work/banking77/student-1/model.safetensors")
    written = student.stat().st_mtime_ns
    first = Path("reports/runs/domains/banking77.csv").read_bytes()
    domains.main(arguments)
    assert (student.stat().st_mtime_ns, Path("reports/runs/domains/banking77.csv").read_bytes()) == (written, first)


def test_a_directory_without_the_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        domains.main([str(tmp_path), "--domains", "medical"])
    assert str(caught.value.code).startswith(f"domains: {tmp_path}: the folder nfcorpus is missing; give the directory")
