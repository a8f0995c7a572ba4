"""TweetEval, emotion: tweets that show anger, joy, optimism or sadness."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import TRAIN_DEV_TEST, Document, parallel

HOME = f"{GITHUB}/cardiffnlp/tweeteval/4fbd22cd78421f05b1ecdb4fc5725bc7a7bd8f66/datasets/emotion"
PARTS = ("train", "val", "test")


def read(directory: Path) -> Iterator[Document]:
    """Read tweets with the label 0 for anger, 1 for joy, 2 for optimism, 3 for sadness; val is dev."""
    for split, part in zip(TRAIN_DEV_TEST, PARTS, strict=True):
        for place, (text, label) in parallel(directory / f"{part}_text.txt", directory / f"{part}_labels.txt"):
            yield Document(place, split, text, label)


SET = Benchmark(
    name="tweet_emotion",
    title="TweetEval emotion",
    source="TweetEval (Barbieri et al. 2020), of SemEval-2018 task 1 (Mohammad et al. 2018)",
    licence="terms of SemEval-2018 task 1",
    citation="Barbieri et al. 2020, TweetEval: unified benchmark and comparative evaluation, Findings of EMNLP",
    origin="external",
    files=tuple(f"{part}_{column}.txt" for part in PARTS for column in ("text", "labels")),
    pins=pinned(
        ("train_text.txt", HOME, "2c62f67aeb3eac1aea0e5a9c3d0f4bc337992581f3f858061786a1fb4d79d95e"),
        ("train_labels.txt", HOME, "987e767d8679e18abdf7de37a6d2bcd0a40a296ddd704e8d515cf0e3033c8d9c"),
        ("val_text.txt", HOME, "e2e30c86b8cbb97944d6543aedc06eace3bb275cb2f381aba787b838b4f23ca5"),
        ("val_labels.txt", HOME, "313730630160b7e0a6b4235b800c76683f4aeeb72d094eb69646630cd5cfe338"),
        ("test_text.txt", HOME, "7e1070f5d3e3fcece5bc73680bff9981e90d8f7b2f1009bfe7a01d059d1c6091"),
        ("test_labels.txt", HOME, "245072348c711961785be6d395997f97cf7fcda3effeae7805664171dc75f913"),
    ),
    tables=(
        Table(
            "tweet_emotion",
            "documents",
            read,
            {"train": 3257, "dev": 374, "test": 1421},
            labels=("0", "1", "2", "3"),
            main_metric="accuracy",
            task="classification",
            trainable=False,
        ),
    ),
)
