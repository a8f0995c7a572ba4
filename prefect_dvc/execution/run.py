"""A run of the graph: its directory, and how each stage of it is brought up to date.

It does not know Prefect: pipeline_flow.py runs its stages as tasks; without a server pipeline.py runs them in threads,
in the directory of a run or in the workspace itself.
"""

import contextlib
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Literal, Protocol

from dvc.repo import Repo

from prefect_dvc import dvc_private
from prefect_dvc.errors import Refusal, SettingsError, reasons
from prefect_dvc.execution.cache import cache_of, remove_broken
from prefect_dvc.execution.commands import Log
from prefect_dvc.execution.graph import GraphError, Stage, nodes, read_graph
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.execution.slots import Slots, turn
from prefect_dvc.execution.stages import Stages
from prefect_dvc.settings.parameters import check_words, configure
from prefect_dvc.workspace.apply import keep, noted_outputs, recorded_outputs, shown, track_outputs, unnamed
from prefect_dvc.workspace.contents import is_beyond
from prefect_dvc.workspace.directory import prune, worktree
from prefect_dvc.workspace.inputs import bring_inputs, bring_links
from prefect_dvc.workspace.snapshot import refuse_read_only

GpuPolicy = Literal["prefer", "require", "local"]
MUTEXES = Path(".dvc/tmp/mutexes")
IN_PLACE = Path(".dvc/tmp/prefect-dvc.lock")  # held by a run in the workspace itself
MOST_THREADS = 64


class PipelineError(Refusal):
    """Stages failed; the message has the reasons, the stages that are not up to date, and how to continue."""


class NotHandedOffError(StageError):
    """The stage could not be handed to a worker; nothing is wrong with the stage itself."""


class HandOff(Protocol):
    """Has a worker run a stage, so that its result is in DVC's cache here; workers/handoff.py does."""

    def __call__(self, run: "Run", stage: Stage, log: Log) -> Outcome | None:
        """Return how the stage ended there; None if an earlier run has a result. Raises NotHandedOffError."""


@dataclass(eq=False)
class Run:
    """A graph that runs in its own directory."""

    root: Path  # the workspace that it was started from
    directory: Path  # its own worktree, or the workspace itself
    name: str
    stages: list[Stage]
    work: Stages
    cache: Path
    slots: Slots  # of stages at a time
    remote: bool = False  # whether there is a default remote to pull from
    force: bool = False
    gpu: GpuPolicy = "local"
    hand_off: HandOff | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[StageError] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of the stages that have ended
    gate: Callable[[Stage], None] | None = None  # called after each stage; it may raise StageError

    def bring_up_to_date(self, stage: Stage, log: Log) -> Outcome:
        """Run one stage, unless it is unchanged; its upstream must be up to date. Raises StageError."""
        begun = time.monotonic()
        try:
            outcome = self._with_retries(stage, log)
            if self.gate is not None:
                self.gate(stage)
            self.outcomes[stage.name] = outcome
        except StageError as failure:
            self.failures.append(failure)
            raise
        except Exception as error:  # or the run would end as if the stage had been up to date
            self.failures.append(StageError(f"Stage '{stage.name}' failed: {reasons(error)}"))
            raise self.failures[-1] from error
        finally:
            self.seconds[stage.name] = time.monotonic() - begun
        return outcome

    def _with_retries(self, stage: Stage, log: Log) -> Outcome:
        """Run a stage, as often as its `retries` allow; a hand-off has attempts of its own."""
        attempts = stage.needs.retries + 1
        for attempt in range(1, attempts):
            try:
                return self._anywhere(stage, log)
            except NotHandedOffError:
                raise
            except StageError as error:
                if self.work.commands.closed:
                    raise
                log(f"Warning: {error}\nAttempt {attempt} of {attempts} of {stage.name} has failed; the next begins.")
        return self._anywhere(stage, log)

    def _anywhere(self, stage: Stage, log: Log) -> Outcome:
        """Run a stage: on a worker if the stage and the policy want one, otherwise here."""
        with self._mutex(stage):
            if stage.needs.labels and self.gpu != "local" and self.hand_off is not None:
                try:
                    with self.slots.hold(stage.name, stage.needs, away=True):
                        return self._away(stage, log)
                except NotHandedOffError as error:
                    if self.gpu == "require":
                        raise
                    log(f"Warning: {error}\n{stage.name} runs here instead.")
            with self.slots.hold(stage.name, stage.needs):
                return self.work.bring_up_to_date(stage.name, log, force=self.force, timeout=stage.needs.timeout)

    def _away(self, stage: Stage, log: Log) -> Outcome:
        assert self.hand_off is not None
        self.work.write()
        there = self.hand_off(self, stage, log)
        found = self.work.take_result(stage.name, log, force=self.force and there is not None)
        if found is None:
            raise NotHandedOffError(f"The result of stage '{stage.name}' is here, but does not fit its inputs.")
        return Outcome.RAN_ON_GPU if there is Outcome.RAN else found

    def _mutex(self, stage: Stage) -> AbstractContextManager[None]:
        if stage.needs.mutex is None:
            return contextlib.nullcontext()
        holder = f"stage '{stage.name}' of run {self.name}"
        lock = self.root / MUTEXES / f"{stage.needs.mutex}.lock"
        return turn([lock], holder, stopped=lambda: self.work.commands.closed)

    def in_threads(self, log: Callable[[Stage, str], None], done: Callable[[Stage, Outcome], None]) -> None:
        """Run all stages, each as soon as its upstream is done, and call `done` for it. Raises PipelineError."""
        places, running = {stage.name: place for place, stage in enumerate(self.stages)}, dict[Future[None], str]()
        order = TopologicalSorter({stage.name: stage.upstream for stage in self.stages})
        order.prepare()

        def work(stage: Stage) -> None:
            done(stage, self.bring_up_to_date(stage, lambda line: log(stage, line)))

        with ThreadPoolExecutor(max(1, min(len(self.stages), MOST_THREADS))) as threads:
            try:
                while (ready := order.get_ready()) or running:
                    for name in sorted(ready, key=places.__getitem__):
                        running[threads.submit(work, self.stages[places[name]])] = name
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        name = running.pop(future)
                        if future.exception() is None:
                            order.done(name)
            finally:
                self.work.commands.end()
        self.check()

    def check(self) -> None:
        """Write dvc.lock, and raise PipelineError if a stage has failed."""
        self.work.finish()
        if self.failures:
            causes = "\n".join(map(str, self.failures))
            missing = [stage.name for stage in self.stages if stage.name not in self.outcomes]
            raise PipelineError(
                f"{causes}\nNot up to date: {', '.join(missing)}. The other stages are done and kept. Remove the "
                f"cause and start the run again: it continues from here. Its files are in {self.directory}."
            )


def _has_remote(repo: Repo, log: Log) -> bool:
    """Return whether there is a default DVC remote; one that cannot be used is left out, or DVC would look for it."""
    if name := repo.config["core"].get("remote"):
        try:
            repo.cloud.get_remote(None, "run")
        except Exception as error:
            log(f"Warning: the DVC remote '{name}' cannot be used, so nothing is pulled. {reasons(error)}")
            repo.config["core"]["remote"] = ""
    return bool(repo.config["core"].get("remote"))


def _check_out(repo: Repo) -> None:
    """Check out all outputs that are at hand; DVC would warn of each that no stage has made yet.

    Those below a path that is a file now are left out, and those beyond a link that leads out, where the user's own
    data is: a run of other stages has nothing to do with them. A link in the place of an output would lead DVC there.
    """
    paths = [out.fs_path for out in repo.index.outs]
    inside = [path for path in paths if not is_beyond(Path(repo.root_dir), path)]
    for out in repo.index.outs:
        if out.use_cache and out.fs_path in inside and Path(out.fs_path).is_symlink():
            Path(out.fs_path).unlink()
    free = [path for path in inside if not any(parent.is_file() for parent in Path(path).parents)]
    if paths and not free:  # DVC takes an empty list for all
        return
    logger = logging.getLogger("dvc_data.index.checkout")
    level = logger.level
    logger.setLevel(logging.ERROR)
    remotes = repo.config["remote"]
    absent = {name.lower(): {"url": f"{repo.tmp_dir}/no-remote"} for name in _unusable_remotes(repo)}
    repo.config["remote"] = {**remotes, **absent}
    try:
        repo.checkout(free if free != paths else None, allow_missing=True, force=True)  # all that is there is a copy
    except FileNotFoundError as error:  # at its end DVC marks programs as executable, also one that is missing
        programs = [out for out in repo.index.outs if out.meta.isexec]
        if error.filename not in {out.fs_path for out in programs}:
            raise
        for out in programs:
            out.set_exec()
    finally:
        logger.setLevel(level)
        repo.config["remote"] = remotes


def _unusable_remotes(repo: Repo) -> Iterator[str]:
    """Yield the remotes of single outputs that are not configured, or whose package is missing.

    A run needs none of them as long as the outputs are at hand, but DVC's checkout does.
    """
    for name in {out.remote for out in repo.index.outs if out.remote}:
        try:
            repo.cloud.get_remote(name)
        except Exception:
            yield name


def new_name() -> str:
    """Make a name for a run that sorts by time: 20261121-153012-3fa2."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


@contextmanager
def _refused() -> Iterator[None]:
    """Turn every error of DVC and of its libraries into one line."""
    try:
        yield
    except (Refusal, OSError):
        raise
    except Exception as error:
        raise GraphError(reasons(error)) from error


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
    hand_off: HandOff | None = None,
    files: Collection[str] | None = None,
) -> Iterator[Run]:
    """Open a run of `target`, or of all stages, on the current workspace or on the commit `revision`.

    With `files`, it runs the stages that make these, and those that they depend on.
    Its result is kept when it ends.
    """
    if parallel < 1:
        raise SettingsError(f"parallel is {parallel}; let at least 1 stage run at a time.")
    for name in prune(root):
        log(f"Removed the directory of the old run {name}.")
    committed, name = revision is not None, new_name()
    with worktree(root, name, revision) as directory, contextlib.chdir(directory), contextlib.ExitStack() as stack:
        with _refused():
            configure(directory, profile, overrides, site)
            repo = stack.enter_context(Repo(str(directory), _wait_for_lock=True))
            remote = _has_remote(repo, log)
            with dvc_private.locked(repo):
                stages = read_graph(repo, target, files)
                check_words(repo, overrides)
                before, cached = recorded_outputs(repo), track_outputs(repo, root)
                bring_links(repo, root)
                with Repo(str(root)) as workspace:
                    for broken in remove_broken(repo):
                        log(f"Object {broken} of DVC's cache was damaged and has been removed.")
                    with contextlib.chdir(root):  # where the relative address of an import leads
                        _check_out(repo)
                    bring_inputs(repo, nodes(repo, stages), workspace, log, edited=not committed)
            work, there = Stages(repo, nodes(repo, stages), root, pulls=remote, warn=log), unnamed(repo, root)
        options: dict[str, Any] = {"remote": remote, "force": force, "gpu": gpu, "hand_off": hand_off}
        run = Run(root, directory, name, stages, work, cache_of(repo), Slots(parallel), **options)
        try:
            yield run
        finally:
            with _refused():
                work.close()
                keep(root, directory, name, noted_outputs(repo, run.outcomes, before), cached)
                if left := sorted(unnamed(repo, root) - there):
                    log(
                        f"Left in {directory}, since git ignores it and no stage names it: {shown(left)}. To have it "
                        "back, copy it from there, and name it under paths.returned in flows.yaml."
                    )


@contextmanager
def open_in_place(root: Path, *, target: str | None, force: bool, parallel: int, log: Log) -> Iterator[Run]:
    """Open a run in the workspace itself, as `dvc repro` does: it pulls nothing, and keeps no other files."""
    refuse_read_only(root)
    with _alone_in(root, log), contextlib.ExitStack() as stack:
        with _refused():
            repo = stack.enter_context(Repo(str(root), _wait_for_lock=True))
            if holder := dvc_private.lock_holder(root):
                log(f"Waiting for {holder}, which holds DVC's lock.")
            with dvc_private.locked(repo):
                dvc_private.forget_own_files(repo)
                stages = read_graph(repo, target)
            work = Stages(repo, nodes(repo, stages), root, pulls=False, warn=log)
        try:
            yield Run(root, root, new_name(), stages, work, cache_of(repo), Slots(parallel), force=force)
        finally:
            with _refused():
                work.close()


def _alone_in(root: Path, log: Log) -> AbstractContextManager[None]:
    """Wait for another run in the workspace itself, and for commands that a killed one has left."""
    told = "Waiting for {}, which works in this workspace, or for the end of its commands."
    me = f"{' '.join(['prefect-dvc', *sys.argv[1:]])} (process {os.getpid()})"
    return turn([root / IN_PLACE], me, told=lambda others: log(told.format(others)))


def summary(run: Run) -> str:
    """Return the stages by outcome, such as `Cached: a; Ran: b, c`."""
    by_outcome = {o: [stage.name for stage in run.stages if run.outcomes[stage.name] is o] for o in Outcome}
    told = "; ".join(f"{o}: {', '.join(names)}" for o, names in by_outcome.items() if names)
    return told or "There is nothing to run: no dvc.yaml has a stage."
