"""STS Benchmark: semantic similarity of sentences from news, captions and forums."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import TRAIN_DEV_TEST, Pair, number, records

HOME = f"{GITHUB}/PhilipMay/stsb-multi-mt/30de0dec4ee199b7f42351d3f1a0b19592955385/data"


def read(directory: Path) -> Iterator[Pair]:
    """Read files without a header: sentence 1, sentence 2, similarity 0-5."""
    for split in TRAIN_DEV_TEST:
        path = directory / f"stsb-en-{split}.csv"
        for place, row in records(path, ("sentence1", "sentence2", "score"), header=False):
            yield Pair(place, split, row["sentence1"], row["sentence2"], number(row["score"], place))


SET = Benchmark(
    name="stsb",
    title="STS-B",
    source="STS Benchmark (Cer et al. 2017), English",
    licence="scores CC BY-SA 4.0, texts mixed",
    citation="Cer et al. 2017, SemEval-2017 task 1: semantic textual similarity, SemEval",
    origin="external",
    files=("stsb-en-train.csv", "stsb-en-dev.csv", "stsb-en-test.csv"),
    pins=pinned(
        ("stsb-en-train.csv", HOME, "e1e84fec60bbb598735552f54a35f4949904a484750fd2cb11e2720e49f63da6"),
        ("stsb-en-dev.csv", HOME, "d29586e96558c4eb52cf5ea5d14e9c24d3bf0e44f111b017caba43a5adc33226"),
        ("stsb-en-test.csv", HOME, "11523b625219e94e9ca05d2816b5f02cac1614c5894fe657376fa0806378d053"),
    ),
    tables=(Table("stsb", "pairs", read, {"train": 5749, "dev": 1500, "test": 1379}, (0, 5), main_metric="spearman"),),
)
