"""DVC's stages of one repository, brought up to date in this process, several at a time.

    thread of stage a     DVC: has it changed? an earlier result?    its command . . . . . . . . .    DVC: hash, note
    thread of stage b                                             DVC: ...    its command . . . .                  DVC
                          one thread at a time works with DVC         side by side                    one at a time

This is `dvc repro`, step by step with DVC's own classes, but that commands overlap; DVC's lock is free while they run.
"""

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self

from dvc.exceptions import CheckoutError
from dvc.repo import Repo
from dvc.stage import PipelineStage

from prefect_dvc import dvc_private
from prefect_dvc.errors import reasons
from prefect_dvc.execution.cache import cache_of, remove_damaged
from prefect_dvc.execution.commands import Commands, Log, own_tools
from prefect_dvc.execution.lockfiles import IgnoredOutputs, lock_order, put_in_order
from prefect_dvc.execution.outcome import Outcome, StageError
from prefect_dvc.execution.slots import turn
from prefect_dvc.system.editable import editable_packages
from prefect_dvc.workspace.directory import KEYS

DVC_LOGGERS = ("dvc", "dvc_data", "dvc_objects")
SETTINGS: dict[str, Any] = {"interactive": False, "dry": False, "allow_missing": False}


class Stages:
    """The stages of a repository, which is opened so that it waits for DVC's lock.

    `plan` has them in the order in which `dvc repro` would run them; `pulls` says whether the default remote may have
    inputs and results, and `warn` is told what concerns no stage alone.
    """

    def __init__(self, repo: Repo, plan: Sequence[Any], root: Path, *, pulls: bool, warn: Log) -> None:
        self.repo, self.commands = repo, Commands()
        self._root, self._pulls, self._warn = root, pulls, warn
        self._environment = editable_packages(root, Path(repo.root_dir))
        self._plan = {stage.addressing: stage for stage in plan}
        self._ranks = {name: rank for rank, name in enumerate(self._plan)}
        self._one, self._ignored = threading.RLock(), IgnoredOutputs()
        self._noted = {name: dvc_private.noted(stage) for name, stage in self._plan.items()}
        self._unwritten: list[Any] = []  # stages that dvc.lock does not have yet as they are now
        self._locks: dict[Path, list[str]] = {}
        for stage in filter(_is_in_lock, plan):
            self._locks.setdefault(Path(stage.path).with_suffix(".lock"), []).append(stage.name)
        self._order = lock_order(list(self._locks))

    def bring_up_to_date(
        self,
        name: str,
        log: Log,
        *,
        force: bool = False,
        timeout: float | None = None,
        environment: Mapping[str, str] = {},
    ) -> Outcome:
        """Bring one stage up to date, as `dvc repro --single-item` does; its upstream must be.

        `log` is told each line of its command, and DVC's warnings. After `timeout` seconds the command is ended. Raises
        StageError if it failed, or if something that it needs is missing.
        """
        stage = self._plan[name]
        with self._files(stage):
            with self._dvc(stage, log):
                outcome = self._without_command(stage, log, force=force)
                if outcome is not None:
                    return outcome
                self.write()
                key = None if force else dvc_private.run_key(stage)
            with self._alone(stage, key, log):
                if key is not None:  # another run may have ended this work since; dvc.lock here knows nothing of it
                    with self._dvc(stage, log):
                        if self._restore(stage, log, pull=False, locked=False):
                            return Outcome.RESTORED
                self._run(stage, log, timeout, environment)
                with self._dvc(stage, log):
                    self._save(stage)
        return Outcome.RAN

    def _alone(self, stage: Any, key: str | None, log: Log) -> AbstractContextManager[None]:
        """Wait while another run of this workspace does the same work. Raises StageError."""
        if key is None:
            return nullcontext()
        told = "Waiting for the same work in another run: {}. This run takes its result."
        return turn(
            [self._root / KEYS / f"{key}.lock"],
            f"{stage.addressing} in {self.repo.root_dir}",
            told=lambda others: log(told.format(others)),
            stopped=lambda: self.commands.closed,
        )

    def take_result(self, name: str, log: Log, *, force: bool = False) -> Outcome | None:
        """Bring a stage up to date from DVC's cache alone; None if it would have to run. Raises StageError.

        With `force`, what dvc.lock has does not count: only the newest entry of the run-cache does.
        """
        stage = self._plan[name]
        with self._files(stage), self._dvc(stage, log):
            if not force and not stage.changed():
                return Outcome.CACHED
            stage.remove_outs(ignore_remove=False, force=False)
            return Outcome.RESTORED if self._restore(stage, log, pull=False, locked=not force) else None

    def write(self) -> None:
        """Write the stages that have ended into dvc.lock."""
        with self._one, dvc_private.locked(self.repo), self.repo.scm_context(quiet=True):
            for path in {stage.path for stage in self._unwritten}:
                of_file = [stage for stage in self._unwritten if stage.path == path]
                of_file[0].dvcfile.dump_stages(of_file, update_pipeline=False)
            self._unwritten = []

    def close(self) -> None:
        """End the commands that still run, and write dvc.lock."""
        self.commands.end()
        self.finish()

    def finish(self) -> None:
        """Write dvc.lock, in its order."""
        with self._one, dvc_private.locked(self.repo):
            self.write()
            with self.repo.scm_context(quiet=True) as scm:  # adds them to git's index with core.autostage
                scm.track_file(put_in_order(self._order, self._locks))

    @contextmanager
    def _files(self, stage: Any) -> Iterator[None]:
        """Let no other DVC process have the files of a stage, of which that is noted which dvc.lock has.

        An attempt that failed has noted other inputs, with which the outputs of before would count as unchanged.
        """
        dvc_private.note_again(self._noted[stage.addressing])
        files = dvc_private.files_of(stage)
        with self._one, _one_line(stage.addressing):
            files.__enter__()
        try:
            yield
        finally:
            with self._one:
                files.__exit__(None, None, None)

    @contextmanager
    def _dvc(self, stage: Any, log: Log) -> Iterator[None]:
        """Work with DVC: one thread at a time, its warnings in the stage's log, its errors as one line."""
        name = stage.addressing
        scm = self.repo.scm_context
        with self._one, _one_line(name), dvc_private.named(name), dvc_private.locked(self.repo), scm(quiet=True):
            with Messages(log) as self._messages:
                yield
            self._ignored.put_in_order(scm.ignored_paths, self._ranks[name])

    def _without_command(self, stage: Any, log: Log, *, force: bool) -> Outcome | None:
        """Bring a stage up to date without its command; None if that has to run, with everything ready for it."""
        if not stage.cmd or stage.frozen or stage.is_import:
            if not force and self._pulled(stage, log):
                return Outcome.PULLED
            with chdir(self._root) if stage.is_import else nullcontext():  # where a relative address leads
                changed = stage.reproduce(force=force, pull=False, run_cache=True, no_commit=False, **SETTINGS)
            if changed is not None:
                self._note(stage)
            return Outcome.CACHED if changed is None else Outcome.UPDATED
        if not force:
            if not stage.changed():
                return Outcome.CACHED
            if self._pulled(stage, log):
                return Outcome.PULLED
        if not Path(stage.wdir).is_dir():
            raise StageError(f"Stage '{stage.addressing}': its wdir {stage.wdir} is not a directory; make it first.")
        stage.remove_outs(ignore_remove=False, force=False)
        if force:
            return None
        if self._restore(stage, log, pull=self._pulls):
            return Outcome.RESTORED
        stage.save_deps()
        return None

    def _pulled(self, stage: Any, log: Log) -> bool:
        """Fetch the outputs that dvc.lock has for a stage that has not changed, from the default remote."""
        if not self._pulls or not stage.changed() or stage.changed(allow_missing=True):
            return False
        with self._remote():
            with suppress(CheckoutError), chdir(self._root):
                self.repo.pull(stage.path if not _is_in_lock(stage) else f"{stage.path}:{stage.name}")
                stage.checkout()
            return not remove_damaged(cache_of(self.repo), _objects(stage)) and not stage.changed()
        return False

    def _restore(self, stage: Any, log: Log, *, pull: bool, locked: bool = True) -> bool:
        """Take the outputs of an earlier run with the same inputs, if there is one here or, with `pull`, remotely.

        With `locked`, those that dvc.lock has for these inputs come before those of the run-cache.
        """
        if pull:
            with self._remote():
                dvc_private.pull_missing_inputs(stage)
        candidates = [dvc_private.locked_result(stage) if locked else None, dvc_private.earlier_result(stage)]
        if pull and not any(found is not None and found.outs_cached() for found in candidates):
            with self._remote():
                candidates.append(self._fetched(stage, candidates))
        for found in candidates:
            if found is None or not found.outs_cached():
                continue
            if damaged := remove_damaged(cache_of(self.repo), _objects(found)):
                log(f"{len(damaged)} objects of {stage.addressing} in DVC's cache were damaged and have been removed.")
                continue
            found.checkout()
            self._save(stage)
            return True
        return False

    def _fetched(self, stage: Any, candidates: Sequence[Any]) -> Any | None:
        """Fetch the outputs of the first candidate, or the newest result that the remote has for the inputs."""
        found = next((one for one in candidates if one is not None), None)
        key = dvc_private.run_key(stage)
        if found is None and key is not None and dvc_private.fetch_entry(self.repo, key):
            found = dvc_private.earlier_result(stage)
        if found is not None:
            for objects in found.get_used_objs().values():
                self.repo.cloud.pull(objects)
        return found

    @contextmanager
    def _remote(self) -> Iterator[None]:
        """Use the default remote; if it fails, warn once, and use it no more."""
        before = len(self._messages.causes)
        failure: BaseException | None = None
        try:
            yield
        except Exception as error:
            failure = error
        failure = next(iter(self._messages.causes[before:]), failure)  # DVC logs one cause a file, and counts them
        if failure is not None and self._pulls:
            self._pulls = False
            self._warn(f"Warning: nothing more is pulled in this run, since the DVC remote failed: {reasons(failure)}")

    def _run(self, stage: Any, log: Log, timeout: float | None, environment: Mapping[str, str]) -> None:
        """Run the lines of a command, one after the other."""
        place, variables = dvc_private.command_place(stage)
        until = None if timeout is None else time.monotonic() + timeout
        everything = own_tools({**variables, **self._environment, **environment})
        for line, words in dvc_private.command_lines(stage):
            log(f"> {line}")
            try:
                status, last = self.commands.run(words, place, everything, log, until=until)
            except TimeoutError:
                raise StageError(
                    f"Stage '{stage.addressing}' was ended after its timeout of {timeout:g} s (`meta` in dvc.yaml)."
                ) from None
            if status:
                lines = "\n".join([f"> {line}", *last])
                raise StageError(f"Stage '{stage.addressing}' ended with status {status}:\n{lines}")

    def _save(self, stage: Any) -> None:
        """Hash the inputs and outputs of a stage, and put the outputs into DVC's cache."""
        plain = all(out.use_cache for out in stage.outs if not (out.is_metric or out.is_plot))
        stage.save(run_cache=plain)
        stage.commit()
        self._note(stage)

    def _note(self, stage: Any) -> None:
        if _is_in_lock(stage):
            self._unwritten.append(stage)
        else:
            stage.dump(update_pipeline=False)


def _is_in_lock(stage: Any) -> bool:
    return isinstance(stage, PipelineStage)


def _objects(stage: Any) -> Collection[str]:
    """Return the names of a stage's outputs in DVC's cache."""
    return [str(out.hash_info.value) for out in stage.outs if out.use_cache and out.hash_info]


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Turn every error of DVC and of its libraries into one line."""
    try:
        yield
    except StageError:
        raise
    except Exception as error:
        raise StageError(f"Stage '{name}' failed: {reasons(error)}") from error


class Messages(logging.Handler):
    """Send DVC's warnings to the log of a stage, in place of DVC's own handlers, and remember what caused them."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._loggers = [logging.getLogger(name) for name in DVC_LOGGERS]
        self._before = [(logger.handlers, logger.propagate) for logger in self._loggers]
        self.causes: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        cause = record.exc_info[1] if record.exc_info else None
        self._log(f"Warning: {record.getMessage()}{f': {cause}' if cause else ''}")
        if cause is not None:
            self.causes.append(cause)

    def __enter__(self) -> Self:
        for logger in self._loggers:
            logger.handlers, logger.propagate = [self], False
        return self

    def __exit__(self, *error: object) -> None:
        for logger, before in zip(self._loggers, self._before, strict=True):
            logger.handlers, logger.propagate = before
