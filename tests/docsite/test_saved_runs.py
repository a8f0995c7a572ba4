"""Kept runs, and their tables in the documentation."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reproductions.docs.tables.runs import table_of_run as table
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.unavailable import Figure, Unavailable
from stages import paths
from stages.reporting.publish import keep_run, publish_run


def rows(system: str, value: Figure, speed: Figure) -> list[Result]:
    figures = [Result(system, "stsb", "test", "mean", metric, value, 1379) for metric in ("pearson", "spearman")]
    return [*figures, Result(system, "corpus", "", "encode", "sentences_per_second", speed, 128)]


def test_a_system_without_figures_has_dashes(tmp_path: Path) -> None:
    """A reference whose weights are not here is listed, with no figure of any kind."""
    absent = Unavailable("weights not available here")
    write_results(tmp_path / "best.csv", [*rows("student", 0.7867, 300_034.4), *rows("BERT", absent, absent)])
    assert table(tmp_path / "best.csv") == [
        "| system | STS-B test Pearson / Spearman | sentences/s |",
        "| --- | ---: | ---: |",
        "| student | 78.7 / 78.7 | 300,034 |",
        "| BERT | – / – | – |",
    ]


def test_other_seeds_are_kept_and_not_mistaken_for_the_run(tmp_path: Path) -> None:
    """The means over seeds follow the run's own figures, which the documentation shows."""
    own = rows("student", 0.78, 300_034.4)
    results, kept = tmp_path / "results.csv", tmp_path / "best.csv"
    seeds = [tmp_path / f"{seed}.csv" for seed in (2, 3)]
    write_results(results, own)
    for path, value in zip(seeds, (0.77, 0.79), strict=True):
        write_results(path, [replace(row, value=value) for row in own[:2]])
    keep_run([results], seeds, kept, "a command", "2026-11-21")
    assert kept.read_text(encoding="utf-8").startswith("# a command; 2026-11-21; ")
    *first, mean, _ = read_results(kept)
    assert first == read_results(results)
    assert (mean.metric, mean.value, mean.seeds, mean.spread) == ("pearson", 0.78, 3, 0.01)
    assert table(kept)[-1] == "| student | 78.0 / 78.0 | 300,034 |"
    keep_run([results], [], kept, "a command", "2026-11-21")
    assert len(read_results(kept)) == 3
    with pytest.raises(InputError, match=r"/4\.csv cannot be read"):
        keep_run([results], [*seeds, tmp_path / "4.csv"], kept, "a command", "2026-11-21")


def test_a_run_is_kept_with_its_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_results(paths.PAPER1_RESULTS, rows("GloVe", 0.5, 100.0))
    write_results(paths.ALL_SYSTEMS, rows("student", 0.7, 100.0))
    write_results(paths.SEEDS / "3.csv", rows("student", 0.8, 100.0))
    params: Any = SimpleNamespace(name="mine", seeds=SimpleNamespace(values=[3]))
    publish_run(params, "make run", "2026-11-21")
    found = {(row.system, row.metric, row.seeds): row.number for row in read_results(paths.RUNS / "mine.csv")}
    assert found["GloVe", "pearson", 1] == 0.5 and found["student", "pearson", 2] == pytest.approx(0.75)
