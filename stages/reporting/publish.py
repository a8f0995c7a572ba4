"""Keep the figures of a full run in git: `make publish` after a run of `paper` or `best`.

reports/all_systems.csv, paper1.csv, seeds/*.csv  ->  reports/runs/<profile>.csv
reports/paraphrase.csv or component_focus.csv with `--matrix`  ->  reports/runs/<matrix>/, and nothing else
"""

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from reproductions.saved_matrix import Paraphrase, keep_curves, keep_matrix
from sentence_distillery.evaluation.results import over_seeds, read_results, write_results
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.checksums import ledger
from sentence_distillery.runtime.machine import machine
from stages import paths
from stages.params import Params, load_params
from stages.stage import written_before

MATRICES = {paths.PARAPHRASE_RESULTS: paths.PARAPHRASE_RUNS, paths.COMPONENT_RESULTS: paths.COMPONENT_RUNS}


def publish_matrix(matrix: Path, command: str, date: str) -> Path:
    """Keep the cells of paper 2's or 3's matrix; raises InputError for another file."""
    if matrix not in MATRICES:
        raise InputError(f"--matrix {matrix} is not a matrix; the matrices are {' and '.join(map(str, MATRICES))}.")
    about = matrix.with_suffix(".json")
    paraphrases = matrix == paths.PARAPHRASE_RESULTS
    sets = [read_json(about, Paraphrase)["dataset"]] if paraphrases else [row.dataset for row in read_results(matrix)]
    target = keep_matrix(matrix, sets, MATRICES[matrix], command, date)
    if paraphrases:
        keep_curves(about, target.with_suffix(".json"))
    return target


def publish_run(params: Params, command: str, date: str) -> None:
    """Keep the run's figures; `make figures` shows them in README and docs."""
    seeds = [paths.SEEDS / f"{seed}.csv" for seed in params.seeds.values]
    speeds = [path for path in (paths.PAPER1_SPEEDS, paths.ALL_SPEEDS) if path.exists()]
    results = [paths.PAPER1_RESULTS, paths.ALL_SYSTEMS, *speeds]  # there are no speeds of outputs from DVC's cache
    keep_run(results, seeds, paths.RUNS / f"{params.name}.csv", command, date)


def keep_run(results: Sequence[Path], seeds: Sequence[Path], target: Path, command: str, date: str) -> None:
    """Keep the figures of a run in `target`, the means over seeds last; `date` is as 2026-11-21."""
    rows = [row for path in results for row in read_results(path)]
    means = over_seeds(rows, [read_results(path) for path in seeds])
    write_results(target, [*rows, *means], comment=f"{command}; {date}; {machine()}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep the figures of a full run in git.")
    parser.add_argument("--command", help="command that made the run (default: the profile and `dvc repro`)")
    parser.add_argument("--matrix", type=Path, metavar="FILE", help=f"keep only {' or '.join(map(str, MATRICES))}")
    options = parser.parse_args()
    date = datetime.date.today().isoformat()
    try:
        params = load_params()
        command = options.command or f"python -m stages.params use {params.name}; dvc repro"
        with ledger(written_before()):
            if options.matrix:
                print(publish_matrix(options.matrix, command, date))
            else:
                publish_run(params, command, date)
    except InputError as error:
        sys.exit(f"publish: {error}")


if __name__ == "__main__":
    main()
