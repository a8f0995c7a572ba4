"""A run of the graph: its directory, the stages that need no work, and how one stage is brought up to date.

It does not know Prefect: `pipeline_flow.py` runs its stages as tasks; without a server `pipeline.py` runs them in
threads, and `terminal.py` too, in the workspace itself.
"""

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from dvc.exceptions import DvcException
from dvc.repo import Repo, lock_repo

from prefect_dvc.execution.cache import cache_of, forget, remove_broken, remove_damaged
from prefect_dvc.execution.graph import Stage, lost, nodes, read_graph, unchanged
from prefect_dvc.execution.host import Host, start_host
from prefect_dvc.execution.locks import locked
from prefect_dvc.execution.reproduce import Children, Done, NotStartedError, Outcome, StageError, reproduce, restore
from prefect_dvc.execution.slots import Slots, alone
from prefect_dvc.settings.flows_yaml import SettingsError
from prefect_dvc.settings.parameters import check_words, configure
from prefect_dvc.system.remedies import one_line
from prefect_dvc.workers.handoff import hand_off
from prefect_dvc.workers.request import HandoffError
from prefect_dvc.workspace.apply import keep, noted_outputs, recorded_outputs
from prefect_dvc.workspace.directory import prune, worktree
from prefect_dvc.workspace.inputs import bring_inputs
from prefect_dvc.workspace.snapshot import snapshot

GpuPolicy = Literal["prefer", "require", "local"]
Log = Callable[[str], None]
MUTEXES = Path(".dvc/tmp/mutexes")


class PipelineError(Exception):
    """Stages failed; the message has the reasons, the stages that are not up to date, and how to continue."""


@dataclass(eq=False)
class Run:
    """A graph that runs in its own directory."""

    root: Path  # the workspace that it was started from
    directory: Path  # its own worktree, or the workspace itself
    name: str
    stages: list[Stage]
    unchanged: set[str]
    cache: Path
    slots: Slots  # of stages at a time
    remote: bool = False  # whether there is a default remote to pull from
    lost: set[str] = field(default_factory=set)  # stages with outputs in dvc.lock that the cache lacks
    force: bool = False
    gpu: GpuPolicy = "local"
    host: Host | None = None  # forks the processes of stages
    children: Children = field(default_factory=Children)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[StageError] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of the stages that have ended
    gate: Callable[[Stage], None] | None = None  # called after each stage; it may raise StageError
    at_hand: dict[str, Done] = field(default_factory=dict)  # restored or pulled before the first stage
    _offline: Lock = field(default_factory=Lock)
    _pulls: bool = True  # until the remote fails

    def bring_up_to_date(self, stage: Stage, log: Log) -> Outcome:
        """Run one stage, unless it is unchanged; its upstream must be up to date.

        Raises StageError.
        """
        begun = time.monotonic()
        try:
            done = stage.name in self.unchanged and not self.force
            outcome = Outcome.CACHED if done else self._reproduce(stage, log)
            if self.gate is not None:
                self.gate(stage)
            self.outcomes[stage.name] = outcome
        except StageError as failure:
            self.failures.append(failure)
            raise
        except Exception as error:  # or the run would end as if the stage had been up to date
            self.failures.append(StageError(f"Stage '{stage.name}' ended with {type(error).__name__}: {error}"))
            raise self.failures[-1] from error
        finally:
            self.seconds[stage.name] = time.monotonic() - begun
        return self.outcomes[stage.name]

    def _reproduce(self, stage: Stage, log: Log) -> Outcome:
        """Run a stage, as often as its `retries` allow; a hand-off has attempts of its own."""
        attempts = stage.needs.retries + 1
        for attempt in range(1, attempts):
            try:
                return self._attempt(stage, log)
            except HandoffError:
                raise
            except StageError as error:
                if self.children.closed:
                    raise
                log(f"Warning: {error}\nAttempt {attempt} of {attempts} of {stage.name} has failed; the next begins.")
        return self._attempt(stage, log)

    def take_what_is_at_hand(self, log: Log) -> None:
        """Restore or pull, in one process, the results of all stages that earlier runs have made."""
        names = [stage.name for stage in self.stages if stage.name not in self.unchanged]
        if self.host is not None and names and not self.force:
            self.at_hand = restore(self.children, self.host, names, log, pull=self.remote)

    def _attempt(self, stage: Stage, log: Log) -> Outcome:
        done = self.at_hand.pop(stage.name, None) or self._run(stage, log, force=self.force)
        if done.outcome is Outcome.RAN:
            return done.outcome
        broken = remove_damaged(self.cache, done.objects)
        if not broken:
            return done.outcome
        log(f"{len(broken)} objects of {stage.name} in DVC's cache were damaged and have been removed: it runs again.")
        return self._run(stage, log, force=True).outcome

    def _run(self, stage: Stage, log: Log, *, force: bool) -> Done:
        """Run a stage: on a worker if the stage and the policy want one, otherwise here."""
        with self._mutex(stage):
            if stage.needs.labels and self.gpu != "local":
                try:
                    with self.slots.hold(stage.name, stage.needs, away=True):
                        return self._hand_off(stage, log, force=force)
                except HandoffError as error:
                    if self.gpu == "require":
                        raise
                    log(f"Warning: {error}\n{stage.name} runs here instead.")
            with self.slots.hold(stage.name, stage.needs):
                return self._run_here(stage, log, force=force)

    def _mutex(self, stage: Stage) -> AbstractContextManager[None]:
        if stage.needs.mutex is None:
            return contextlib.nullcontext()
        holder = f"stage '{stage.name}' of run {self.name}"
        return alone(self.root / MUTEXES / f"{stage.needs.mutex}.lock", holder, lambda: self.children.closed)

    def _hand_off(self, stage: Stage, log: Log, *, force: bool) -> Done:
        remote = None if self.remote else str(self.cache)  # a clone on the same host can read that
        return hand_off(
            self.children,
            self.root,
            self.directory,
            stage.name,
            log,
            needs=stage.needs,
            remote=remote,
            force=force,
            host=self.host,
        )

    def _run_here(self, stage: Stage, log: Log, *, force: bool) -> Done:
        run = partial(
            reproduce,
            self.children,
            self.directory,
            stage.name,
            log,
            force=force,
            timeout=stage.needs.timeout,
            host=self.host,
        )
        if self.remote and self._pulls:
            try:
                return run(pull=True)
            except NotStartedError as error:
                self._work_without_remote(stage, log, error)
        return run()

    def _work_without_remote(self, stage: Stage, log: Log, error: NotStartedError) -> None:
        """Pull no more in this run, and log that once: DVC gives a stage up if the remote does not answer."""
        with self._offline:
            if self._pulls:
                last = str(error).splitlines()[-1]
                log(f"Warning: nothing more is pulled in this run, since a stage failed before its command: {last}")
            self._pulls = False
            if stage.name in self.lost:  # or DVC would not look for an earlier run with the same inputs
                forget(self.directory, {stage.name})

    def in_threads(self, log: Callable[[Stage, str], None], done: Callable[[Stage, Outcome], None]) -> None:
        """Run all stages, each as soon as its upstream is done. Raises PipelineError.

        Args:
            log: Called with each line that a stage prints.
            done: Called when a stage is up to date.
        """

        def bring_up_to_date(stage: Stage, upstream: list[Future[None]]) -> None:
            for future in upstream:
                future.result()  # raises if it failed, and so this stage does not run
            done(stage, self.bring_up_to_date(stage, lambda line: log(stage, line)))

        with ThreadPoolExecutor(len(self.stages)) as threads:
            futures: dict[str, Future[None]] = {}
            for stage in self.stages:
                upstream = [futures[name] for name in stage.upstream]
                futures[stage.name] = threads.submit(bring_up_to_date, stage, upstream)
            try:
                for future in futures.values():
                    future.exception()
            finally:
                self.children.end()
        self.check()

    def check(self) -> None:
        """Raise PipelineError if a stage has failed."""
        if self.failures:
            causes = "\n".join(map(str, self.failures))
            missing = [stage.name for stage in self.stages if stage.name not in self.outcomes]
            raise PipelineError(
                f"{causes}\nNot up to date: {', '.join(missing)}. The other stages are done and kept. Remove the "
                f"cause and start the run again: it continues from here. Its files are in {self.directory}."
            )


def _has_remote(repo: Repo) -> bool:
    """Return whether there is a default DVC remote; raises PipelineError if a package of it is not installed."""
    if "remote" not in repo.config["core"]:
        return False
    try:
        repo.cloud.get_remote(None, "run")
    except (ImportError, DvcException) as error:
        raise PipelineError(
            f"The DVC remote '{repo.config['core']['remote']}' cannot be used. {one_line(error)}"
        ) from error
    return True


def _check_out(repo: Repo) -> None:
    """Check out all outputs that are at hand; DVC would warn of each that no stage has made yet."""
    logger = logging.getLogger("dvc_data.index.checkout")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        repo.checkout(allow_missing=True)
    finally:
        logger.setLevel(level)


def new_name() -> str:
    """Make a name for a run that sorts by time: 20261121-153012-3fa2."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


@contextmanager
def open_run(
    root: Path,
    *,
    target: str | None,
    profile: str | None,
    overrides: Mapping[str, Any],
    force: bool,
    gpu: GpuPolicy,
    parallel: int,
    log: Log,
    revision: str | None = None,
    site: str | None = None,
) -> Iterator[Run]:
    """Open a run of `target`, or of all stages, on the current workspace or on the commit `revision`.

    Its result is kept when it ends.
    """
    if parallel < 1:
        raise SettingsError(f"parallel is {parallel}; let at least 1 stage run at a time.")
    for name in prune(root):
        log(f"Removed the directory of the old run {name}.")
    committed = revision is not None
    revision, name = revision or snapshot(root), new_name()
    with worktree(root, revision, name) as directory, contextlib.chdir(directory):
        configure(directory, profile, overrides, site)
        with Repo(str(directory)) as repo, lock_repo(repo):  # held, or DVC would load the graph again for each question
            remote = _has_remote(repo)
            stages, cache = read_graph(repo, target), cache_of(repo)
            check_words(repo, overrides)
            before = recorded_outputs(repo)
            for broken in remove_broken(repo):
                log(f"Object {broken} of DVC's cache was damaged and has been removed.")
            _check_out(repo)
            bring_inputs(repo, nodes(repo, stages), root, log, edited=not committed)
            settled = unchanged(repo, stages)
            gone = lost(repo) - settled
            if not remote:
                forget(directory, gone)
            run = Run(
                root=root,
                directory=directory,
                name=name,
                stages=stages,
                unchanged=settled,
                cache=cache,
                remote=remote,
                lost=gone,
                force=force,
                gpu=gpu,
                slots=Slots(parallel),
            )
        try:
            with _served(run, log):
                yield run
        finally:
            with Repo(str(directory)) as repo:
                keep(root, directory, name, noted_outputs(repo, run.outcomes, before))


@contextmanager
def open_in_place(root: Path, target: str, parallel: int, log: Log) -> Iterator[Run]:
    """Open a run of `target` in the workspace itself, as `dvc repro` does: it pulls nothing, keeps no other files."""
    with Repo(str(root)) as repo, locked(repo, log):
        stages = read_graph(repo, target)
        settled = unchanged(repo, stages)
        cache = cache_of(repo)
    run = Run(root, root, new_name(), stages, settled, cache, Slots(parallel))
    with _served(run, log):
        yield run


@contextmanager
def _served(run: Run, log: Log) -> Iterator[None]:
    """Start the run's host if a stage may have to run, take the files at hand, and end all processes with the block."""
    if run.force or len(run.unchanged) < len(run.stages):
        run.host = start_host(run.directory)
    try:
        run.take_what_is_at_hand(log)
        yield
    finally:
        run.children.end()
        if run.host is not None:
            run.host.close()


def summary(run: Run) -> str:
    """Return the stages by outcome, such as `Cached: a; Ran: b, c`."""
    by_outcome = {o: [stage.name for stage in run.stages if run.outcomes[stage.name] is o] for o in Outcome}
    return "; ".join(f"{o}: {', '.join(names)}" for o, names in by_outcome.items() if names)
