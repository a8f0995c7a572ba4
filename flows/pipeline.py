"""The pipeline: one Prefect task for each stage of dvc.yaml, started as soon as its upstream is done.

    python -m flows.pipeline --target student --profile best --set student.epochs=3

DVC decides what has to run; Prefect runs it, side by side, and shows it. The states follow DVC: Cached, Restored,
Pulled, Ran. Without a Prefect server (no PREFECT_API_URL) the same run goes through plain threads.
"""

import argparse
import os
import signal
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from prefect import State, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import wait
from prefect.states import Completed
from prefect.utilities.annotations import quote

from flows.graph import GraphError, Stage
from flows.reproduce import Outcome
from flows.run import GpuPolicy, PipelineError, Run, open_run
from flows.settings import SettingsError, assignments
from flows.show import publish
from flows.worktree import WorktreeError, bring_back

EVERYTHING = "all"
AS_IT_STANDS: Final = "as it stands"  # params.yaml unchanged; deployments have this value
Profile = Literal["as it stands", "demo", "paper", "best"]
MEANING = {
    Outcome.CACHED: "nothing has changed, and its outputs are those of dvc.lock",
    Outcome.RESTORED: "an earlier run had the same inputs; its outputs came from DVC's cache",
    Outcome.PULLED: "its outputs came from the remote",
    Outcome.RAN: "its command ran",
    Outcome.RAN_ON_GPU: "its command ran on a GPU worker, and its outputs came back through the remote",
}


@task(cache_policy=NO_CACHE, task_run_name="{name}")
def stage_task(run: Run, stage: Stage, name: str) -> State[None]:
    """Bring a stage up to date; its output goes to the run's logs."""
    outcome = run.bring_up_to_date(stage, get_run_logger().info)
    return Completed(name=str(outcome), message=MEANING[outcome])


@flow(name="pipeline", log_prints=True)
def pipeline(
    target: str = EVERYTHING,
    profile: Profile = AS_IT_STANDS,
    overrides: dict[str, Any] = {},  # noqa: B006  Prefect's form shows it, nothing changes it
    force: bool = False,
    gpu: GpuPolicy = "prefer",
    parallel: int = 2,
    apply: bool = False,
) -> State[None]:
    """Run the graph of dvc.yaml in a separate worktree, and publish the results as artifacts.

    Args:
        target: The stage to bring up to date, with everything it depends on; or all.
        profile: A profile of conf/profile; "as it stands" leaves params.yaml unchanged.
        overrides: Parameters to change, for example {"student.epochs": 3}. Unknown keys are refused.
        force: Run the stages even if nothing has changed.
        gpu: Where GPU stages run: on a worker if one is online (prefer), only there (require), or here (local).
        parallel: Number of stages at a time.
        apply: Bring the result back to the workspace.
    """
    log = get_run_logger().info
    root = Path.cwd()
    with open_run(
        root,
        target=None if target == EVERYTHING else target,
        profile=None if profile == AS_IT_STANDS else profile,
        overrides=overrides,
        force=force,
        gpu=gpu,
        parallel=parallel,
        log=log,
    ) as run:
        run_as_tasks(run)
    if apply:
        bring_back(root, run.name)
    return summary(run)


def run_as_tasks(run: Run) -> None:
    """Run each stage as a task of the calling flow; then publish the run's artifacts. Raises PipelineError."""
    futures: dict[str, Any] = {}
    for stage in run.stages:
        upstream = [futures[name] for name in stage.upstream]
        quoted: Any = quote(run)  # Prefect would walk through it in search of futures
        futures[stage.name] = stage_task.submit(quoted, stage, stage.name, wait_for=upstream, return_state=False)
    try:
        wait(list(futures.values()))
    finally:
        run.children.end()
    run.check()
    publish(run)


def summary(run: Run) -> State[None]:
    """Return Cached if every stage was cached, otherwise Completed; the message has the stages by outcome."""
    by_outcome = {o: [stage.name for stage in run.stages if run.outcomes[stage.name] is o] for o in Outcome}
    message = "; ".join(f"{o}: {', '.join(names)}" for o, names in by_outcome.items() if names)
    everything_cached = len(by_outcome[Outcome.CACHED]) == len(run.stages)
    return Completed(name="Cached" if everything_cached else "Completed", message=message)


def run_in_threads(run: Run) -> None:
    """Run the stages as `run_as_tasks` does, but in threads and without a server. Raises PipelineError."""

    def bring_up_to_date(stage: Stage, upstream: list[Future[Outcome]]) -> Outcome:
        for future in upstream:
            future.result()  # raises if it failed, and so this stage does not run
        outcome = run.bring_up_to_date(stage, lambda line: print(f"{stage.name} | {line}", flush=True))
        print(f"{stage.name}: {outcome}, {MEANING[outcome]}", flush=True)
        return outcome

    with ThreadPoolExecutor(len(run.stages)) as threads:
        futures: dict[str, Future[Outcome]] = {}
        for stage in run.stages:
            futures[stage.name] = threads.submit(bring_up_to_date, stage, [futures[name] for name in stage.upstream])
        try:
            for future in futures.values():
                future.exception()
        finally:
            run.children.end()
    run.check()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m flows.pipeline", description="Run the graph of dvc.yaml.")
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
            pipeline(**named, overrides=overrides, apply=apply)
            return
        root = Path.cwd()
        with open_run(root, **options, overrides=overrides, log=print) as run:
            run_in_threads(run)
        if apply:
            bring_back(root, run.name)
        print(summary(run).message)
    except (GraphError, SettingsError, WorktreeError, PipelineError) as error:
        sys.exit(f"pipeline: {error}")


def stop(signum: int, frame: object) -> NoReturn:
    sys.exit(128 + signum)


if __name__ == "__main__":
    main()
