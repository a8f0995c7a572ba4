"""What a smaller student costs in quality: `make pareto`, after a run with the benchmark sets."""

import csv
import sys

from sentence_distillery.encoder.static_encoder import STUDENT, StaticEncoder
from sentence_distillery.evaluation.data import read_corpus
from sentence_distillery.evaluation.similarity import require_benchmarks
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.release.pareto import (
    COLUMNS,
    PARETO,
    PEER_SENTENCES,
    PUBLISHED,
    SENTENCES,
    deep_rows,
    own_rows,
    peer_rows,
    released_rows,
)
from stages.params import load_params


def main() -> None:
    try:
        params = load_params()
        require_benchmarks()
        encoder = StaticEncoder.load(STUDENT)
        if encoder.kind == "paper":
            raise InputError(f"{STUDENT} is of kind paper; only a static student can be compressed.")
        sentences = read_corpus()[:SENTENCES]
        rows = [*own_rows(encoder, sentences), *released_rows(sentences), *deep_rows(sentences)]
        rows += peer_rows(encoder, params, sentences[:PEER_SENTENCES])
    except InputError as error:
        sys.exit(f"pareto: {error}")
    rows += [{**row, "kind": "published"} for row in PUBLISHED]
    columns = [*COLUMNS, *(name for name in rows[0] if name not in COLUMNS)]
    with atomic_file(PARETO) as target, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(PARETO.read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
