"""Measure quality against size of compressed students: `make pareto`, after a run with the benchmark sets.

Reads models/student, models/released, models/mlp_head, the corpus and the benchmark sets. Writes reports/pareto.csv, a
row for each variant and peer, and prints it. `--released`, after a release of the same shape, scores its rows alone;
all speeds stay those of the run that timed the peers, too.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence

from measurements.command import refusals, write_rows
from measurements.release import tradeoff
from measurements.release.tradeoff import Row, Workload
from reproductions.systems.similarity import require_benchmarks
from sentence_distillery.distillation.soft_labels import WORDS
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.present import read_corpus
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError, read_rows
from stages import paths
from stages.params import Params, load_params

SPEEDS = ("load_ms", "sentences_per_second")


def measured(params: Params, encoder: StaticEncoder, workload: Workload) -> Iterator[Row]:
    """Yield a row for each variant of the student and each peer."""
    yield from tradeoff.own_rows(encoder, paths.SOFT_LABELS / WORDS, workload)
    yield from tradeoff.released_rows(paths.RELEASED, workload)
    yield from tradeoff.mlp_head_rows(paths.MLP_HEAD, workload)
    fewer = workload.first(tradeoff.PEER_SENTENCES)
    yield from tradeoff.library_rows(encoder, fewer)
    yield from tradeoff.glove_rows(params.evaluate.glove_tokens == "content", fewer)
    yield from tradeoff.teacher_rows(params.teacher, params.soft_labels.batch_tokens, fewer)
    yield from tradeoff.published_rows()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure quality against size of compressed students.")
    parser.add_argument("--released", action="store_true", help="measure the rows of the released encoder alone")
    options = parser.parse_args(arguments)
    with refusals("pareto"):
        params, benchmarks = load_params(), BenchmarkData(paths.BENCHMARKS)
        require_benchmarks(benchmarks)
        workload = Workload(read_corpus(paths.SENTENCES)[: tradeoff.SENTENCES], benchmarks)
        if options.released:
            rows = list(with_released(former_rows(), tradeoff.released_rows(paths.RELEASED, workload)))
        else:
            rows = list(measured(params, StaticEncoder.load(paths.STUDENT), workload))
    write_rows(paths.PARETO, rows, list(dict.fromkeys([*tradeoff.COLUMNS, *rows[0]])))


def former_rows() -> list[Row]:
    """Read the rows that are there; raises InputError if there are none."""
    if not paths.PARETO.exists():
        raise InputError(f"{paths.PARETO} is missing; run `make pareto` without --released first.")
    return [dict[str, object](row) for row in read_rows(paths.PARETO, {})]


def with_released(rows: Iterable[Row], released: Iterable[Row]) -> Iterator[Row]:
    """Put the rows of the released encoder, but for the speeds, in the place of its former ones.

    Raises InputError if the release has another shape than the former one.
    """
    new = {(str(row["system"]), str(row["dimension"])): row for row in released}
    for row in rows:
        name, dimension = str(row["system"]), str(row["dimension"])
        if not name.startswith("released"):
            yield row
        elif (name, dimension) in new:
            yield {**new[name, dimension], **{column: row[column] for column in SPEEDS if column in row}}
        else:
            raise InputError(f"{paths.PARETO} has {name} of {dimension} dimensions, the release has not; run all.")


if __name__ == "__main__":
    main()
