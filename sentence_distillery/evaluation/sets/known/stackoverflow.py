"""StackOverflow: titles of questions, by tag."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Document, parallel

HOME = f"{GITHUB}/jacoxu/StackOverflow/7c207f51e649fff9e4736610b9d44431bb7ccf00/rawText"
TITLES, LABELS = "title_StackOverflow.txt", "label_StackOverflow.txt"


def read(directory: Path) -> Iterator[Document]:
    """Read titles with the number of their tag, 1-20, as the label."""
    for place, (text, label) in parallel(directory / TITLES, directory / LABELS):
        yield Document(place, "test", text, label)


SET = Benchmark(
    name="stackoverflow",
    title="StackOverflow",
    source="20,000 titles of Stack Overflow (Xu et al. 2015), from a Kaggle competition",
    licence="texts CC BY-SA 3.0",
    citation="Xu et al. 2015, Short text clustering via convolutional neural networks, VSM-NLP",
    origin="external",
    files=(TITLES, LABELS),
    pins=pinned(
        ("title_StackOverflow.txt", HOME, "56fdb3932c6a2e35c1943b8a3d3c1cf51901fc1139e51b1587091898ffb22e86"),
        ("label_StackOverflow.txt", HOME, "ac6b52afbf696611680f8ea944be682bcdf1979b62fde2b5fa2a9dcc6ab8d7d3"),
    ),
    tables=(
        Table(
            "stackoverflow",
            "documents",
            read,
            {"test": 20000},
            labels=tuple(map(str, range(1, 21))),
            main_metric="v_measure",
            task="clustering",
            trainable=False,
        ),
    ),
)
