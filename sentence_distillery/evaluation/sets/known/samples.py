"""Pairs and reviews that were written for this project, so that every stage has something to work on."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import BINARY, ENTAILMENT, Benchmark, Table
from sentence_distillery.evaluation.sets.records import Document, Pair, number, records

SPLITS = {"train": 125, "dev": 62, "test": 84}
PARAPHRASES = {"train": 98, "dev": 46, "test": 64}


def read_pairs(directory: Path) -> Iterator[Pair]:
    """Read relatedness 1-5 as the score, entailment as the label."""
    columns = ("split", "sentence1", "sentence2", "relatedness", "entailment", "paraphrase")
    for place, row in records(directory / "pairs.csv", columns):
        score = number(row["relatedness"], place)
        yield Pair(place, row["split"], row["sentence1"], row["sentence2"], score, row["entailment"])


def read_paraphrases(directory: Path) -> Iterator[Pair]:
    """Read pairs with the label 1 for a paraphrase, else 0; most pairs that share all words but one have no label.

    So a cosine decides most of them, and errs on some, as on MRPC.
    """
    for place, row in records(directory / "pairs.csv", ("split", "sentence1", "sentence2", "paraphrase")):
        if row["paraphrase"]:
            yield Pair(place, row["split"], row["sentence1"], row["sentence2"], label=row["paraphrase"])


def read_reviews(directory: Path) -> Iterator[Document]:
    """Read reviews with the label 1 for a positive one, 0 for a negative one."""
    for place, row in records(directory / "reviews.csv", ("split", "text", "label")):
        yield Document(place, row["split"], row["text"], row["label"])


SET = Benchmark(
    name="samples",
    title="Samples",
    source="written for this project",
    licence="Apache-2.0",
    citation="",
    origin="samples",
    files=("pairs.csv", "reviews.csv"),
    tables=(
        Table("samples", "pairs", read_pairs, SPLITS, (1, 5), ENTAILMENT, main_metric="spearman"),
        Table(
            "samples_paraphrase",
            "pairs",
            read_paraphrases,
            PARAPHRASES,
            None,
            BINARY,
            "f1",
            task="pair_classification",
            scored=False,  # as MRPC, whose place it takes
        ),
        Table(
            "samples_reviews",
            "documents",
            read_reviews,
            {"train": 120, "test": 92},
            None,
            BINARY,
            "accuracy",
            task="classification",
            protocols=("sgd",),
        ),
    ),
)
