"""Make the student that ships: `make release FROM="<directory> ..."`, after a run of the profile `best`.

Reads models/student, the words of its corpus and the benchmark sets: those of the run, or those of FROM. Writes
models/released and prints its figures; refuses a student that is worse than the current release on a kind of task.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from sentence_distillery.benchmarks.assembly import collected
from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.distillation.soft_labels import WORDS
from sentence_distillery.encoder.files import CONFIG
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.checksums import ledger
from sentence_distillery.io.contents import Student
from sentence_distillery.release.gate import KINDS
from sentence_distillery.release.pareto import megabytes
from sentence_distillery.release.release import Source, release
from stages import paths
from stages.params import load_params
from stages.stage import written_before

WORK = Path("data/checkpoints/released")
SETS = tuple(name for sets in KINDS.values() for name, _ in sets)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the student that ships.")
    parser.add_argument("source", type=Path, nargs="*", metavar="FROM", help="directories of the sets of every kind")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        params = load_params()
        corpus = [source.path for source in params.crawl.inputs]
        source = Source(paths.STUDENT, paths.SOFT_LABELS / WORDS, params.name, corpus, params.soft_labels.precision)
        sets = collected(SETS, options.source, WORK) if options.source else BenchmarkData(paths.BENCHMARKS)
        with ledger(written_before()):
            figures = release(source, sets, paths.RELEASED)
    except InputError as error:
        sys.exit(f"release: {error}")
    dimension = read_json(paths.RELEASED / CONFIG, Student)["dimension"]
    print(f"{paths.RELEASED}: {megabytes(paths.RELEASED)} MB, {dimension} dimensions")
    for name, value in figures.items():
        print(f"{name:24} {100 * value:6.2f}")


if __name__ == "__main__":
    main()
