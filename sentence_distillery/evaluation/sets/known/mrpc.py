"""Microsoft Research Paraphrase Corpus: sentence pairs from news clusters, paraphrases or not."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import BINARY, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Pair, records

HOME = "https://dl.fbaipublicfiles.com/senteval/senteval_data"


def read(directory: Path) -> Iterator[Pair]:
    """Read pairs with the label 1 for a paraphrase, else 0."""
    for split in ("train", "test"):
        path = directory / f"msr_paraphrase_{split}.txt"
        for place, row in records(path, ("Quality", "#1 String", "#2 String"), delimiter="\t"):
            yield Pair(place, split, row["#1 String"], row["#2 String"], label=row["Quality"])


SET = Benchmark(
    name="mrpc",
    title="MRPC",
    source="Microsoft Research Paraphrase Corpus (Dolan and Brockett 2005), tokenised as in SentEval",
    licence="Microsoft Research terms",
    citation="Dolan and Brockett 2005, Automatically constructing a corpus of sentential paraphrases, IWP",
    origin="external",
    files=("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
    pins=pinned(
        ("msr_paraphrase_train.txt", HOME, "60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89"),
        ("msr_paraphrase_test.txt", HOME, "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784"),
    ),
    tables=(
        Table(
            "mrpc",
            "pairs",
            read,
            {"train": 4076, "test": 1725},
            None,
            BINARY,
            "accuracy",
            task="pair_classification",
            scored=False,  # paper 2's task, whose classifiers are trained
        ),
    ),
)
