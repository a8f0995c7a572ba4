"""Retraining: a new snapshot of the corpus, the pipeline, a comparison with the promoted model, and then promotion.

    python -m flows.retrain --snapshot 2026-11-21 --profile best
    python -m flows.retrain --tolerance 'student/*/spearman=0.01' --remote origin

It starts from a commit, not from the workspace, so no unfinished work gets into a promoted model. A scheduled
retraining ends in one of the Decisions, or fails; in both cases continue with flows/promotion.py.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from prefect import State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run
from prefect.states import Completed

from flows.execution.graph import GraphError
from flows.execution.process import HeldError, held
from flows.execution.reproduce import Outcome
from flows.execution.run import GpuPolicy, Log, PipelineError, Run, open_run
from flows.execution.settings import PARAMS, SettingsError, assignments, flat
from flows.execution.yaml_reader import read_yaml
from flows.pipeline import run_in_threads, stop
from flows.promotion import (
    Channel,
    PromotionError,
    Version,
    channel_arguments,
    check,
    command,
    model_hash,
    promote,
    promoted,
    read_figures,
    same_model,
)
from flows.registry.comparison import (
    METRICS,
    PROVENANCE,
    TOLERANCES,
    Figures,
    Tolerance,
    ToleranceError,
    check_tolerances,
    compare,
    table,
)
from flows.tasks import AS_IT_STANDS, Profile, run_as_tasks
from flows.worktree import END, WorktreeError, git

LOCK = Path(".dvc/tmp/retrain.lock")
REPORT = Path("reports/promotion.md")  # in the run's directory, and in the commit of a promotion
SNAPSHOT_KEY = "web.snapshot"
NO_REMOTE = "none"


class Decision(StrEnum):
    """How a retraining ends.

    PROMOTED: the model has replaced the promoted one. GOOD: it is good enough, but promotion was off. NOT_PROMOTED: it
    is worse, cannot be compared, or is not a new model. CACHED: nothing had changed, so there is no new model. SKIPPED:
    another retraining is in progress.
    """

    PROMOTED = "Promoted"
    GOOD = "Good enough"
    NOT_PROMOTED = "Not promoted"
    CACHED = "Cached"
    SKIPPED = "Skipped"


@dataclass(frozen=True)
class Verdict:
    decision: Decision
    reason: str
    details: str = ""  # Markdown

    @property
    def report(self) -> str:
        return f"# {self.decision}\n\n{self.reason}\n\n{self.details}".rstrip() + "\n"


@dataclass(frozen=True)
class Order:
    """The settings of a retraining and of its promotion."""

    snapshot: date | None = None
    day: date | None = None  # used if `snapshot` is None and params.yaml has the key
    snapshot_key: str = SNAPSHOT_KEY
    profile: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tolerances: Mapping[str, Tolerance] | None = None
    promote: bool = True
    channel: Channel = field(default_factory=Channel)
    revision: str = "HEAD"
    gpu: GpuPolicy = "prefer"
    parallel: int = 2


def retrain_once(root: Path, order: Order, run_stages: Callable[[Run], None], log: Log, name: str) -> Verdict:
    """Retrain, compare, and promote if the model is good enough; others read `name` while this one holds the lock.

    Raises PipelineError, PromotionError, ToleranceError, SettingsError, WorktreeError, or GraphError.
    """
    holder = f"{name} (process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M:%S})"
    with ExitStack() as stack:
        try:
            stack.enter_context(held(root / LOCK, holder))
        except HeldError as other:
            return Verdict(Decision.SKIPPED, f"Another retraining is under way: {other}. This one did nothing.")
        return _retrain(root, order, run_stages, log)


def _retrain(root: Path, order: Order, run_stages: Callable[[Run], None], log: Log) -> Verdict:
    revision = git(root, "rev-parse", "--verify", END, f"{order.revision}^{{commit}}")
    check(root, order.channel, revision)
    overrides = _with_snapshot(order, git(root, "show", END, f"{revision}:{PARAMS}"), log)
    before = promoted(root, order.channel)
    figures = read_figures(root, before) if before else None
    if order.tolerances:
        check_tolerances(order.tolerances, figures.metrics if figures else None)
    with open_run(
        root,
        target=None,
        profile=order.profile,
        overrides=overrides,
        force=False,
        gpu=order.gpu,
        parallel=order.parallel,
        log=log,
        revision=revision,
    ) as run:
        run_stages(run)
        verdict = judge(run, order, before, figures)
        (run.directory / REPORT).parent.mkdir(exist_ok=True)
        (run.directory / REPORT).write_text(verdict.report, encoding="utf-8")
    if verdict.decision is not Decision.GOOD or not order.promote:
        return verdict
    version = promote(root, run.name, order.channel, instead_of=before)
    reason = f"{version.name} is at {order.channel.stage}. {verdict.reason} Back: {command(order.channel)} rollback"
    return Verdict(Decision.PROMOTED, reason, verdict.details)


def _with_snapshot(order: Order, params: str, log: Log) -> dict[str, Any]:
    """Return the overrides with the date of the snapshot, which makes DVC crawl again."""
    overrides, day = flat(order.overrides), order.snapshot or order.day
    if day is None or order.snapshot_key in overrides:
        return overrides
    if order.snapshot_key in flat(read_yaml(params)):
        return {order.snapshot_key: day.isoformat(), **overrides}
    if order.snapshot is not None:
        raise SettingsError(
            f"{PARAMS} has no '{order.snapshot_key}', so the snapshot {day} would change nothing; name the key that "
            "the crawler reads (snapshot_key), or give no date."
        )
    log(f"{PARAMS} has no '{order.snapshot_key}': the corpus stays as it is.")
    return overrides


def judge(run: Run, order: Order, before: Version | None, figures: Figures | None) -> Verdict:
    """Decide whether the model of a finished run may be promoted; `figures` are those of `before`, the promoted one."""
    place = f"Run {run.name}, files in {run.directory}"
    if all(outcome is Outcome.CACHED for outcome in run.outcomes.values()):
        hint = "" if before else f" To promote the one that is there: {command(order.channel)} promote {run.name}"
        return Verdict(Decision.CACHED, f"No stage had anything to do, so there is no new model.{hint}", place)
    graph, lock = ((run.directory / name).read_text(encoding="utf-8") for name in ("dvc.yaml", "dvc.lock"))
    try:
        same_model(run.root, model_hash(order.channel.artifact, graph, lock), order.channel)
    except PromotionError as error:
        return Verdict(Decision.NOT_PROMOTED, str(error), place)
    if before is None or figures is None:
        return Verdict(Decision.GOOD, f"There was nothing at {order.channel.stage} to compare with.", place)
    rows = compare(figures, _figures(run.directory), order.tolerances or TOLERANCES)
    details = f"{table(rows)}\n\nPromoted: {before.name}. New: {place}"
    problems = [f"{row.metric}: {row.problem}." for row in rows if row.problem]
    if not rows:
        problems = [f"No metric of {before.name} has a tolerance; name those that count in `tolerances`."]
    if problems:
        by_hand = f"To promote it nevertheless: {command(order.channel)} promote {run.name}"
        return Verdict(Decision.NOT_PROMOTED, " ".join([*problems, by_hand]), details)
    return Verdict(Decision.GOOD, f"Each of {len(rows)} metrics is within its tolerance of {before.name}.", details)


def _figures(directory: Path) -> Figures:
    metrics, provenance = (json.loads((directory / name).read_text(encoding="utf-8")) for name in (METRICS, PROVENANCE))
    return Figures(metrics, provenance["sets"])


@flow(name="retrain", log_prints=True)
def retrain(
    snapshot: date | None = None,
    profile: Profile = AS_IT_STANDS,
    overrides: dict[str, Any] = {},  # noqa: B006  Prefect's form shows it, nothing changes it
    tolerances: dict[str, Tolerance] = dict(TOLERANCES),  # noqa: B006
    promote: bool = True,
    artifact: str = Channel.artifact,
    stage: str = Channel.stage,
    branch: str = Channel.branch,
    remote: str = NO_REMOTE,
    revision: str = "HEAD",
    gpu: GpuPolicy = "prefer",
    parallel: int = 2,
    snapshot_key: str = SNAPSHOT_KEY,
    timezone: str = "UTC",
) -> State[None]:
    """Train on a new snapshot of the corpus, and promote the model if it is not worse than the promoted one.

    Args:
        snapshot: The day of the corpus; by default the day that the run is scheduled for.
        profile: A profile of conf/profile; "as it stands" leaves params.yaml unchanged.
        overrides: Parameters to change, for example {"student.epochs": 3}. Unknown keys are refused.
        tolerances: The allowed loss, by metric: 0.005 in its own unit, or "5%" of the promoted figure.
        promote: Promote the model if it is good enough; otherwise only report.
        artifact: The artifact of dvc.yaml that is promoted.
        stage: The stage of the registry that the artifact is promoted to.
        branch: The branch that gets the commits of promotions.
        remote: The git remote that gets this branch and the tags; none keeps them here.
        revision: The commit or branch to start from; uncommitted changes stay out.
        gpu: Where GPU stages run: on a worker if one is online (prefer), only there (require), or here (local).
        parallel: Number of stages at a time.
        snapshot_key: The parameter that gets the day.
        timezone: The timezone of the scheduled day: the schedule's own, such as Europe/Berlin.
    """
    order = Order(
        snapshot=snapshot,
        day=day_in(timezone, flow_run.scheduled_start_time),
        snapshot_key=snapshot_key,
        profile=None if profile == AS_IT_STANDS else profile,
        overrides=overrides,
        tolerances=None if tolerances == TOLERANCES else tolerances,
        promote=promote,
        channel=Channel(artifact, stage, branch, None if remote == NO_REMOTE else remote),
        revision=revision,
        gpu=gpu,
        parallel=parallel,
    )
    name = f"flow run '{flow_run.name}'"
    verdict = retrain_once(Path.cwd(), order, run_as_tasks, get_run_logger().info, name)
    create_markdown_artifact(key="retraining", markdown=verdict.report, description=str(verdict.decision))
    return Completed(name=str(verdict.decision), message=verdict.reason)


def day_in(timezone: str, moment: datetime | None = None) -> date:
    """Return the day of `moment`, or today, in `timezone`; raises SettingsError."""
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"There is no timezone '{timezone}'; write it as in 'Europe/Berlin' or 'UTC'.") from error
    return (moment or datetime.now(zone)).astimezone(zone).date()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m flows.retrain", description="Retrain, compare, promote.")
    parser.add_argument("--snapshot", type=date.fromisoformat, help="day of the corpus (default: today)")
    parser.add_argument("--snapshot-key", default=SNAPSHOT_KEY, help="the parameter that gets the day")
    parser.add_argument("--timezone", default="UTC", help="the timezone of today")
    parser.add_argument("--profile", help="a profile of conf/profile (default: params.yaml unchanged)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter to change")
    parser.add_argument(
        "--tolerance", action="append", default=[], metavar="METRIC=LOSS", help="an allowed loss: 0.005, or 5%%"
    )
    parser.add_argument("--no-promote", dest="promote", action="store_false", help="only report")
    parser.add_argument("--revision", default="HEAD", help="commit or branch to start from")
    parser.add_argument("--gpu", choices=("prefer", "require", "local"), default="prefer", help="where GPU stages run")
    parser.add_argument("--parallel", type=int, default=2, help="number of stages at a time")
    channel_arguments(parser)
    return parser.parse_args()


def main() -> None:
    options = vars(arguments())
    pairs = [pair.rpartition("=") for pair in options.pop("tolerance")]
    options["tolerances"] = {pattern: read_yaml(loss) for pattern, _, loss in pairs} or None
    signal.signal(signal.SIGTERM, stop)
    try:
        options["overrides"] = assignments(options.pop("set"))
        if os.environ.get("PREFECT_API_URL"):
            retrain(**{name: value for name, value in options.items() if value is not None})
            return
        day = day_in(options.pop("timezone"))
        channel = Channel(**{name: options.pop(name) for name in ("artifact", "stage", "branch", "remote")})
        order = Order(**options, day=day, channel=channel)
        verdict = retrain_once(Path.cwd(), order, run_in_threads, print, "python -m flows.retrain")
    except (GraphError, SettingsError, WorktreeError, PipelineError, PromotionError, ToleranceError) as error:
        sys.exit(f"retrain: {error}")
    print(verdict.report)
    if verdict.decision is Decision.SKIPPED:
        sys.exit(f"retrain: {verdict.reason}")


if __name__ == "__main__":
    main()
