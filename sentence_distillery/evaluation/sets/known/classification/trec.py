"""TREC: questions by the type of their answer."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Document, labelled_lines

HOME = f"{GITHUB}/harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296/data"


def read(directory: Path) -> Iterator[Document]:
    """Read tokenised questions in Latin-1 with a label 0-5: description, entity, abbreviation, human, place, number."""
    for split in ("train", "test"):
        for place, label, text in labelled_lines(directory / f"TREC.{split}.all", "latin-1"):
            yield Document(place, split, text, label)


SET = Benchmark(
    name="trec",
    title="TREC",
    source="TREC question types, 6 classes (Li and Roth 2002), tokenised as in Kim 2014",
    licence="none stated",
    citation="Li and Roth 2002, Learning question classifiers, COLING",
    origin="external",
    files=("TREC.train.all", "TREC.test.all"),
    pins=pinned(
        ("TREC.train.all", HOME, "c8183fd8c2a5cc4a9a1c56548d7c6410a8b71ed7843df9ef1f0a05cd7cf2fb3e"),
        ("TREC.test.all", HOME, "92a6a3cede5678b447ef5f1d7ec474134fcda211e6590e6fa627b4a2c68e4566"),
    ),
    tables=(
        Table(
            "trec",
            "documents",
            read,
            {"train": 5452, "test": 500},
            labels=tuple("012345"),
            main_metric="accuracy",
            task="classification",
            trainable=False,
        ),
    ),
)
