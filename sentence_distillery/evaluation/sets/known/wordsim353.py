"""WordSimilarity-353: relatedness of words."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import Benchmark, Table, packaged
from sentence_distillery.evaluation.sets.records import Pair, word_pairs


def read(directory: Path) -> Iterator[Pair]:
    """Read word pairs with relatedness 0-10."""
    return word_pairs(directory / "wordsim353.tsv")


SET = Benchmark(
    name="wordsim353",
    title="WordSim-353",
    source=packaged(),
    licence="CC BY 4.0; Finkelstein et al. 2002",
    citation="Finkelstein et al. 2002, Placing search in context: the concept revisited, ACM TOIS 20(1)",
    origin="package",
    files=("wordsim353.tsv",),
    tables=(Table("wordsim353", "words", read, {"test": 353}, scale=(0, 10), main_metric="spearman"),),
)
