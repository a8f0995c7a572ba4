"""What a student of a given size should have: words, dimensions or bits? `python -m measurements.equal_bytes FROM`.

Reads the student of a run of `best` (models/student, data/soft_labels) and makes smaller ones of 16 MB each: fewer
words leave room for more dimensions, and so do fewer bits.
"""

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from measurements import command
from measurements.release.gate import KINDS, compare, read
from measurements.release.release import SETS, WORK
from measurements.release.student import largest_dimension, with_common_words
from measurements.release.tradeoff import token_counts
from measurements.sets import collected
from sentence_distillery.distillation.soft_labels import WORDS
from sentence_distillery.encoder.compression import Precision, compressed, principal_directions
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder, Function, evaluate, unit
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.tasks import TaskSet
from stages import paths

COMMON = (20_000, 30_000, 40_000, 50_000, 60_000)  # of GloVe's words
MAIN = ("spearman", "ap", "accuracy", "ndcg_at_10")  # by which the kinds of task are compared

log = logging.getLogger("equal_bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    options = command.parsed(argument_parser("Compare students of equal size: words, dimensions, bits."), arguments)
    with command.refusals("equal_bytes"):
        student, released = StaticEncoder.load(paths.STUDENT), StaticEncoder.load("released", lexical_weight=0.0)
        found = {shape(encoder): encoder for encoder in students(student)}
        about = f"python -m measurements.equal_bytes FROM, of a student of {student.dimension} dimensions"
        write_comparison("equal-bytes", found, f"released: {shape(released)}", options, about)


def argument_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of `source`, directories of the sets, and `output`, the directory to write to."""
    parser = command.argument_parser(description, "directories of the sets of every kind")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/levers"))
    return parser


def write_comparison(
    name: str,
    found: Mapping[str, Encoder],
    title: str,
    options: argparse.Namespace,
    about: str,
    base: StaticEncoder | None = None,
) -> None:
    """Score `base`, else the released encoder without its channel, and others on the sets of `gate`, no test split.

    `<name>.csv` has the figures, and `<name>-differences.csv` how each differs from it by kind of task.
    """
    data = collected(SETS, options.source, WORK)
    released = base or StaticEncoder.load("released", lexical_weight=0.0)
    tasks = [read(data, kind, *each) for kind, sets in KINDS.items() for each in sets]
    rows = [row for system, encoder in {title: released, **found}.items() for row in scored(system, encoder, tasks)]
    changes = [row for system, encoder in found.items() for row in differences(system, released, encoder, data)]
    comment = f"{about}; {command.today()}"
    write_results(options.output / f"{name}.csv", rows, comment)
    write_results(options.output / f"{name}-differences.csv", changes, comment)


def students(student: StaticEncoder) -> Iterator[StaticEncoder]:
    """Yield each smaller student."""
    directions = principal_directions(student.table, token_counts(student, paths.SOFT_LABELS / WORDS))
    for precision, most in product((Precision.LEVELS, Precision.INT8), COMMON):
        common = with_common_words(student, most)
        yield compressed(common, directions, largest_dimension(common, precision), precision)


def shape(encoder: StaticEncoder) -> str:
    """Name an encoder by its tokens, dimensions and bits."""
    return f"{len(encoder.stored):,} tokens, {encoder.dimension} dimensions, {8 * encoder.stored.itemsize} bits"


def scored(name: str, encoder: Encoder, tasks: Sequence[TaskSet]) -> Iterator[Result]:
    """Yield the main figures of an encoder on every set."""
    log.info("%s", name)
    for row in evaluate(Function(unit(encoder)), list(tasks), name=name):
        if row.metric in MAIN and (row.protocol != "cosine" or row.metric == "ap"):
            yield row


def differences(name: str, old: Encoder, new: Encoder, data: BenchmarkData) -> Iterator[Result]:
    """Yield how an encoder differs from another one on each kind of task."""
    for found in compare(old, new, data):
        change, size = found.new - found.old, len(found.sets)
        system = f"{name} - released"
        yield Result(system, found.kind, "", "kind", "difference", change, size, low=found.low, high=found.high)


if __name__ == "__main__":
    main()
