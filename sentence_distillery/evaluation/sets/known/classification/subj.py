"""SUBJ: sentences on films that state an opinion, or tell the plot.

The set has no splits. 2,000 sentences are drawn for the test by their keyed hash, with the seed 1.
"""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import BINARY, GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Document, drawn_sentences

HOME = f"{GITHUB}/harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296/data"
TEST, SEED = 2_000, 1


def read(directory: Path) -> Iterator[Document]:
    """Read tokenised sentences in Latin-1, with the label 0 for an opinion, 1 for the plot."""
    return drawn_sentences(directory / "subj.all", TEST, SEED)


SET = Benchmark(
    name="subj",
    title="SUBJ",
    source="subjectivity v1.0 (Pang and Lee 2004), tokenised as in Kim 2014",
    licence="none stated",
    citation="Pang and Lee 2004, A sentimental education: sentiment analysis using subjectivity summarization, ACL",
    origin="external",
    files=("subj.all",),
    pins=pinned(
        ("subj.all", HOME, "f3ffbe2aa8e4f3ba3e63e46dce51613854edbca122fb3aa758b9bce047ded23c"),
    ),
    tables=(
        Table(
            "subj",
            "documents",
            read,
            {"train": 8000, "test": TEST},
            labels=BINARY,
            main_metric="accuracy",
            task="classification",
            trainable=False,
        ),
    ),
)
