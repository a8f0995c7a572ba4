"""The README's table of a run."""

from dataclasses import replace
from pathlib import Path

import pytest

from stages.artifacts import InputError
from stages.benchmarks.similarity import Figure, Undefined
from stages.evaluation.publish import keep_run, table
from stages.evaluation.results import RESULTS, SEEDS, Result, read_results, write_results


def rows(system: str, value: Figure, speed: Figure) -> list[Result]:
    figures = [Result(system, "stsb", "test", "mean", metric, value, 1379) for metric in ("pearson", "spearman")]
    return [*figures, Result(system, "corpus", "", "encode", "sentences_per_second", speed, 128)]


def test_a_system_without_figures_has_dashes(tmp_path: Path) -> None:
    """A reference whose weights are not here is listed, with no figure of any kind."""
    absent = Undefined("weights not available here")
    write_results(tmp_path / "best.csv", [*rows("student", 0.7867, 300_034.4), *rows("BERT", absent, absent)])
    assert table(tmp_path / "best.csv") == [
        "| system | STS-B test Pearson / Spearman | sentences/s |",
        "| --- | ---: | ---: |",
        "| student | 78.7 / 78.7 | 300,034 |",
        "| BERT | – / – | – |",
    ]


def test_other_seeds_are_kept_and_not_mistaken_for_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The means over seeds stand behind the run's own figures, which the README shows."""
    monkeypatch.chdir(tmp_path)
    own = rows("student", 0.7867, 300_034.4)
    write_results(RESULTS, own)
    write_results(SEEDS, [replace(row, value=0.5, seeds=5, spread=0.01) for row in own[:2]])
    kept = keep_run("best", "a command", "2026-11-21")
    assert [row["seeds"] for row in read_results(kept)] == ["1"] * 3 + ["5"] * 2
    assert table(kept)[-1] == "| student | 78.7 / 78.7 | 300,034 |"
    SEEDS.write_text("system\nx\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"seeds\.csv does not have the columns"):
        keep_run("best", "a command", "2026-11-21")
    SEEDS.unlink()
    assert len(read_results(keep_run("best", "a command", "2026-11-21"))) == 3
