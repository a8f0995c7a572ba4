"""A retraining: a new snapshot of the data, the pipeline, a comparison with the promoted model, and then promotion.

It starts from a commit, so no unfinished work gets into a promoted model; with a `source`, from that remote's present
branch. Two gates stand before a promotion: the data (registry/data_gate.py), checked before any training, and the
figures (registry/comparison.py). It does not know Prefect; retrain.py is its command, and retrain_flow.py its flow.
"""

import inspect
import os
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from prefect_dvc.errors import SettingsError
from prefect_dvc.execution.commands import Log
from prefect_dvc.execution.graph import Stage
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.execution.run import GpuPolicy, PipelineError, Run, open_run
from prefect_dvc.registry import comparison, promotion
from prefect_dvc.registry.comparison import Figures, ToleranceError
from prefect_dvc.registry.data_gate import Edition, check_limits, problems, read_edition
from prefect_dvc.registry.promotion import Channel, PromotionError, Version, command
from prefect_dvc.settings.flows_yaml import FILE, Config, EditionFiles, Registry, Tolerance, read_config
from prefect_dvc.settings.graph_files import PARAMS
from prefect_dvc.settings.parameters import AS_IT_STANDS, flat
from prefect_dvc.settings.yaml_reader import read_yaml
from prefect_dvc.system.process import held, hold_one
from prefect_dvc.workers.handoff import hand_off
from prefect_dvc.workspace.directory import retire
from prefect_dvc.workspace.git import END, WorkspaceError, git, text_at

LOCK = Path(".dvc/tmp/retrain.lock")
QUEUE = Path(".dvc/tmp/retrain.queue.lock")  # of the one that waits
FETCHED = "refs/prefect-dvc/fetched"
NONE = "none"  # of the form: no site, no remote
REPORT = Path("reports/promotion.md")  # in the run's directory, and in the commit of a promotion


class Decision(StrEnum):
    """How a retraining ends."""

    PROMOTED = "Promoted"
    GOOD = "Good enough"  # but promotion was off
    NOT_PROMOTED = "Not promoted"  # it is worse, gains too little, cannot be compared, or is not a new model
    REFUSED = "Refused"  # by the data gate, before any training
    CACHED = "Cached"  # nothing had changed, so there is no new model
    SKIPPED = "Skipped"  # another retraining is in progress


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
    """Train on a new snapshot of the data, and promote the model if it is not worse than the promoted one.

    Args:
        snapshot: The day of the data; by default the day that the run is scheduled for.
        profile: A profile; "as it stands" leaves params.yaml unchanged.
        site: A site that goes with the profile, such as a news site as its corpus.
        overrides: Parameters to change, for example {"student.epochs": 3}. Unknown keys are refused.
        data: The data gate, compared with the promoted edition: rows and vocabulary as shares, dropped and language as
            rises of a share. Without an entry, that is not checked.
        floors: The least figure of a model that is promoted, also of the first one, by metric: {"accuracy": 0.8}.
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
        snapshot_key: The parameter that gets the day.
        timezone: The timezone of the scheduled day: the schedule's own, such as Europe/Berlin.
    """

    # The options of the command (retrain.py) and the form on Prefect's page (retrain_flow.py) are made of these fields
    # and of their descriptions.
    snapshot: date | None = None
    profile: str = AS_IT_STANDS
    site: str = NONE
    overrides: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Tolerance] | None = None  # None, or an empty text: the value of flows.yaml
    floors: Mapping[str, float] | None = None
    gains: Mapping[str, Tolerance] | None = None
    tolerances: Mapping[str, Tolerance] | None = None
    promote: bool = True
    artifact: str = ""
    stage: str = Channel.stage
    branch: str = Channel.branch
    remote: str = NONE
    revision: str = "HEAD"
    source: str = NONE
    if_busy: Literal["wait", "skip"] = "wait"
    gpu: GpuPolicy = "prefer"
    parallel: int = 2
    keep_runs: int = 100
    keep_days: int = 90
    snapshot_key: str = ""
    timezone: str = "UTC"

    @property
    def channel(self) -> Channel:
        """Return the place that the model is promoted to."""
        return Channel(self.artifact, self.stage, self.branch, chosen(self.remote))

    def complete(self, config: Config) -> "RetrainSettings":
        """Return the settings with the values of flows.yaml for those that are not given."""
        registry, edition = config.registry, config.edition
        return replace(
            self,
            data=dict(edition.limits if self.data is None else self.data),
            floors=dict(registry.floors if self.floors is None else self.floors),
            gains=dict(registry.gains if self.gains is None else self.gains),
            tolerances=dict(self.tolerances or registry.tolerances),
            artifact=self.artifact or registry.artifact,
            snapshot_key=self.snapshot_key or edition.snapshot or "",
        )


def meanings() -> tuple[str, dict[str, str]]:
    """Return what the settings are for, and the meaning of each, as their docstring has them."""
    told, _, listed = (inspect.getdoc(RetrainSettings) or "").partition("\n\nArgs:\n")
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", listed, re.M)
    return told, {name: " ".join(text.split()) for name, text in found}


def chosen(value: str, nothing: str = NONE) -> str | None:
    """Return a choice of the form, or None for the entry that chooses nothing."""
    return None if value == nothing else value


def retrain_once(
    root: Path,
    settings: RetrainSettings,
    run_stages: Callable[[Run], None],
    log: Log,
    name: str,
    scheduled: datetime | None = None,
) -> Verdict:
    """Retrain, compare, and promote if the model is good enough; others read `name` while this one holds the lock.

    If another holds it, this one waits or is lost, as `settings.if_busy` says. Raises a Refusal.
    """
    config = read_config(root)
    settings, today = settings.complete(config), day_in(settings.timezone, scheduled)
    holder = f"{name} (process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M:%S})"
    with ExitStack() as stack:
        if lost := _take_turn(stack, root, holder, settings.if_busy == "wait", log):
            return Verdict(Decision.SKIPPED, lost)
        verdict = _retrain(root, settings, config, today, run_stages, log)
        if retired := retire(root, settings.keep_days, settings.keep_runs):
            log(f"The tags of {len(retired)} old runs are deleted, from {retired[0]} to {retired[-1]}.")
        return verdict


def _take_turn(stack: ExitStack, root: Path, holder: str, wait: bool, log: Log) -> str | None:
    """Take the lock of retrainings; return why this one is lost, or None if it has its turn. One waits at most."""
    if not (others := hold_one(stack, [root / LOCK], holder)):
        return None
    busy = f"Another retraining is in progress: {others[0]}."
    if not wait:
        return f"{busy} This one ends without doing anything."
    with ExitStack() as queue:
        if first := hold_one(queue, [root / QUEUE], holder):
            return f"{busy} {first[0]} already waits. This one ends without doing anything."
        log(f"{busy} This one waits.")
        stack.enter_context(held(root / LOCK, holder, wait=True))
    return None


def _revision(root: Path, settings: RetrainSettings) -> str:
    """Return the commit to start from; with a source, fetch it first."""
    source = chosen(settings.source)
    if source is None:
        try:
            return git(root, "rev-parse", "--verify", END, f"{settings.revision}^{{commit}}")
        except WorkspaceError as error:
            if settings.revision == "HEAD":
                raise
            raise SettingsError(
                f"'{settings.revision}' is not a commit or a branch of this clone; `git branch` lists them. One of a "
                "git remote needs the remote, too: --source NAME"
            ) from error
    if source not in (remotes := git(root, "remote").split()):
        raise SettingsError(f"git has no remote '{source}' to fetch from; it has {', '.join(remotes) or 'none'}.")
    ref = f"{FETCHED}/{uuid4().hex}"
    git(root, "fetch", "--quiet", "--no-tags", END, source, f"+{settings.revision}:{ref}")
    try:
        return git(root, "rev-parse", "--verify", END, f"{ref}^{{commit}}")
    finally:
        git(root, "update-ref", "-d", END, ref)


def _retrain(
    root: Path, settings: RetrainSettings, config: Config, today: date, run_stages: Callable[[Run], None], log: Log
) -> Verdict:
    revision = _revision(root, settings)
    promotion.check(root, settings.channel, revision)
    promotion.fetch_registry(root, settings.channel)
    before = promotion.promoted(root, settings.channel)
    profile, site = chosen(settings.profile, AS_IT_STANDS), chosen(settings.site)
    overrides = _with_snapshot(settings, today, text_at(root, revision, PARAMS) or "", log)
    figures = promotion.read_figures(root, before) if before else None
    limits = settings.data or {}
    check_limits(limits)
    _check_figures(settings, config.registry, figures)
    with open_run(
        root,
        target=None,
        profile=profile,
        overrides=overrides,
        force=False,
        gpu=settings.gpu,
        parallel=settings.parallel,
        log=log,
        revision=revision,
        site=site,
        hand_off=hand_off,
        files=_files(promotion.path_of(root, settings.channel, revision), config),
    ) as run:
        _refuse_unmade(run, config, gate=bool(limits))
        if before and limits and config.edition.counters:
            run.gate = partial(_check_edition, run, config.edition, _edition_of(root, before, config.edition), limits)
        verdict = _run_and_judge(run, settings, run_stages, before, figures)
        (run.directory / REPORT).parent.mkdir(exist_ok=True)
        (run.directory / REPORT).write_text(verdict.report, encoding="utf-8")
    if verdict.decision is not Decision.GOOD or not settings.promote:
        return verdict
    changed = {"profile": profile, "site": site, **overrides}
    why = "\n".join([verdict.reason, *(f"{name}: {value}" for name, value in changed.items() if value is not None)])
    version = promotion.promote(root, run.name, settings.channel, instead_of=before, why=why)
    back = command(settings.channel, "rollback")
    reason = f"{version.name} is at {settings.channel.stage}. {verdict.reason} Back: {back}"
    return Verdict(Decision.PROMOTED, reason, verdict.details)


def _files(artifact: str, config: Config) -> list[str]:
    """Return what a retraining needs: the artifact, all that decides on it, and the report."""
    registry, edition = config.registry, config.edition
    figures = [*registry.metrics, *registry.benchmarks, *registry.draws]
    return [artifact, *figures, *filter(None, (edition.counters, edition.overview, config.report))]


def _check_figures(settings: RetrainSettings, registry: Registry, promoted: Figures | None) -> None:
    """Raise ToleranceError if a tolerance or a gain is none, or could never count."""
    tolerances, gains = settings.tolerances or {}, settings.gains or {}
    comparison.check_tolerances({**registry.gains, **registry.tolerances, **(settings.floors or {})}, None)
    for given in _of_the_caller(settings, registry):
        comparison.check_tolerances(given, promoted.metrics if promoted else None)
    if promoted:
        comparison.check_gains(promoted.metrics, tolerances, gains)


def _of_the_caller(settings: RetrainSettings, registry: Registry) -> list[Mapping[str, Tolerance]]:
    """Return the limits that are not those of flows.yaml: each has to fit a figure."""
    pairs = ((settings.tolerances or {}, registry.tolerances), (settings.gains or {}, registry.gains))
    return [{name: limit for name, limit in given.items() if usual.get(name) != limit} for given, usual in pairs]


def _refuse_unmade(run: Run, config: Config, *, gate: bool) -> None:
    """Raise SettingsError if no stage writes the figures or, with a data gate, the counters: no gate would close."""
    counters = {config.edition.counters: "edition.counters"} if gate and config.edition.counters else {}
    metrics = dict.fromkeys(config.registry.metrics, "registry.metrics")
    for path, key in {**metrics, **counters}.items():
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
    remedy = "set no limits, which switches the data gate off"
    names = (files.counters, files.overview)
    counters, overview = (promotion.read_data(root, version, name, remedy) if name else None for name in names)
    return read_edition(files, str(counters), overview)


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


def _with_snapshot(settings: RetrainSettings, today: date, params: str, log: Log) -> dict[str, Any]:
    """Return the overrides with the date of the snapshot, which makes DVC fetch the data again."""
    overrides, key, day = flat(settings.overrides), settings.snapshot_key, settings.snapshot or today
    if key in overrides or not (key or settings.snapshot):
        return overrides
    if key and key in flat(read_yaml(params) or {}):
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
        model = promotion.model_hash(settings.artifact, promotion.outputs(run.directory))
        promotion.same_model(run.root, model, settings.channel)
    except PromotionError as error:
        return Verdict(Decision.NOT_PROMOTED, str(error), place)
    registry = read_config(run.root).registry
    new = _figures(run.directory, registry)
    by_hand = f"To promote it anyway: {command(settings.channel, 'promote')} {run.name}"
    if problem := _unfit(new, settings, registry):
        return Verdict(Decision.NOT_PROMOTED, f"{problem} {by_hand}", place)
    if before is None or figures is None:
        return Verdict(Decision.GOOD, f"{settings.channel.stage} had no version to compare with.", place)
    rows = comparison.compare(figures, new, settings.tolerances or {})
    details = f"{comparison.table(rows)}\n\nPromoted: {before.name}. New: {place}"
    problems = [f"{row.metric}: {row.problem}." for row in rows if row.problem]
    if not rows:
        problems = [f"No metric of {before.name} has a tolerance; name the metrics that count in `tolerances`."]
    if problems:
        return Verdict(Decision.NOT_PROMOTED, " ".join([*problems, by_hand]), details)
    if lacking := comparison.lacking_gain(rows, settings.gains or {}):
        return Verdict(Decision.NOT_PROMOTED, lacking, details)
    return Verdict(Decision.GOOD, f"Each of {len(rows)} metrics is within its tolerance of {before.name}.", details)


def _unfit(new: Figures, settings: RetrainSettings, registry: Registry) -> str | None:
    """Say which limit fits none of a run's figures, or which figure is below its floor; it needs no other version."""
    try:
        for given in _of_the_caller(settings, registry):
            comparison.check_tolerances(given, new.metrics)
        low = comparison.below_floors(new.metrics, settings.floors or {})
    except ToleranceError as error:
        return str(error)
    return f"{'. '.join(low)}." if low else None


def _figures(directory: Path, registry: Registry) -> Figures:
    """Read the figures of a run. Without any, no later model could ever be compared with this one."""
    figures = Figures.read(
        registry, lambda path: (directory / path).read_text(encoding="utf-8") if (directory / path).is_file() else None
    )
    if not figures.metrics:
        raise PromotionError(
            f"The run has no figures in {', '.join(registry.metrics)} (`registry.metrics` in {FILE}), so neither this "
            f"model nor a later one can be compared. Its files are in {directory}."
        )
    return figures


def day_in(timezone: str, moment: datetime | None = None) -> date:
    """Return the day of `moment`, or today, in `timezone`; raises SettingsError."""
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"'{timezone}' is not a timezone; write it as in 'Europe/Berlin' or 'UTC'.") from error
    return (moment or datetime.now(zone)).astimezone(zone).date()
