"""A retraining: a new snapshot of the data, the pipeline, a comparison with the promoted model, and then promotion.

It starts from a commit, not from the workspace, so no unfinished work gets into a promoted model; with a `source`, from
that remote's present branch. Two gates stand before a promotion: the data (registry/data_gate.py), checked before
any training, and the figures (registry/comparison.py). A retraining ends in one of the Decisions, or fails; in
both cases continue with registry/promotion.py. It does not know Prefect; retrain.py is its command, and
retrain_flow.py its flow.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import dvc.api
from dvc.exceptions import DvcException

from prefect_dvc.execution.commands import Log
from prefect_dvc.execution.graph import GraphError, Stage
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.execution.run import GpuPolicy, PipelineError, Run, open_run
from prefect_dvc.registry.comparison import (
    Figures,
    ToleranceError,
    check_gains,
    check_tolerances,
    compare,
    lacking_gain,
    read_benchmarks,
    read_metrics,
    table,
)
from prefect_dvc.registry.data_gate import Edition, check_limits, problems, read_edition
from prefect_dvc.registry.noise import read_draws
from prefect_dvc.registry.promotion import (
    Channel,
    PromotionError,
    Version,
    check,
    command,
    fetch_registry,
    model_hash,
    outputs,
    promote,
    promoted,
    read_figures,
    same_model,
)
from prefect_dvc.registry.retention import retire_versions
from prefect_dvc.settings.flows_yaml import FILE, Config, EditionFiles, Registry, SettingsError, Tolerance, read_config
from prefect_dvc.settings.graph_files import PARAMS
from prefect_dvc.settings.parameters import flat
from prefect_dvc.settings.yaml_reader import read_yaml
from prefect_dvc.system.process import HeldError, held
from prefect_dvc.workers.handoff import hand_off
from prefect_dvc.workspace.directory import retire
from prefect_dvc.workspace.git import END, WorkspaceError, git

LOCK = Path(".dvc/tmp/retrain.lock")
QUEUE = Path(".dvc/tmp/retrain.queue.lock")  # of the one that waits
FETCHED = "refs/prefect-dvc/fetched"
REPORT = Path("reports/promotion.md")  # in the run's directory, and in the commit of a promotion
REPORTED = (GraphError, SettingsError, WorkspaceError, PipelineError, PromotionError, ToleranceError)


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
class RetrainSettings:
    """The settings of a retraining and of its promotion; None is the value of flows.yaml."""

    channel: Channel
    snapshot: date | None = None
    day: date | None = None  # used if `snapshot` is None and params.yaml has the key
    snapshot_key: str | None = None
    profile: str | None = None
    site: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tolerances: Mapping[str, Tolerance] | None = None
    gains: Mapping[str, Tolerance] | None = None  # at least one metric must gain so much
    data: Mapping[str, Tolerance] | None = None
    wait: bool = False  # for another retraining, if no other waits already
    source: str | None = None  # git remote that `revision` is fetched from first
    keep_runs: int = 100  # newest ones, and all of
    keep_days: int = 90
    keep_versions: int = 20  # newest promoted ones, and all of
    keep_version_days: int = 365
    promote: bool = True
    revision: str = "HEAD"
    gpu: GpuPolicy = "prefer"
    parallel: int = 2


def retrain_once(
    root: Path, settings: RetrainSettings, run_stages: Callable[[Run], None], log: Log, name: str
) -> Verdict:
    """Retrain, compare, and promote if the model is good enough; others read `name` while this one holds the lock.

    If another holds it, this one waits or is lost, as `settings.wait` says. Raises PipelineError, PromotionError,
    ToleranceError, SettingsError, WorkspaceError, or GraphError.
    """
    holder = f"{name} (process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M:%S})"
    with ExitStack() as stack:
        if lost := _take_turn(stack, root, holder, settings.wait, log):
            return Verdict(Decision.SKIPPED, lost)
        verdict = _retrain(root, settings, run_stages, log)
        if retired := retire(root, settings.keep_days, settings.keep_runs):
            log(f"The tags of {len(retired)} old runs are deleted, from {retired[0]} to {retired[-1]}.")
        versions = retire_versions(root, settings.channel, settings.keep_version_days, settings.keep_versions)
        if versions:
            log(f"The tags of old versions are deleted: {', '.join(versions)}.")
        return verdict


def _take_turn(stack: ExitStack, root: Path, holder: str, wait: bool, log: Log) -> str | None:
    """Take the lock of retrainings; return why this one is lost, or None if it has its turn. One waits at most."""
    try:
        stack.enter_context(held(root / LOCK, holder))
        return None
    except HeldError as other:
        busy = f"Another retraining is in progress: {other}."
    if not wait:
        return f"{busy} This one ends without doing anything."
    with ExitStack() as queue:
        try:
            queue.enter_context(held(root / QUEUE, holder))
        except HeldError as first:
            return f"{busy} {first} already waits. This one ends without doing anything."
        log(f"{busy} This one waits.")
        stack.enter_context(held(root / LOCK, holder, wait=True))
    return None


def _revision(root: Path, settings: RetrainSettings) -> str:
    """Return the commit to start from; with a source, fetch it first."""
    if settings.source is None:
        return git(root, "rev-parse", "--verify", END, f"{settings.revision}^{{commit}}")
    if settings.source not in (remotes := git(root, "remote").split()):
        raise SettingsError(
            f"git has no remote '{settings.source}' to fetch from; it has {', '.join(remotes) or 'none'}."
        )
    ref = f"{FETCHED}/{uuid4().hex}"
    git(root, "fetch", "--quiet", "--no-tags", END, settings.source, f"+{settings.revision}:{ref}")
    try:
        return git(root, "rev-parse", "--verify", END, f"{ref}^{{commit}}")
    finally:
        git(root, "update-ref", "-d", END, ref)


def _retrain(root: Path, settings: RetrainSettings, run_stages: Callable[[Run], None], log: Log) -> Verdict:
    revision = _revision(root, settings)
    check(root, settings.channel, revision)
    fetch_registry(root, settings.channel)
    before, config = promoted(root, settings.channel), read_config(root)
    key = settings.snapshot_key or config.edition.snapshot
    overrides = _with_snapshot(settings, key, _params_at(root, revision), log)
    figures = read_figures(root, before) if before else None
    limits = config.edition.limits if settings.data is None else settings.data
    check_limits(limits)
    check_tolerances({**config.registry.gains, **config.registry.tolerances}, None)
    for given in (settings.tolerances or {}, settings.gains or {}):
        check_tolerances(given, figures.metrics if figures else None)
    if figures:
        tolerances = settings.tolerances or config.registry.tolerances
        check_gains(figures.metrics, tolerances, config.registry.gains if settings.gains is None else settings.gains)
    with open_run(
        root,
        target=None,
        profile=settings.profile,
        overrides=overrides,
        force=False,
        gpu=settings.gpu,
        parallel=settings.parallel,
        log=log,
        revision=revision,
        site=settings.site,
        hand_off=hand_off,
    ) as run:
        _refuse_unmade(run, config, gate=bool(limits))
        if before and limits and config.edition.counters:
            run.gate = partial(_check_edition, run, config.edition, _edition_of(root, before, config.edition), limits)
        verdict = _run_and_judge(run, settings, run_stages, before, figures)
        (run.directory / REPORT).parent.mkdir(exist_ok=True)
        (run.directory / REPORT).write_text(verdict.report, encoding="utf-8")
    if verdict.decision is not Decision.GOOD or not settings.promote:
        return verdict
    changed = {"profile": settings.profile, "site": settings.site, **overrides}
    why = "\n".join([verdict.reason, *(f"{name}: {value}" for name, value in changed.items() if value is not None)])
    version = promote(root, run.name, settings.channel, instead_of=before, why=why)
    reason = (
        f"{version.name} is at {settings.channel.stage}. {verdict.reason} Back: {command(settings.channel, 'rollback')}"
    )
    return Verdict(Decision.PROMOTED, reason, verdict.details)


def _params_at(root: Path, revision: str) -> str:
    """Return the text of params.yaml at a commit; nothing if there is none."""
    with suppress(WorkspaceError):
        return git(root, "show", END, f"{revision}:{PARAMS}")
    return ""


def _refuse_unmade(run: Run, config: Config, *, gate: bool) -> None:
    """Raise SettingsError if no stage writes the figures or, with a data gate, the counters: no gate would close."""
    counters = {"edition.counters": config.edition.counters} if gate and config.edition.counters else {}
    for key, path in {"registry.metrics": config.registry.metrics, **counters}.items():
        if not any(stage.makes(path) for stage in run.stages):
            raise SettingsError(
                f"{FILE}: {key} is '{path}', which no stage of dvc.yaml writes, so nothing could be compared. Correct "
                "the path, or add it to the stage. Without limits there is no data gate."
            )


def _run_and_judge(
    run: Run,
    settings: RetrainSettings,
    run_stages: Callable[[Run], None],
    before: Version | None,
    figures: Figures | None,
) -> Verdict:
    """Run the stages and judge the model; the data gate may have ended the run before any training."""
    try:
        run_stages(run)
    except PipelineError:
        refused = [failure for failure in run.failures if isinstance(failure, EditionError)]
        if not refused:
            raise
        return Verdict(Decision.REFUSED, str(refused[0]), f"Run {run.name}, files in {run.directory}")
    return judge(run, settings, before, figures)


def _edition_of(root: Path, version: Version, files: EditionFiles) -> Edition:
    """Read the counts of a version's data from DVC's cache or remote. Raises PromotionError."""
    named = [name for name in (files.counters, files.overview) if name]
    try:
        texts = [dvc.api.read(name, repo=str(root), rev=version.commit) for name in named]
    except (DvcException, OSError) as error:
        raise PromotionError(
            f"{' or '.join(named)} of {version.name} ({version.commit[:7]}) cannot be read, so the data gate has "
            f"nothing to compare with: {error}. Fetch them with `dvc fetch` at that commit, or set no limits, which "
            "switches the gate off."
        ) from error
    return read_edition(files, *texts, *[None] * (2 - len(texts)))


def _check_edition(
    run: Run, files: EditionFiles, promoted: Edition, limits: Mapping[str, Tolerance], stage: Stage
) -> None:
    """Raise EditionError if `stage` has just counted an edition that the data gate refuses."""
    if not stage.makes(str(files.counters)):
        return
    counters = (run.directory / str(files.counters)).read_text(encoding="utf-8")
    overview = (run.directory / files.overview).read_text(encoding="utf-8") if files.overview else None
    if found := problems(promoted, read_edition(files, counters, overview), limits):
        raise EditionError(f"The data gate refuses this edition. {'. '.join(found)}. No model was trained.")


def _with_snapshot(settings: RetrainSettings, key: str | None, params: str, log: Log) -> dict[str, Any]:
    """Return the overrides with the date of the snapshot, which makes DVC fetch the data again."""
    overrides, day = flat(settings.overrides), settings.snapshot or settings.day
    if day is None or key in overrides or (key is None and settings.snapshot is None):
        return overrides
    if key is not None and key in flat(read_yaml(params) or {}):
        return {key: day.isoformat(), **overrides}
    if settings.snapshot is not None:
        raise SettingsError(
            f"{PARAMS} has no '{key}', so the snapshot {day} would change nothing; name the key that the stage which "
            "fetches the data reads (snapshot_key, or `edition.snapshot` of flows.yaml), or give no date."
        )
    log(f"{PARAMS} has no '{key}': the data stays as it is.")
    return overrides


def judge(run: Run, settings: RetrainSettings, before: Version | None, figures: Figures | None) -> Verdict:
    """Decide whether the model of a finished run may be promoted; `figures` are those of `before`, the promoted one."""
    place = f"Run {run.name}, files in {run.directory}"
    if all(outcome is Outcome.CACHED for outcome in run.outcomes.values()):
        hint = "" if before else f" To promote the existing model: {command(settings.channel, 'promote')} {run.name}"
        return Verdict(Decision.CACHED, f"All stages were up to date, so there is no new model.{hint}", place)
    try:
        same_model(run.root, model_hash(settings.channel.artifact, outputs(run.directory)), settings.channel)
    except PromotionError as error:
        return Verdict(Decision.NOT_PROMOTED, str(error), place)
    registry = read_config(run.root).registry
    new = _figures(run.directory, registry)
    if before is None or figures is None:
        return Verdict(Decision.GOOD, f"{settings.channel.stage} had no version to compare with.", place)
    rows = compare(figures, new, settings.tolerances or registry.tolerances)
    details = f"{table(rows)}\n\nPromoted: {before.name}. New: {place}"
    problems = [f"{row.metric}: {row.problem}." for row in rows if row.problem]
    if not rows:
        problems = [f"No metric of {before.name} has a tolerance; name the metrics that count in `tolerances`."]
    if problems:
        by_hand = f"To promote it anyway: {command(settings.channel, 'promote')} {run.name}"
        return Verdict(Decision.NOT_PROMOTED, " ".join([*problems, by_hand]), details)
    if lacking := lacking_gain(rows, registry.gains if settings.gains is None else settings.gains):
        return Verdict(Decision.NOT_PROMOTED, lacking, details)
    return Verdict(Decision.GOOD, f"Each of {len(rows)} metrics is within its tolerance of {before.name}.", details)


def _figures(directory: Path, registry: Registry) -> Figures:
    """Read the figures of a run. Without any, no later model could ever be compared with this one."""
    file = directory / registry.metrics
    metrics = read_metrics(file.read_text(encoding="utf-8"), registry.former) if file.exists() else {}
    if not metrics:
        raise PromotionError(
            f"The run has no figures in {registry.metrics} (`registry.metrics` in {FILE}), so neither this model nor a "
            f"later one can be compared. Its files are in {directory}."
        )
    benchmarks = directory / registry.benchmarks if registry.benchmarks else None
    draws = directory / registry.draws if registry.draws else None
    return Figures(
        metrics,
        read_benchmarks(benchmarks.read_text(encoding="utf-8")) if benchmarks else None,
        read_draws(draws.read_text(encoding="utf-8")) if draws and draws.exists() else {},
    )


def day_in(timezone: str, moment: datetime | None = None) -> date:
    """Return the day of `moment`, or today, in `timezone`; raises SettingsError."""
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"'{timezone}' is not a timezone; write it as in 'Europe/Berlin' or 'UTC'.") from error
    return (moment or datetime.now(zone)).astimezone(zone).date()
