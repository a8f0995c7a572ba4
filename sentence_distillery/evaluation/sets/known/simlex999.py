"""SimLex-999: similarity of words, as opposed to relatedness."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import Benchmark, Table, packaged
from sentence_distillery.evaluation.sets.records import Pair, word_pairs


def read(directory: Path) -> Iterator[Pair]:
    """Read word pairs with similarity 0-10."""
    return word_pairs(directory / "simlex999.txt")


SET = Benchmark(
    name="simlex999",
    title="SimLex-999",
    source=packaged(),
    licence="none stated; Hill, Reichart and Korhonen 2015",
    citation="Hill, Reichart and Korhonen 2015, SimLex-999, Computational Linguistics 41(4)",
    origin="package",
    files=("simlex999.txt",),
    tables=(Table("simlex999", "words", read, {"test": 999}, scale=(0, 10), main_metric="spearman"),),
)
