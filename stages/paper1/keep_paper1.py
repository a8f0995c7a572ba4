"""Keep the figures of a run of paper 1's chain: `python -m stages.paper1.keep_paper1 china-daily`.

Reads what the stages paper_student, refine, repulsion, simcse and paper1_results wrote. Writes <name>.csv and
<name>.json to reports/runs/paper1, from which the page of paper 1 shows the run's claims and tables.
"""

import argparse
import datetime
import sys

from reproductions.paper1.gains import read_gains
from reproductions.paper1.paper import Examples, PaperStudent, Simcse
from reproductions.paper1.saved_runs import keep
from reproductions.paper1.section import PaperStudentRun
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.evaluation.results import read_results
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.contents import Counted
from sentence_distillery.reporting.page import read_curve
from sentence_distillery.runtime.machine import machine
from stages import paths
from stages.params import load_params


def read_run() -> PaperStudentRun:
    """Read how the systems of paper 1 were trained in the current directory."""
    counts = read_json(paths.COUNTERS / "repulsion.json", Counted)
    return PaperStudentRun(
        student=read_json(paths.PAPER_STUDENT / CONFIG, PaperStudent),
        simcse=read_json(paths.SIMCSE_ABOUT, Simcse),
        curve=read_curve(paths.CURVES / "paper_student.csv"),
        refine=read_curve(paths.CURVES / "refine.csv"),
        repulsion=read_curve(paths.CURVES / "repulsion.csv") if counts["kept"] else {},
        benchmark=counts["details"].get("benchmark", ""),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep the figures of a run of paper 1's chain.")
    parser.add_argument("name", help="name of the files")
    parser.add_argument(
        "--command",
        help="command that made the run (default: the profile and `dvc repro all_systems repulsion paper1_results`)",
    )
    given = parser.parse_args()
    try:
        command = (
            given.command
            or f"python -m stages.params use {load_params().name}; dvc repro all_systems repulsion paper1_results"
        )
        comment = f"{command}; {datetime.date.today().isoformat()}; {machine()}"
        rows = [*read_results(paths.PAPER1_RESULTS)]
        for further in (paths.ALL_SYSTEMS, paths.PAPER1_SPEEDS, paths.ALL_SPEEDS):
            rows += read_results(further) if further.exists() else []
        examples, gains = read_json(paths.EXAMPLES, Examples), read_gains(paths.PAPER1_GAINS)
        keep(paths.PAPER1_RUNS, given.name, comment, rows, read_run(), examples, gains)
    except InputError as error:
        sys.exit(f"keep_paper1: {error}")
    print(paths.PAPER1_RUNS / f"{given.name}.csv")


if __name__ == "__main__":
    main()
