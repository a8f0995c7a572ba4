"""The commands of stages, as child processes that can all be ended at once."""

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from prefect_dvc.execution.outcome import StageError
from prefect_dvc.system.process import end_group, locks, supervised, without_git

REMEMBERED = 20  # last lines of a command, for the error
SECONDS_OF_OUTPUT = 1.0  # for the last lines of a command that has left a process behind, which holds its output open
Log = Callable[[str], None]
Process = subprocess.Popen[str]


class Commands:
    """The commands that this process runs now."""

    def __init__(self) -> None:
        self._processes = set[Process]()
        self._lock = threading.Lock()
        self.closed = False  # whether the run is being stopped

    def end(self) -> None:
        """End every command with all its child processes, and start no other."""
        with self._lock:
            self.closed = True
            processes = list(self._processes)
        threads = [threading.Thread(target=end_group, args=(process,)) for process in processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def run(
        self,
        command: Sequence[str],
        place: Path | str,
        environment: Mapping[str, str],
        log: Log,
        *,
        until: float | None = None,
    ) -> tuple[int, list[str]]:
        """Run a command, and log its lines.

        Args:
            command: Its words.
            place: Its working directory.
            environment: All its variables.
            log: Told each line that it prints.
            until: The moment, of time.monotonic, at which it is ended; None is never.

        Returns:
            Its status, negative for a signal, and its last lines.

        Raises:
            StageError: The run is being stopped.
            TimeoutError: It was ended.
        """
        last: deque[str] = deque(maxlen=REMEMBERED)

        def read(output: IO[str]) -> None:
            with output:
                for line in output:
                    if line.strip():
                        last.append(line.rstrip())
                        log(line.rstrip())

        with self._started(command, place, environment) as process:
            assert process.stdout is not None
            reader = threading.Thread(target=read, args=(process.stdout,), daemon=True)
            reader.start()
            try:
                process.wait(None if until is None else max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise TimeoutError from error
            reader.join(SECONDS_OF_OUTPUT)
        return process.returncode, list(last)

    @contextmanager
    def _started(self, command: Sequence[str], place: Path | str, environment: Mapping[str, str]) -> Iterator[Process]:
        """Start a command that ends with the block."""
        with self._lock:
            if self.closed:
                raise StageError(f"The run is being stopped; {command[-1]} was not started.")
            process = subprocess.Popen(
                supervised(command),
                cwd=place,
                env=without_git(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                pass_fds=locks(),
            )
            self._processes.add(process)
        try:
            yield process
        finally:
            if process.poll() is None:
                end_group(process)
            self._processes.discard(process)


def own_tools(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which `python` is this one."""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return {**environment, "PATH": tools}
