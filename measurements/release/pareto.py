"""Measure quality against size of compressed students: `make pareto`, after a run with the benchmark sets.

Reads models/student, models/released, models/mlp_head, the corpus and the benchmark sets. Writes reports/pareto.csv, a
row for each variant and peer, and prints it.
"""

import csv
import sys
from collections.abc import Iterator

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


def measured(params: Params, encoder: StaticEncoder, workload: Workload) -> Iterator[Row]:
    """Yield a row for each variant of the student and each peer."""
    yield from own_rows(encoder, paths.SOFT_LABELS / WORDS, workload)
    yield from released_rows(paths.RELEASED, workload)
    yield from mlp_head_rows(paths.MLP_HEAD, workload)
    fewer = workload.first(PEER_SENTENCES)
    yield from library_rows(encoder, fewer)
    yield from glove_rows(params.evaluate.glove_tokens == "content", fewer)
    yield from teacher_rows(params.teacher, params.soft_labels.batch_tokens, fewer)


def main() -> None:
    try:
        params, benchmarks = load_params(), BenchmarkData(paths.BENCHMARKS)
        require_benchmarks(benchmarks)
        encoder = StaticEncoder.load(paths.STUDENT)
        workload = Workload(read_corpus(paths.SENTENCES)[:SENTENCES], benchmarks)
        rows = list(measured(params, encoder, workload))
    except InputError as error:
        sys.exit(f"pareto: {error}")
    rows += [{**row, "kind": "published"} for row in PUBLISHED]
    columns = [*COLUMNS, *(name for name in rows[0] if name not in COLUMNS)]
    with atomic_file(paths.PARETO) as target, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(paths.PARETO.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
