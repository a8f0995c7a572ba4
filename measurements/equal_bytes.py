"""What a student of a given size should have: words, dimensions or bits? `python -m measurements.equal_bytes FROM`.

Reads the student of a run of `best` (models/student, data/soft_labels) and makes smaller ones of 16 MB each: fewer
words leave room for more dimensions, and so do fewer bits. Each is scored on the sets of `release.gate`, without a test
split. `equal-bytes.csv` in `--output` has the figures, with those of the released encoder, and
`equal-bytes-differences.csv` how each differs from that one by kind of task, with intervals.
"""

import argparse
import datetime
import logging
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

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
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime.machine import cores
from stages import paths

COMMON = (20_000, 30_000, 40_000, 50_000, 60_000)  # of GloVe's words
MAIN = ("spearman", "ap", "accuracy", "ndcg_at_10")

log = logging.getLogger("equal_bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(argument_parser("Compare students of equal size: words, dimensions, bits."), arguments)
    try:
        student, released = StaticEncoder.load(paths.STUDENT), StaticEncoder.load("released", lexical_weight=0.0)
        found = {shape(encoder): encoder for encoder in students(student)}
        about = f"python -m measurements.equal_bytes FROM, of a student of {student.dimension} dimensions"
        write_comparison("equal-bytes", found, f"released: {shape(released)}", options, about)
    except InputError as error:
        sys.exit(f"equal_bytes: {error}")


def argument_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of `source`, directories of the sets, and `output`, the directory to write to."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help="directories of the sets of every kind")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/levers"))
    return parser


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the arguments, and let the program tell its progress."""
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    return parser.parse_args(arguments)


def write_comparison(
    name: str,
    found: Mapping[str, Encoder],
    title: str,
    options: argparse.Namespace,
    about: str,
    base: StaticEncoder | None = None,
) -> None:
    """Write the figures of an encoder, under `title`, and of others, and how these differ from it.

    It is the released one without its channel, if `base` is not given.
    """
    data = collected(SETS, options.source, WORK)
    released = base or StaticEncoder.load("released", lexical_weight=0.0)
    tasks = [read(data, kind, *each) for kind, sets in KINDS.items() for each in sets]
    rows = [row for system, encoder in {title: released, **found}.items() for row in scored(system, encoder, tasks)]
    changes = [row for system, encoder in found.items() for row in differences(system, released, encoder, data)]
    comment = f"{about}; {datetime.date.today()}; {cores()} cores, {platform.machine()}"
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
    yield from filter(is_main, evaluate(Function(unit(encoder)), list(tasks), name=name))


def differences(name: str, old: Encoder, new: Encoder, data: BenchmarkData) -> Iterator[Result]:
    """Yield how an encoder differs from another one on each kind of task."""
    for found in compare(old, new, data):
        change, size = found.new - found.old, len(found.sets)
        system = f"{name} - released"
        yield Result(system, found.kind, "", "kind", "difference", change, size, low=found.low, high=found.high)


def is_main(row: Result) -> bool:
    """Tell whether a figure is one that the kinds of task are compared by."""
    return row.metric in MAIN and (row.protocol != "cosine" or row.metric == "ap")


if __name__ == "__main__":
    main()
