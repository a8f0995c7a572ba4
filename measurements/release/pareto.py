"""Measure quality against size of compressed students: `make pareto`, after a run with the benchmark sets.

Reads models/student, models/released, models/mlp_head, the corpus and the benchmark sets. Writes reports/pareto.csv, a
row for each variant and peer, and prints it. `--released`, after a release of the same shape, scores its rows alone;
all speeds stay those of the run that timed the peers, too.
"""

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Sequence

from measurements.release.tradeoff import (
    COLUMNS,
    PEER_SENTENCES,
    PUBLISHED,
    SENTENCES,
    Row,
    Workload,
    glove_rows,
    library_rows,
    mlp_head_rows,
    own_rows,
    released_rows,
    teacher_rows,
)
from reproductions.systems.similarity import require_benchmarks
from sentence_distillery.distillation.soft_labels import WORDS
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.present import read_corpus
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError, atomic_file
from stages import paths
from stages.params import Params, load_params

SPEEDS = ("load_ms", "sentences_per_second")


def measured(params: Params, encoder: StaticEncoder, workload: Workload) -> Iterator[Row]:
    """Yield a row for each variant of the student and each peer."""
    yield from own_rows(encoder, paths.SOFT_LABELS / WORDS, workload)
    yield from released_rows(paths.RELEASED, workload)
    yield from mlp_head_rows(paths.MLP_HEAD, workload)
    fewer = workload.first(PEER_SENTENCES)
    yield from library_rows(encoder, fewer)
    yield from glove_rows(params.evaluate.glove_tokens == "content", fewer)
    yield from teacher_rows(params.teacher, params.soft_labels.batch_tokens, fewer)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure quality against size of compressed students.")
    parser.add_argument("--released", action="store_true", help="measure the rows of the released encoder alone")
    options = parser.parse_args(arguments)
    try:
        params, benchmarks = load_params(), BenchmarkData(paths.BENCHMARKS)
        require_benchmarks(benchmarks)
        workload = Workload(read_corpus(paths.SENTENCES)[:SENTENCES], benchmarks)
        if options.released:
            rows = list(with_released(former_rows(), released_rows(paths.RELEASED, workload)))
        else:
            rows = list(measured(params, StaticEncoder.load(paths.STUDENT), workload))
            rows += [{**row, "kind": "published"} for row in PUBLISHED]
    except InputError as error:
        sys.exit(f"pareto: {error}")
    columns = [*COLUMNS, *(name for name in rows[0] if name not in COLUMNS)]
    with atomic_file(paths.PARETO) as target, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def former_rows() -> list[Row]:
    """Read the rows that are there; raises InputError if there are none."""
    if not paths.PARETO.exists():
        raise InputError(f"{paths.PARETO} is missing; run `make pareto` without --released first.")
    with paths.PARETO.open(encoding="utf-8", newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def with_released(rows: Iterable[Row], released: Iterable[Row]) -> Iterator[Row]:
    """Put the rows of the released encoder, but for the speeds, in the place of its former ones.

    Raises InputError if the release has another shape than the former one.

    >>> rows = [{"system": "own", "dimension": 9}, {"system": "released", "dimension": 256, "load_ms": 5, "x": 1}]
    >>> list(with_released(rows, [{"system": "released", "dimension": 256, "load_ms": 7, "x": 2}]))[1]
    {'system': 'released', 'dimension': 256, 'load_ms': 5, 'x': 2}
    """
    new = {_place(row): row for row in released}
    for row in rows:
        if not str(row["system"]).startswith("released"):
            yield row
            continue
        name, dimension = _place(row)
        if (name, dimension) not in new:
            raise InputError(f"{paths.PARETO} has {name} of {dimension} dimensions, the release has not; run all.")
        yield {**new[name, dimension], **{column: row[column] for column in SPEEDS if column in row}}


def _place(row: Row) -> tuple[str, str]:
    """Return what a row is found by: its system and its dimension."""
    return str(row["system"]), str(row["dimension"])


if __name__ == "__main__":
    main()
