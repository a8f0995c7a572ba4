"""Score how well `clean` finds sentence ends and boilerplate: reports/corpus_quality.csv, which the report shows.

    python -m measurements.corpus_quality

Reads data/samples/lines.csv, UD English EWT below data/external, and the Stanza models of models/syntax. It is not
a stage of dvc.yaml, since parsing takes minutes and the figures change with the code of `clean` alone.
"""

import csv

from measurements.cleaning_quality import COLUMNS, Sources, rows
from sentence_distillery.io.artifacts import atomic_file
from stages import paths
from stages.params import load_params

SOURCES = Sources(paths.SAMPLES / "lines.csv", paths.EXTERNAL / "ud-english-ewt", paths.PARSER)


def main() -> None:
    scores = list(rows(load_params().clean, SOURCES))
    with atomic_file(paths.CORPUS_QUALITY) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(scores)
    for score in scores:
        print("  ".join(score[column] for column in COLUMNS))


if __name__ == "__main__":
    main()
