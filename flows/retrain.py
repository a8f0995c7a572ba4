"""Retraining: a new snapshot of the corpus, the pipeline, a comparison with the promoted model, and then promotion.

    python -m flows.retrain --snapshot 2026-11-21 --profile best
    python -m flows.retrain --tolerance 'student/*/spearman=0.01' --remote origin

It starts from a commit, not from the workspace, so no unfinished work gets into a promoted model; with a `source`, from
that remote's present branch. Two gates stand before a promotion: the data (flows/registry/data_gate.py), checked before
any training, and the figures (flows/registry/comparison.py). A retraining ends in one of the Decisions, or fails; in
both cases continue with flows/promotion.py. Each end is a Prefect event, distillery.retraining.DECISION.
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
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import dvc.api
from dvc.exceptions import DvcException
from prefect import State, flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.events import emit_event
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from pydantic import WithJsonSchema

from flows.execution.graph import Stage, makers
from flows.execution.process import HeldError, held
from flows.execution.reproduce import Outcome, StageError
from flows.execution.run import GpuPolicy, Log, PipelineError, Run, open_run
from flows.execution.settings import PARAMS, SettingsError, assignments, flat, sites
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
    lacking_gain,
    table,
)
from flows.registry.data_gate import COUNTERS, LIMITS, OVERVIEW, Edition, check_limits, problems, read_edition
from flows.tasks import AS_IT_STANDS, ERRORS, Profile, label, run_as_tasks
from flows.worktree import END, git, retire

LOCK = Path(".dvc/tmp/retrain.lock")
QUEUE = Path(".dvc/tmp/retrain.queue.lock")  # of the one that waits
FETCHED = "refs/distillery/fetched"
REPORT = Path("reports/promotion.md")  # in the run's directory, and in the commit of a promotion
SNAPSHOT_KEY = "web.snapshot"
EVENT = "distillery.retraining"  # begins the name of each event
NO_REMOTE = NO_LIMIT = "none"
NO_SITE: Final = "none"
SITES = [NO_SITE, *sites(Path.cwd())]  # of the form
Site = Annotated[str, WithJsonSchema({"type": "string", "enum": SITES})]
REPORTED = (*ERRORS, PromotionError, ToleranceError)


class Decision(StrEnum):
    """How a retraining ends.

    PROMOTED: the model has replaced the promoted one. GOOD: it is good enough, but promotion was off. NOT_PROMOTED: it
    is worse, gains too little, cannot be compared, or is not a new model. REFUSED: the data gate refused the edition
    before any training. CACHED: nothing had changed, so there is no new model. SKIPPED: another retraining is in
    progress, and this one is lost.
    """

    PROMOTED = "Promoted"
    GOOD = "Good enough"
    NOT_PROMOTED = "Not promoted"
    REFUSED = "Refused"
    CACHED = "Cached"
    SKIPPED = "Skipped"


class EditionError(StageError):
    """The data gate refuses the new edition of the corpus; the message has the figures and the limits."""


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
    site: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tolerances: Mapping[str, Tolerance] | None = None
    gains: Mapping[str, Tolerance] = field(default_factory=dict)  # at least one metric must gain so much
    data: Mapping[str, Tolerance] = field(default_factory=lambda: dict(LIMITS))
    wait: bool = False  # for another retraining, if no other waits already
    source: str | None = None  # git remote that `revision` is fetched from first
    keep_runs: int = 100  # newest ones, and all of
    keep_days: int = 90
    promote: bool = True
    channel: Channel = field(default_factory=Channel)
    revision: str = "HEAD"
    gpu: GpuPolicy = "prefer"
    parallel: int = 2


def retrain_once(root: Path, order: Order, run_stages: Callable[[Run], None], log: Log, name: str) -> Verdict:
    """Retrain, compare, and promote if the model is good enough; others read `name` while this one holds the lock.

    If another holds it, this one waits or is lost, as `order.wait` says. Raises PipelineError, PromotionError,
    ToleranceError, SettingsError, WorktreeError, or GraphError.
    """
    holder = f"{name} (process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M:%S})"
    with ExitStack() as stack:
        if lost := _take_turn(stack, root, holder, order.wait, log):
            return Verdict(Decision.SKIPPED, lost)
        verdict = _retrain(root, order, run_stages, log)
        if retired := retire(root, order.keep_days, order.keep_runs):
            log(f"The tags of {len(retired)} old runs are deleted, from {retired[0]} to {retired[-1]}.")
        return verdict


def _take_turn(stack: ExitStack, root: Path, holder: str, wait: bool, log: Log) -> str | None:
    """Take the lock of retrainings; return why this one is lost, or None if it has its turn. One waits at most."""
    try:
        stack.enter_context(held(root / LOCK, holder))
        return None
    except HeldError as other:
        busy = f"Another retraining is under way: {other}."
    if not wait:
        return f"{busy} This one did nothing, and is lost."
    with ExitStack() as queue:
        try:
            queue.enter_context(held(root / QUEUE, holder))
        except HeldError as first:
            return f"{busy} {first} waits already. This one did nothing, and is lost."
        log(f"{busy} This one waits.")
        stack.enter_context(held(root / LOCK, holder, wait=True))
    return None


def _revision(root: Path, order: Order) -> str:
    """Return the commit to start from; with a source, fetch it first."""
    if order.source is None:
        return git(root, "rev-parse", "--verify", END, f"{order.revision}^{{commit}}")
    if order.source not in (remotes := git(root, "remote").split()):
        raise SettingsError(f"git has no remote '{order.source}' to fetch from; it has {', '.join(remotes) or 'none'}.")
    ref = f"{FETCHED}/{uuid4().hex}"
    git(root, "fetch", "--quiet", "--no-tags", END, order.source, f"+{order.revision}:{ref}")
    try:
        return git(root, "rev-parse", "--verify", END, f"{ref}^{{commit}}")
    finally:
        git(root, "update-ref", "-d", END, ref)


def _retrain(root: Path, order: Order, run_stages: Callable[[Run], None], log: Log) -> Verdict:
    revision = _revision(root, order)
    check(root, order.channel, revision)
    overrides = _with_snapshot(order, git(root, "show", END, f"{revision}:{PARAMS}"), log)
    before = promoted(root, order.channel)
    figures = read_figures(root, before) if before else None
    check_limits(order.data)
    for given in (order.tolerances or {}, order.gains):
        check_tolerances(given, figures.metrics if figures else None)
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
        site=order.site,
    ) as run:
        if before and order.data and makers(run.directory, COUNTERS):
            run.gate = partial(_check_edition, run, _edition_of(root, before), order.data)
        verdict = _run_and_judge(run, order, run_stages, before, figures)
        (run.directory / REPORT).parent.mkdir(exist_ok=True)
        (run.directory / REPORT).write_text(verdict.report, encoding="utf-8")
    if verdict.decision is not Decision.GOOD or not order.promote:
        return verdict
    settings = {"profile": order.profile, "site": order.site, **overrides}
    why = "\n".join([verdict.reason, *(f"{name}: {value}" for name, value in settings.items() if value is not None)])
    version = promote(root, run.name, order.channel, instead_of=before, why=why)
    reason = f"{version.name} is at {order.channel.stage}. {verdict.reason} Back: {command(order.channel)} rollback"
    return Verdict(Decision.PROMOTED, reason, verdict.details)


def _run_and_judge(
    run: Run, order: Order, run_stages: Callable[[Run], None], before: Version | None, figures: Figures | None
) -> Verdict:
    """Run the stages and judge the model; the data gate may have ended the run before any training."""
    try:
        run_stages(run)
    except PipelineError:
        refused = [failure for failure in run.failures if isinstance(failure, EditionError)]
        if not refused:
            raise
        return Verdict(Decision.REFUSED, str(refused[0]), f"Run {run.name}, files in {run.directory}")
    return judge(run, order, before, figures)


def _edition_of(root: Path, version: Version) -> Edition:
    """Read what the cleaner counted for a version, from DVC's cache or remote. Raises PromotionError."""
    try:
        counters, overview = (dvc.api.read(name, repo=str(root), rev=version.commit) for name in (COUNTERS, OVERVIEW))
    except (DvcException, OSError) as error:
        raise PromotionError(
            f"{COUNTERS} or {OVERVIEW} of {version.name} ({version.commit[:7]}) cannot be read, so the data gate has "
            f"nothing to compare with: {error}. `dvc fetch` there brings them; without limits there is no gate."
        ) from error
    return read_edition(counters, overview)


def _check_edition(run: Run, promoted: Edition, limits: Mapping[str, Tolerance], stage: Stage) -> None:
    """Raise EditionError if `stage` has just counted an edition that the data gate refuses."""
    if stage.name not in makers(run.directory, COUNTERS):
        return
    counters, overview = ((run.directory / name).read_text(encoding="utf-8") for name in (COUNTERS, OVERVIEW))
    if found := problems(promoted, read_edition(counters, overview), limits):
        raise EditionError(f"The data gate refuses this edition. {'. '.join(found)}. No model was trained.")


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
    if lacking := lacking_gain(rows, order.gains):
        return Verdict(Decision.NOT_PROMOTED, lacking, details)
    return Verdict(Decision.GOOD, f"Each of {len(rows)} metrics is within its tolerance of {before.name}.", details)


def _figures(directory: Path) -> Figures:
    metrics, provenance = (json.loads((directory / name).read_text(encoding="utf-8")) for name in (METRICS, PROVENANCE))
    return Figures(metrics, provenance["sets"])


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
    overrides: dict[str, Any] = {},  # noqa: B006  Prefect's form shows it, nothing changes it
    data: dict[str, Tolerance] = dict(LIMITS),  # noqa: B006
    gains: dict[str, Tolerance] = {},  # noqa: B006
    tolerances: dict[str, Tolerance] = dict(TOLERANCES),  # noqa: B006
    promote: bool = True,
    artifact: str = Channel.artifact,
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
    snapshot_key: str = SNAPSHOT_KEY,
    timezone: str = "UTC",
) -> State[None]:
    """Train on a new snapshot of the corpus, and promote the model if it is not worse than the promoted one.

    Args:
        snapshot: The day of the corpus; by default the day that the run is scheduled for.
        profile: A profile of conf/profile; "as it stands" leaves params.yaml unchanged.
        site: A news site of conf/site, as the corpus of the profile.
        overrides: Parameters to change, for example {"student.epochs": 3}. Unknown keys are refused.
        data: The data gate, compared with the promoted edition: rows and vocabulary as shares, dropped and language as
            rises of a share. Without an entry, that is not checked.
        gains: The least gain, by metric, of which one must be reached; without any, a model that loses nothing is good.
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
        snapshot_key: The parameter that gets the day.
        timezone: The timezone of the scheduled day: the schedule's own, such as Europe/Berlin.
    """
    order = Order(
        snapshot=snapshot,
        day=day_in(timezone, flow_run.scheduled_start_time),
        snapshot_key=snapshot_key,
        profile=None if profile == AS_IT_STANDS else profile,
        site=None if site == NO_SITE else site,
        overrides=overrides,
        data=data,
        gains=gains,
        wait=if_busy == "wait",
        source=None if source == NO_REMOTE else source,
        tolerances=None if tolerances == TOLERANCES else tolerances,
        promote=promote,
        channel=Channel(artifact, stage, branch, None if remote == NO_REMOTE else remote),
        revision=revision,
        gpu=gpu,
        parallel=parallel,
        keep_runs=keep_runs,
        keep_days=keep_days,
    )
    name = f"flow run '{flow_run.name}'"
    label(f"profile:{profile}", f"artifact:{artifact}")
    try:
        verdict = retrain_once(Path.cwd(), order, run_as_tasks, get_run_logger().info, name)
    except REPORTED as error:
        tell("Failed", str(error), order)
        return Failed(message=str(error))
    tell(verdict.decision, verdict.reason, order)
    create_markdown_artifact(key="retraining", markdown=verdict.report, description=str(verdict.decision))
    return Completed(name=str(verdict.decision), message=verdict.reason)


def tell(decision: str, reason: str, order: Order) -> None:
    """Emit the event of this flow run's end, for which automations wait."""
    emit_event(
        event=f"{EVENT}.{decision.lower().replace(' ', '-')}",
        resource={"prefect.resource.id": f"distillery.artifact.{order.channel.artifact}"},
        related=[{"prefect.resource.id": f"prefect.flow-run.{flow_run.id}", "prefect.resource.role": "flow-run"}],
        payload={"decision": decision, "reason": reason, "flow_run": flow_run.name},
    )


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
    parser.add_argument("--site", help="a news site of conf/site as the corpus of the profile")
    parser.add_argument("--source", help="git remote from which the revision is fetched first (default: none)")
    parser.add_argument("--wait", action="store_true", help="if another retraining is in progress")
    parser.add_argument("--data", action="append", metavar="GATE=LIMIT", help="rows=30%% and others; =none: no gate")
    parser.add_argument("--gain", action="append", default=[], metavar="METRIC=GAIN", help="a least gain: 0.002")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter to change")
    parser.add_argument(
        "--tolerance", action="append", default=[], metavar="METRIC=LOSS", help="an allowed loss: 0.005, or 5%%"
    )
    parser.add_argument("--no-promote", dest="promote", action="store_false", help="only report")
    parser.add_argument("--revision", default="HEAD", help="commit or branch to start from")
    parser.add_argument("--gpu", choices=("prefer", "require", "local"), default="prefer", help="where GPU stages run")
    parser.add_argument("--parallel", type=int, default=2, help="number of stages at a time")
    parser.add_argument("--keep-runs", type=int, default=100, help="so many kept runs stay, however old")
    parser.add_argument("--keep-days", type=int, default=90, help="younger kept runs stay, however many")
    channel_arguments(parser)
    return parser.parse_args()


def _limits(given: list[str]) -> dict[str, Tolerance]:
    return {pattern: read_yaml(limit) for pattern, _, limit in (pair.rpartition("=") for pair in given)}


def main() -> None:
    options = vars(arguments())
    options["tolerances"] = _limits(options.pop("tolerance")) or None
    options["gains"] = _limits(options.pop("gain"))
    data = {**LIMITS, **_limits(options.pop("data") or [])}
    options["data"] = {name: limit for name, limit in data.items() if limit != NO_LIMIT}
    signal.signal(signal.SIGTERM, stop)
    try:
        options["overrides"] = assignments(options.pop("set"))
        if os.environ.get("PREFECT_API_URL"):
            options["if_busy"] = "wait" if options.pop("wait") else "skip"
            state = retrain(**{name: value for name, value in options.items() if value is not None}, return_state=True)
            if not state.is_completed():
                sys.exit(f"retrain: {state.message}")
            return
        day = day_in(options.pop("timezone"))
        channel = Channel(**{name: options.pop(name) for name in ("artifact", "stage", "branch", "remote")})
        order = Order(**options, day=day, channel=channel)
        verdict = retrain_once(Path.cwd(), order, run_in_threads, print, "python -m flows.retrain")
    except REPORTED as error:
        sys.exit(f"retrain: {error}")
    print(verdict.report)
    if verdict.decision is Decision.SKIPPED:
        sys.exit(f"retrain: {verdict.reason}")


if __name__ == "__main__":
    main()
