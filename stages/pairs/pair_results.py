"""Stage `pair_results`: what the cells of paper 2's matrix come to, and the best encoder as a model."""

import shutil
from dataclasses import asdict

from sentence_distillery.evaluation.results import write_results
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from sentence_distillery.pairs.cells import CELLS, RESULT
from sentence_distillery.pairs.data import ABOUT, PAIRS, load_material
from sentence_distillery.papers.paper2.results import (
    NOT_RUN,
    PARAPHRASER,
    REPORT,
    Cell,
    cell_of,
    draws,
    mean_weights,
    name_of,
    orders,
    place_of,
    read_results,
    rows_of,
    table_4,
    wanted,
    winner,
)
from stages.paths import PARAPHRASE_RESULTS as PARAPHRASE
from stages.stage import stage


def main() -> None:
    with stage("pair_results", unit="cells") as (params, counters):
        material = load_material()
        labels = material.splits["test"].labels
        about = read_json(PAIRS / ABOUT)
        results = read_results(material.sha256, counters)
        counts = draws(len(labels))
        missing = [cell for cell in wanted(params) if name_of(cell) not in results]
        scored = [*results.values(), *mean_weights(list(results.values()))]
        cells = [cell_of(result, labels, counts) for result in scored]
        cells += [Cell(**place_of(cell), absent=NOT_RUN) for cell in missing]
        best = winner(list(results.values()))
        fourth = table_4(labels, counts, material.sha256)
        with atomic_directory(PARAPHRASER) as directory:
            if best is not None:
                shutil.copytree(CELLS / name_of(best), directory, dirs_exist_ok=True)
            write_json(directory / RESULT, {"winner": name_of(best) if best else None})
        tables = {"": cells, "4": fourth}
        rows = [rows_of(cell, about["dataset"], len(labels), name) for name, group in tables.items() for cell in group]
        write_results(PARAPHRASE, [row for each in rows for row in each])
        found = {
            **about,
            "cells": [asdict(cell) for cell in cells],
            "orders": [asdict(order) for order in orders(scored, labels, counts)],
            "combinations": [asdict(cell) for cell in fourth],
            "winner": name_of(best) if best else None,
        }
        write_json(REPORT, found)
        counters.drop(NOT_RUN, len(missing))


if __name__ == "__main__":
    main()
