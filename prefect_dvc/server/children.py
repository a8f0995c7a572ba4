"""The processes of `make ui`, watched: one that dies is started again, and its log, which is appended to, says why."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from prefect_dvc.errors import Refusal
from prefect_dvc.execution.commands import Log
from prefect_dvc.system.process import end_groups, supervised

LOG_BYTES = 20 * 2**20
DEATHS, WITHIN_SECONDS = 3, 600.0  # more within this time, and it is not started again
POLL_SECONDS = 0.5


@dataclass
class Child:
    """A process that is started again when it dies."""

    name: str  # of it and of its log
    command: Sequence[str]
    clone: Path  # its working directory
    log: Path
    needed: bool = True  # whether nothing works without it; otherwise it is given up
    died: Callable[[], None] = lambda: None  # called when it has died, before it is started again
    process: subprocess.Popen[bytes] | None = None
    deaths: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Start it; its output is appended to its log."""
        with self.log.open("ab") as file:
            file.write(f"--- {self.name} starts, {datetime.now():%Y-%m-%d %H:%M:%S}\n".encode())
            file.flush()
            self.process = subprocess.Popen(
                supervised(self.command),
                cwd=self.clone,
                env=os.environ | {"PREFECT_DVC_CLONE": str(self.clone)},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def rotate(self) -> None:
        """Move the content of a long log aside; the process has the file open for appending."""
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            shutil.copyfile(self.log, self.log.with_name(f"{self.log.name}.1"))
            os.truncate(self.log, 0)

    def look(self, say: Log) -> None:
        """Start it again if it has died; raises Refusal if it dies again and again."""
        self.rotate()
        if self.process is None or self.process.poll() is None:
            return
        now = time.monotonic()
        self.deaths = [death for death in self.deaths if now - death < WITHIN_SECONDS] + [now]
        ended = f"{self.name} has ended with status {self.process.returncode}; its log is {self.log}."
        if len(self.deaths) > DEATHS:
            self.process = None
            if self.needed:
                raise Refusal(f"{ended} It was started {DEATHS} times again.")
            say(f"{ended} It is given up, since it was started {DEATHS} times again.")
            return
        say(f"{ended} It is started again.")
        self.died()
        self.start()


class Children:
    """All of them; whoever has started them closes this."""

    def __init__(self, home: Path) -> None:
        self._home, self._all = home, list[Child]()

    def start(self, name: str, command: Sequence[str], clone: Path, **options: Any) -> Path:
        """Start a process, with further options of `Child`, and return its log."""
        child = Child(name, command, clone, self._home / f"{name}.log", **options)
        self._all.append(child)
        child.start()
        return child.log

    def watch(self, say: Log, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Look after all of them until Ctrl-C, and call `meanwhile` each time; raises Refusal."""
        while True:
            for child in self._all:
                child.look(say)
            meanwhile()
            time.sleep(POLL_SECONDS)

    def close(self) -> None:
        """End all processes."""
        end_groups([child.process for child in reversed(self._all) if child.process is not None])
