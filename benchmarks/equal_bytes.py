"""What a student of a given size should have: words, dimensions or bits? `python -m benchmarks.equal_bytes FROM`.

Reads the student of a run of `best` (models/student, data/soft_labels) and makes smaller ones of 16 MB each: fewer
words leave room for more dimensions, and so do fewer bits. Each is scored on the sets of `release.gate`, without a test
split. `equal-bytes.csv` in `--output` has the figures, with those of the released encoder.
"""

import argparse
import datetime
import logging
import platform
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.suite import remembered
from sentence_distillery.benchmarks.assembly import collected
from sentence_distillery.distillation.soft_labels import WORDS
from sentence_distillery.encoder.compression import Precision, compressed, principal_directions, stored_as
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import evaluate
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.tasks import TaskSet
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.release.gate import KINDS, read
from sentence_distillery.release.pareto import token_counts
from sentence_distillery.release.release import largest_dimension, with_common_words
from sentence_distillery.runtime.machine import cores
from stages import paths
from stages.release.release import SETS, WORK

COMMON = (20_000, 30_000, 40_000, 60_000)  # of GloVe's words
MAIN = ("spearman", "ap", "accuracy", "ndcg_at_10")

log = logging.getLogger("equal_bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare students of equal size: words, dimensions, bits.")
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help="directories of the sets of every kind")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/levers"))
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    try:
        data = collected(SETS, options.source, WORK)
        tasks = [read(data, *each) for sets in KINDS.values() for each in sets]
        student = StaticEncoder.load(paths.STUDENT)
        rows = [row for name, encoder in students(student) for row in scored(name, encoder, tasks)]
    except InputError as error:
        sys.exit(f"equal_bytes: {error}")
    machine = f"{cores()} cores, {platform.machine()}"
    comment = f"python -m benchmarks.equal_bytes FROM, of a student of {student.dimension} dimensions"
    write_results(options.output / "equal-bytes.csv", rows, f"{comment}; {datetime.date.today()}; {machine}")


def students(student: StaticEncoder) -> Iterator[tuple[str, StaticEncoder]]:
    """Yield the released encoder, and each smaller student, with its shape as its name."""
    released = StaticEncoder.load("released")
    yield f"released: {shape(released)}", released
    directions = principal_directions(student.table, token_counts(student, paths.SOFT_LABELS / WORDS))
    for precision, most in product((Precision.LEVELS, Precision.INT8), COMMON):
        common = with_common_words(student, most)
        small = compressed(common, directions, largest_dimension(common, precision), precision)
        yield shape(small), small


def shape(encoder: StaticEncoder) -> str:
    """Name an encoder by its tokens, dimensions and bits."""
    bits = 8 * encoder.stored.dtype.itemsize
    assert stored_as(encoder) in (Precision.LEVELS, Precision.INT8)
    return f"{len(encoder.stored):,} tokens, {encoder.dimension} dimensions, {bits} bits"


def scored(name: str, encoder: StaticEncoder, tasks: Sequence[TaskSet]) -> Iterator[Result]:
    """Yield the main figures of an encoder on every set."""
    log.info("%s", name)
    once = remembered(encoder)
    yield from filter(is_main, evaluate(once, list(tasks), name=name))


def is_main(row: Result) -> bool:
    """Tell whether a figure is one that the kinds of task are compared by."""
    return row.metric in MAIN and (row.protocol != "cosine" or row.metric == "ap")


if __name__ == "__main__":
    main()
