"""The README's table of a run."""

from pathlib import Path

from stages.evaluation.publish import table
from stages.evaluation.results import Result, write_results
from stages.evaluation.similarity import Figure, Undefined


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
