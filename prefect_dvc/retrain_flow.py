"""The flow of a retraining, with its form on Prefect's page. Each end is an event, prefect-dvc.retraining.DECISION."""

from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal

from prefect import State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.events import emit_event
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from pydantic import WithJsonSchema

from prefect_dvc.execution.run import GpuPolicy
from prefect_dvc.pipeline_flow import AS_IT_STANDS, Overrides, Profile, label, run_as_tasks
from prefect_dvc.registry.promotion import Channel
from prefect_dvc.retraining import REPORTED, RetrainSettings, day_in, retrain_once
from prefect_dvc.settings.flows_yaml import Tolerance, read_config
from prefect_dvc.settings.parameters import sites

EVENT = "prefect-dvc.retraining"  # begins the name of each event
NO_REMOTE = "none"
NO_SITE: Final = "none"
HERE = read_config(Path.cwd())  # the form's defaults
SITES = [NO_SITE, *sites(Path.cwd())]  # of the form
Site = Annotated[str, WithJsonSchema({"type": "string", "enum": SITES})]


def _name() -> str:
    """Return the name of the flow run: its profile and the day of its snapshot."""
    given = flow_run.parameters
    day = given.get("snapshot") or day_in(given.get("timezone", "UTC"), flow_run.scheduled_start_time)
    return f"{given.get('profile', AS_IT_STANDS)}, {day}"


@flow(name="retrain", flow_run_name=_name, log_prints=True)
def retrain(
    snapshot: date | None = None,
    profile: Profile = AS_IT_STANDS,
    site: Site = NO_SITE,
    overrides: Overrides = {},  # noqa: B006  Prefect's form shows it, nothing changes it
    data: dict[str, Tolerance] = dict(HERE.edition.limits),  # noqa: B006
    gains: dict[str, Tolerance] = dict(HERE.registry.gains),  # noqa: B006
    tolerances: dict[str, Tolerance] = dict(HERE.registry.tolerances),  # noqa: B006
    promote: bool = True,
    artifact: str = HERE.registry.artifact,
    stage: str = Channel.stage,
    branch: str = Channel.branch,
    remote: str = NO_REMOTE,
    revision: str = "HEAD",
    source: str = NO_REMOTE,
    if_busy: Literal["wait", "skip"] = "wait",
    gpu: GpuPolicy = "prefer",
    parallel: int = 2,
    keep_runs: int = 100,
    keep_days: int = 90,
    keep_versions: int = 20,
    keep_version_days: int = 365,
    snapshot_key: str = HERE.edition.snapshot or "",
    timezone: str = "UTC",
) -> State[None]:
    """Train on a new snapshot of the data, and promote the model if it is not worse than the promoted one.

    Args:
        snapshot: The day of the data; by default the day that the run is scheduled for.
        profile: A profile; "as it stands" leaves params.yaml unchanged.
        site: A site that goes with the profile, such as a news site as its corpus.
        overrides: Parameters to change, for example {"student.epochs": 3}. Unknown keys are refused.
        data: The data gate, compared with the promoted edition: rows and vocabulary as shares, dropped and language as
            rises of a share. Without an entry, that is not checked.
        gains: The least gain, by metric, of which one must be reached, outside the noise; without any, a model that
            loses nothing is good.
        tolerances: The allowed loss, by metric: 0.005 in its own unit, or "5%" of the promoted figure.
        promote: Promote the model if it is good enough; otherwise only report.
        artifact: The artifact of dvc.yaml that is promoted.
        stage: The stage of the registry that the artifact is promoted to.
        branch: The branch that gets the commits of promotions.
        remote: The git remote that gets this branch and the tags; none keeps them here.
        revision: The commit or branch to start from; uncommitted changes stay out.
        source: The git remote from which this branch is fetched first; none takes the clone's own.
        if_busy: If another retraining is in progress: wait, as one may, or skip this one.
        gpu: Where GPU stages run: on a worker if one is online (prefer), only there (require), or here (local).
        parallel: Number of stages at a time.
        keep_runs: Kept runs are retired if they are not among so many newest ones,
        keep_days: and older than so many days; promoted models stay.
        keep_versions: Promoted versions lose their tags if they are not among so many newest ones,
        keep_version_days: and older than so many days; one at a stage, and the one before it, stay.
        snapshot_key: The parameter that gets the day.
        timezone: The timezone of the scheduled day: the schedule's own, such as Europe/Berlin.
    """
    settings = RetrainSettings(
        snapshot=snapshot,
        day=day_in(timezone, flow_run.scheduled_start_time),
        snapshot_key=snapshot_key or None,
        profile=None if profile == AS_IT_STANDS else profile,
        site=None if site == NO_SITE else site,
        overrides=overrides,
        data=data,
        gains=gains,
        wait=if_busy == "wait",
        source=None if source == NO_REMOTE else source,
        tolerances=None if tolerances == HERE.registry.tolerances else tolerances,
        promote=promote,
        channel=Channel(artifact, stage, branch, None if remote == NO_REMOTE else remote),
        revision=revision,
        gpu=gpu,
        parallel=parallel,
        keep_runs=keep_runs,
        keep_days=keep_days,
        keep_versions=keep_versions,
        keep_version_days=keep_version_days,
    )
    name = f"flow run '{flow_run.name}'"
    label(f"profile:{profile}", f"artifact:{artifact}")
    try:
        verdict = retrain_once(Path.cwd(), settings, run_as_tasks, get_run_logger().info, name)
    except REPORTED as error:
        emit("Failed", str(error), settings)
        return Failed(message=str(error))
    except Exception as error:
        emit("Failed", f"{type(error).__name__}: {error}", settings)
        raise
    emit(verdict.decision, verdict.reason, settings)
    create_markdown_artifact(key="retraining", markdown=verdict.report, description=str(verdict.decision))
    return Completed(name=str(verdict.decision), message=verdict.reason)


def emit(decision: str, reason: str, settings: RetrainSettings) -> None:
    """Emit the event of this flow run's end, for which automations wait."""
    emit_event(
        event=f"{EVENT}.{decision.lower().replace(' ', '-')}",
        resource={"prefect.resource.id": f"prefect-dvc.artifact.{settings.channel.artifact}"},
        related=[{"prefect.resource.id": f"prefect.flow-run.{flow_run.id}", "prefect.resource.role": "flow-run"}],
        payload={"decision": decision, "reason": reason, "flow_run": flow_run.name},
    )
