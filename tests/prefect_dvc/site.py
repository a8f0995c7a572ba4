"""Two clones on one host with a worker in the second, for tests of the hand-off."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from dvc.repo import Repo

from prefect_dvc.execution.cache import cache_of
from prefect_dvc.execution.commands import Commands
from prefect_dvc.execution.graph import nodes, read_graph
from prefect_dvc.execution.outcome import Outcome
from prefect_dvc.execution.run import Run
from prefect_dvc.execution.slots import Slots
from prefect_dvc.execution.stages import Stages
from prefect_dvc.settings.resources import Needs
from prefect_dvc.workers import request
from prefect_dvc.workers.handoff import hand_off
from tests.waiting import SERVER_PAUSE, wait_until

from .conftest import dvc_, git, make_repository, set_param, stage
from .handoff_server import Server, clone_of, kill, worker

GPU = Needs({"gpu": 1})


class Site:
    """A workspace, a second clone of it on the same host, and a worker of the `gpu` pool in that clone."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.server = server
        graph = {"a": stage("a"), "g": stage("g", "a", gpu=True), "z": stage("z", "g")}
        self.remote = directory / "remote"
        self.home = make_repository(directory / "workspace", graph)
        dvc_("remote", "add", "--default", "store", str(self.remote), cwd=self.home)
        git(self.home, "commit", "--quiet", "--all", "--message", "A remote")
        self.clone = clone_of(self.home)
        dvc_("repro", "a", cwd=self.home)
        self.ran_at_home, self.ran_there = directory / "home.log", directory / "there.log"
        self.value = 1
        self.release = directory / "release"  # lets stage g go on
        self._stack = ExitStack()
        self.worker: subprocess.Popen[bytes] | None = None

    def start_worker(self, inside: Sequence[str] = (), **environment: str) -> None:
        """Unless it runs."""
        if self.worker is None or self.worker.poll() is not None:
            settings = {"STAGE_LOG": str(self.ran_there)} | environment
            self.worker = self._stack.enter_context(worker(self.server, self.clone, inside, **settings))

    def use_store(self, address: str) -> None:
        """Make a store over HTTP the default remote of both clones, and let stage a read the file text.txt."""
        for key, value in (("url", address), ("method", "PUT")):
            dvc_("remote", "modify", "store", key, value, cwd=self.home)
        graph = yaml.safe_load((self.home / "dvc.yaml").read_text(encoding="utf-8"))
        graph["stages"]["a"] |= {"cmd": "python stage.py a a.txt text.txt", "deps": ["stage.py", "text.txt"]}
        (self.home / "dvc.yaml").write_text(yaml.safe_dump(graph), encoding="utf-8")
        (self.home / "text.txt").touch()
        git(self.home, "add", "--all")
        git(self.home, "commit", "--quiet", "--message", "A remote over HTTP, and an input of any size")
        git(self.clone, "pull", "--quiet")

    def stop_worker(self) -> None:
        assert self.worker is not None
        kill(self.worker, signal.SIGKILL)

    def close(self) -> None:
        self._stack.close()

    def change(self, **values: object) -> None:
        """Give stage g new parameters, so that it has to run."""
        self.value += 1
        self.release.unlink(missing_ok=True)
        set_param(self.home, "g", **{"value": self.value, "until": None, "fails": False} | values)

    def hold(self) -> None:
        """Give stage g new parameters, and make it wait for `release`."""
        self.change(until=str(self.release))

    @contextmanager
    def meanwhile(self, act: Callable[[], None]) -> Iterator[None]:
        """Do this once stage g runs on the worker, in parallel to the block; stage g goes on after it."""
        self.hold()
        runs = len(self.server.runs())

        def strike() -> None:
            try:
                self.wait_for_work(runs)
                act()
            finally:
                self.release.touch()

        thread = threading.Thread(target=strike)
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def hand_off(
        self,
        *,
        commands: Commands | None = None,
        log: Callable[[str], None] = print,
        needs: Needs = GPU,
        force: bool = False,
    ) -> Outcome:
        """Bring stage g up to date as a run with `--gpu require` does, in the workspace instead of a directory."""
        with chdir(self.home), Repo(str(self.home), _wait_for_lock=True) as repo:
            stages = [stage for stage in read_graph(repo, "g") if stage.name == "g"]
            work = Stages(repo, nodes(repo, stages), self.home, pulls=True, warn=log)
            work.commands = commands or work.commands
            options: dict[str, Any] = {"remote": True, "force": force, "gpu": "require", "hand_off": hand_off}
            run = Run(self.home, self.home, "test", stages, work, cache_of(repo), Slots(1), **options)
            try:
                return run.bring_up_to_date(replace(stages[0], needs=needs), log)
            finally:
                work.close()

    def runs_there(self) -> int:
        return len(self.ran_there.read_text(encoding="utf-8").splitlines()) if self.ran_there.exists() else 0

    def last_state(self) -> Any:
        return self.server.runs()[-1].state

    def assert_clean(self) -> None:
        assert git(self.home, "for-each-ref", request.REFS) == ""

    def wait_for_work(self, runs: int) -> None:
        """Wait until the worker has one flow run more than `runs`, and its stage is running."""
        wait_until(lambda: len(self.server.runs()) > runs and self.at_work(), "it is at work", pause=SERVER_PAUSE)

    def at_work(self) -> bool:
        """Whether some process runs the command of stage g inside the worker's clone."""
        return bool(self._processes(b"stage.py\0g"))

    def engines(self) -> list[int]:
        """The processes of flow runs in the worker's clone."""
        return self._processes(b"prefect.engine")

    def _processes(self, text: bytes) -> list[int]:
        """The processes in the worker's clone whose command line has the text."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                inside = (process / "cwd").readlink().is_relative_to(self.clone)
                if inside and text in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
        return found
