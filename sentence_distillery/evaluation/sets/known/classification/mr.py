"""MR: sentences of film reviews, positive or negative.

The set has no splits. 2,000 sentences are drawn for the test by their keyed hash, with the seed 1.
"""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import BINARY, GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Document, drawn_sentences

HOME = f"{GITHUB}/harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296/data"
TEST, SEED = 2_000, 1


def read(directory: Path) -> Iterator[Document]:
    """Read tokenised sentences in Latin-1, with the label 1 for a positive one, 0 for a negative one."""
    return drawn_sentences(directory / "rt-polarity.all", TEST, SEED)


SET = Benchmark(
    name="mr",
    title="MR",
    source="movie review polarity v1.0 (Pang and Lee 2005), tokenised as in Kim 2014",
    licence="none stated",
    citation="Pang and Lee 2005, Seeing stars: exploiting class relationships for sentiment categorization, ACL",
    origin="external",
    files=("rt-polarity.all",),
    pins=pinned(
        ("rt-polarity.all", HOME, "b8846c3bbd59241f901efdc58f7c515e4b280ab3561fd1858caa5aa48da95a8a"),
    ),
    tables=(
        Table(
            "mr",
            "documents",
            read,
            {"train": 8662, "test": TEST},
            labels=BINARY,
            main_metric="accuracy",
            task="classification",
            trainable=False,
        ),
    ),
)
