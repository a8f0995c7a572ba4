"""The pipeline from the command line: each stage of dvc.yaml is started as soon as its upstream is done.

    prefect-dvc run --target student --profile best --set student.epochs=3
    prefect-dvc run --here                                                    in the workspace itself, as `dvc repro`

With a Prefect server (PREFECT_API_URL) the run is the flow of `pipeline_flow.py`; without one it goes through threads,
and Prefect, which takes 2 s to import, is not needed.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from prefect_dvc.errors import Refusal, SettingsError
from prefect_dvc.execution.run import Run, open_in_place, open_run, summary
from prefect_dvc.execution.slots import turn
from prefect_dvc.progress import Progress
from prefect_dvc.server.database import RETRIES, most_runs
from prefect_dvc.settings.parameters import assignments, flat
from prefect_dvc.workers.handoff import hand_off
from prefect_dvc.workspace.apply import apply_run
from prefect_dvc.workspace.snapshot import refuse_read_only

QUEUE = Path(".dvc/tmp/queue")  # of runs of a Prefect server: SQLite bears only a few at a time
SECONDS_TO_STOP = 30.0  # for a remote to answer, before a stopped run ends without it
say = partial(print, flush=True)


def run_in_threads(run: Run, progress: Progress | None = None) -> None:
    """Run the stages in threads, and print their lines. Raises PipelineError."""
    shown = progress or Progress(len(run.stages))
    with _ending_soon():
        run.in_threads(
            lambda stage, line: shown.line(stage.name, line),
            lambda stage, outcome: shown.ended(stage.name, outcome, run.seconds[stage.name]),
        )


@contextmanager
def _ending_soon() -> Iterator[None]:
    """End this process some time after it was interrupted, even if a thread still waits for a remote."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        status = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 130
        timer = threading.Timer(SECONDS_TO_STOP, os._exit, [status])
        timer.daemon = True
        timer.start()
        raise


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Bring the graph of dvc.yaml up to date.")
    parser.add_argument("--target", help="the stage to bring up to date (default: all)")
    parser.add_argument("--profile", help="a profile of the folder that flows.yaml names (default: none)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter to change")
    parser.add_argument("--force", action="store_true", help="run the stages even if nothing has changed")
    parser.add_argument("--gpu", choices=("prefer", "require", "local"), default="prefer", help="where GPU stages run")
    parser.add_argument("--parallel", type=int, default=2, help="number of stages at a time")
    parser.add_argument("--apply", action="store_true", help="bring the result back to the workspace")
    parser.add_argument("--here", action="store_true", help="run in the workspace itself, as `dvc repro` does")
    return parser.parse_args(given)


def main() -> None:
    options, root = arguments(), Path.cwd()
    signal.signal(signal.SIGTERM, stop)
    given = {name: getattr(options, name) for name in ("target", "profile", "force", "gpu", "parallel")}
    try:
        if options.here:
            _here(options)
        elif os.environ.get("PREFECT_API_URL"):
            _with_server(given, assignments(options.set), apply=options.apply)
        else:
            with open_run(root, **given, overrides=assignments(options.set), log=say, hand_off=hand_off) as run:
                run_in_threads(run)
            if options.apply:
                apply_run(root, run.name)
            print(summary(run))
    except KeyboardInterrupt:
        sys.exit("Stopped. Everything that was finished is kept; the same command goes on from here.")


def _here(options: argparse.Namespace) -> None:
    """Run in the workspace itself."""
    if options.apply or options.set or options.profile:
        raise SettingsError(
            "--here works in the workspace itself: change its parameter files instead of --set and --profile, and "
            "leave --apply out."
        )
    given = {name: getattr(options, name) for name in ("target", "force", "parallel")}
    with open_in_place(Path.cwd(), **given, log=say) as run:
        progress = Progress(len(run.stages), brief=True)
        run_in_threads(run, progress)
    if progress.unchanged:
        print(f"{progress.unchanged} of {progress.total} stages were up to date.", flush=True)


def _with_server(given: dict[str, Any], overrides: Mapping[str, Any], *, apply: bool) -> None:
    """Run the flow of pipeline_flow.py in this process; a Prefect server shows it."""
    named = {key: value for key, value in given.items() if value is not None}
    refuse_unkept({**named, "overrides": overrides})
    refuse_read_only(Path.cwd())  # the queue is there, too
    most = most_runs()
    places = [Path.cwd() / QUEUE / f"{number}.lock" for number in range(most)]
    told = f"Waiting, since {most} runs are in progress: {{}}."
    with turn(places, f"process {os.getpid()}", told=lambda others: say(told.format(others))):
        os.environ |= RETRIES | os.environ  # Prefect reads them when it is imported
        from prefect_dvc.pipeline_flow import pipeline

        state = pipeline(**named, overrides=dict(overrides), apply=apply, return_state=True)
    if not state.is_completed():
        raise Refusal(state.message)


def refuse_unkept(parameters: Mapping[str, Any]) -> None:
    """Refuse what Prefect's server takes and cannot read again: with an integer beyond 64 bits it lists no run."""
    import orjson  # which Prefect writes with

    for name, value in flat(parameters).items():
        try:
            orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            told = (
                f"{name} is {value!r}, which Prefect's server cannot keep: {error}. Change the parameter file itself, "
            )
            raise SettingsError(f"{told}or run without PREFECT_API_URL.") from error


def stop(signum: int, frame: object) -> NoReturn:
    sys.exit(128 + signum)
