"""The pipeline from the command line: each stage of dvc.yaml is started as soon as its upstream is done.

    prefect-dvc run --target student --profile best --set student.epochs=3

DVC decides what has to run. With a Prefect server (PREFECT_API_URL) the run is the flow of `pipeline_flow.py`; without
one the same run goes through plain threads, and Prefect, which takes 2 s to import, is not needed.
"""

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from prefect_dvc.execution.graph import GraphError
from prefect_dvc.execution.reproduce import MEANING
from prefect_dvc.execution.run import PipelineError, Run, open_run, summary
from prefect_dvc.execution.slots import queued
from prefect_dvc.server.database import RETRIES, DatabaseError, most_runs
from prefect_dvc.settings.flows_yaml import SettingsError
from prefect_dvc.settings.parameters import assignments
from prefect_dvc.workspace.apply import apply_run
from prefect_dvc.workspace.git import WorkspaceError
from prefect_dvc.workspace.snapshot import refuse_read_only

QUEUE = Path(".dvc/tmp/queue")  # of runs of a Prefect server: SQLite bears only a few at a time


def run_in_threads(run: Run) -> None:
    """Run the stages in threads, and print their output. Raises PipelineError."""
    run.in_threads(
        lambda stage, line: print(f"{stage.name} | {line}", flush=True),
        lambda stage, outcome: print(f"{stage.name}: {outcome}, {MEANING[outcome]}", flush=True),
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="prefect-dvc run", description="Run the graph of dvc.yaml.")
    parser.add_argument("--target", help="the stage to bring up to date (default: all)")
    parser.add_argument("--profile", help="a profile of conf/profile (default: params.yaml unchanged)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter to change")
    parser.add_argument("--force", action="store_true", help="run the stages even if nothing has changed")
    parser.add_argument("--gpu", choices=("prefer", "require", "local"), default="prefer", help="where GPU stages run")
    parser.add_argument("--parallel", type=int, default=2, help="number of stages at a time")
    parser.add_argument("--apply", action="store_true", help="bring the result back to the workspace")
    return parser.parse_args()


def main() -> None:
    options = vars(arguments())
    apply, given = options.pop("apply"), options.pop("set")
    signal.signal(signal.SIGTERM, stop)
    try:
        overrides = assignments(given)
        if os.environ.get("PREFECT_API_URL"):
            named = {key: value for key, value in options.items() if value is not None}
            refuse_read_only(Path.cwd())  # the queue is there, too
            with queued(Path.cwd() / QUEUE, most_runs(), f"process {os.getpid()}", print):
                os.environ |= RETRIES | os.environ  # Prefect reads them when it is imported
                from prefect_dvc.pipeline_flow import pipeline

                state = pipeline(**named, overrides=overrides, apply=apply, return_state=True)
            if not state.is_completed():
                sys.exit(f"pipeline: {state.message}")
            return
        root = Path.cwd()
        with open_run(root, **options, overrides=overrides, log=print) as run:
            run_in_threads(run)
        if apply:
            apply_run(root, run.name)
        print(summary(run))
    except (GraphError, SettingsError, WorkspaceError, PipelineError, DatabaseError) as error:
        sys.exit(f"pipeline: {error}")


def stop(signum: int, frame: object) -> NoReturn:
    sys.exit(128 + signum)


if __name__ == "__main__":
    main()
