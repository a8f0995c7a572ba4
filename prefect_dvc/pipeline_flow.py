"""The pipeline as a Prefect flow: one task for each stage of dvc.yaml, started as soon as its upstream is done.

DVC decides what has to run; Prefect runs it, side by side, and shows it. The states follow DVC: Cached, Restored,
Pulled, Ran. `prefect-dvc run` runs this flow if there is a server.
"""

from graphlib import TopologicalSorter
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from prefect import State, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.context import TaskRunContext
from prefect.futures import wait
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed
from prefect.utilities.annotations import quote
from pydantic import WithJsonSchema

from prefect_dvc.artifacts import publish, publish_stages
from prefect_dvc.errors import Refusal
from prefect_dvc.execution.graph import Stage
from prefect_dvc.execution.outcome import MEANING, Outcome, StageError
from prefect_dvc.execution.run import GpuPolicy, Run, open_run, summary
from prefect_dvc.server.orphans import at_work
from prefect_dvc.settings.graph_files import targets
from prefect_dvc.settings.parameters import AS_IT_STANDS, LARGEST, choices, known_keys
from prefect_dvc.workers.handoff import hand_off
from prefect_dvc.workspace.apply import apply_run

EVERYTHING = "all"
# The choices of the form; a cell of a matrix is a target of the command line alone.
CHOICES = [AS_IT_STANDS, *choices(Path.cwd(), "profiles")]
TARGETS = [EVERYTHING, *targets(Path.cwd())]
Profile = Annotated[str, WithJsonSchema({"type": "string", "enum": CHOICES})]
Overrides = Annotated[dict[str, Any], WithJsonSchema(known_keys(Path.cwd()))]  # Prefect refuses others in the form
Parallel = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": LARGEST})]
Target = Annotated[str, WithJsonSchema({"type": "string", "enum": TARGETS})]


@task(cache_policy=NO_CACHE, task_run_name="{name}")
def stage_task(run: Run, stage: Stage, name: str) -> State[None]:
    """Bring a stage up to date; its output goes to the run's logs. An error is a message, not a traceback."""
    try:
        outcome = run.bring_up_to_date(stage, get_run_logger().info)
    except StageError as error:
        if run.work.commands.closed:
            return Cancelled(message="The run was stopped.")
        return Failed(message=str(error))
    context = TaskRunContext.get()
    if context is not None and outcome is not Outcome.RAN:  # the graph has one colour for all
        context.task_run.name = f"{name}: {outcome}"
    return Completed(name=str(outcome), message=MEANING[outcome])


@flow(name="pipeline", flow_run_name="{target}, {profile}", log_prints=True)
def pipeline(
    target: Target = EVERYTHING,
    profile: Profile = AS_IT_STANDS,
    overrides: Overrides = {},  # noqa: B006  Prefect's form shows it, nothing changes it
    force: bool = False,
    gpu: GpuPolicy = "prefer",
    parallel: Parallel = 2,
    apply: bool = False,
) -> State[None]:
    """Run the graph of dvc.yaml in a separate worktree, and publish the results as artifacts.

    Args:
        target: The stage to bring up to date, with everything it depends on; or all.
        profile: A profile; "as it stands" leaves params.yaml unchanged.
        overrides: Parameters to change, for example {"student.epochs": 3}. Unknown keys are refused.
        force: Run the stages even if nothing has changed.
        gpu: Where GPU stages run: on a worker if one is online (prefer), only there (require), or here (local).
        parallel: Number of stages at a time.
        apply: Bring the result back to the workspace.
    """
    log = get_run_logger().info
    root = Path.cwd()
    try:
        with at_work(str(flow_run.id), str(flow_run.name)):
            with open_run(
                root,
                target=None if target == EVERYTHING else target,
                profile=None if profile == AS_IT_STANDS else profile,
                overrides=overrides,
                force=force,
                gpu=gpu,
                parallel=parallel,
                log=log,
                hand_off=hand_off,
            ) as run:
                label(f"target:{target}", f"profile:{profile}", f"run:{run.name}")
                run_as_tasks(run)
            if apply:
                apply_run(root, run.name)
    except (Refusal, OSError) as error:  # whose message is enough
        return Failed(message=str(error))
    cached = all(run.outcomes[stage.name] is Outcome.CACHED for stage in run.stages)
    return Completed(name="Cached" if cached else "Completed", message=summary(run))


def label(*tags: str) -> None:
    """Add tags to the flow run, by which Prefect's page filters."""
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(str(flow_run.id)), tags=[*flow_run.tags, *tags])


def run_as_tasks(run: Run) -> None:
    """Run each stage as a task of the calling flow; then publish the run's artifacts. Raises PipelineError."""
    futures: dict[str, Any] = {}
    by_name = {stage.name: stage for stage in run.stages}
    for name in TopologicalSorter({stage.name: stage.upstream for stage in run.stages}).static_order():
        stage = by_name[name]
        upstream = [futures[each] for each in stage.upstream]
        quoted: Any = quote(run)  # Prefect would walk through it in search of futures
        futures[stage.name] = stage_task.submit(quoted, stage, stage.name, wait_for=upstream, return_state=False)
    try:
        wait(list(futures.values()))
    finally:
        run.work.commands.end()
    publish_stages(run)
    run.check()
    publish(run)
