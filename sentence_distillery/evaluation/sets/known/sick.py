"""SICK: relatedness and entailment of sentences that compose captions."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import ENTAILMENT, GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import TRAIN_DEV_TEST, Pair, number, records

HOME = f"{GITHUB}/brmson/dataset-sts/master/data/sts/sick2014"


def read(directory: Path) -> Iterator[Pair]:
    """Read relatedness 1-5 as the score (SICK-R), the entailment judgment as the label (SICK-E); trial is dev."""
    columns = ("sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
    for split, part in zip(TRAIN_DEV_TEST, ("train", "trial", "test_annotated"), strict=True):
        for place, row in records(directory / f"SICK_{part}.txt", columns, delimiter="\t"):
            sentence1, sentence2, score, label = (row[column] for column in columns)
            yield Pair(place, split, sentence1, sentence2, number(score, place), label)


SET = Benchmark(
    name="sick",
    title="SICK",
    source="SICK (Marelli et al. 2014), SemEval-2014 task 1",
    licence="CC BY-NC-SA 3.0",
    citation="Marelli et al. 2014, A SICK cure for the evaluation of compositional distributional models, LREC",
    origin="external",
    files=("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
    pins=pinned(
        ("SICK_train.txt", HOME, "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e"),
        ("SICK_trial.txt", HOME, "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56"),
        ("SICK_test_annotated.txt", HOME, "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0"),
        ("readme.txt", HOME, "4ff14a2b07603f2214c2803a6e012048c795be5ba4e5d1d33b87d7210f633bf7"),
    ),
    tables=(Table("sick", "pairs", read, {"train": 4500, "dev": 500, "test": 4927}, (1, 5), ENTAILMENT, "spearman"),),
)
