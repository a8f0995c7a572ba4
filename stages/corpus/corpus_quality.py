"""How well `clean` finds sentences and boilerplate: reports/corpus_quality.csv, which the report shows."""

import csv

from sentence_distillery.evaluation.corpus_quality import COLUMNS, QUALITY, rows
from sentence_distillery.io.artifacts import atomic_file
from stages.params import load_params


def main() -> None:
    found = list(rows(load_params().clean))
    with atomic_file(QUALITY) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    for row in found:
        print("  ".join(row[column] for column in COLUMNS))


if __name__ == "__main__":
    main()
