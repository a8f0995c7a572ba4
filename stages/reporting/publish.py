"""Keep the figures of a full run in git: `make publish` after a run of `paper` or `best`."""

import argparse
import datetime
import sys
from pathlib import Path

from sentence_distillery.evaluation.results import FOCUS, PARAPHRASE, RUNS
from sentence_distillery.io.artifacts import InputError, atomic_file, read_json
from sentence_distillery.reporting.publish import (
    README,
    _comment,
    keep_cells,
    keep_gains,
    keep_matrix,
    keep_run,
    readme_with,
    table,
)
from stages.params import load_params


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep the figures of a full run in git and in the README.")
    parser.add_argument("--command", help="what made the run, e.g. 'dvc exp run -S profile=best'; the default")
    parser.add_argument("--matrix", type=Path, metavar="FILE", help=f"keep {PARAPHRASE} or {FOCUS}, and nothing else")
    options = parser.parse_args()
    try:
        params = load_params()
        command = options.command or f"dvc exp run -S profile={params.profile}"
        if options.matrix:
            if options.matrix not in (PARAPHRASE, FOCUS):
                raise InputError(f"--matrix {options.matrix} is no matrix; give {PARAPHRASE} or {FOCUS}.")
            about = options.matrix.with_suffix(".json")
            read_json(about)  # before anything is kept
            target = keep_matrix(options.matrix, command, datetime.date.today().isoformat())
            if options.matrix.stem == FOCUS.stem:
                keep_gains(about)
            else:
                keep_cells(about, target.with_suffix(".json"))
            print(target)
            return
        keep_run(params.profile, params.seeds.values, command, datetime.date.today().isoformat())
        runs = sorted(RUNS.glob("*.csv"))
        parts = [f"`{run.stem}` ({_comment(run)}):\n\n" + "\n".join(table(run)) for run in runs]
        readme = readme_with("\n\n".join(parts), README.read_text(encoding="utf-8"))
        with atomic_file(README) as partial:
            partial.write_text(readme, encoding="utf-8")
    except InputError as error:
        sys.exit(f"publish: {error}")


if __name__ == "__main__":
    main()
