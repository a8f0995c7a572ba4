"""A process next to a GPU worker that has loaded Prefect, DVC and this code, and forks for each flow run.

    workers/engine.py ── environment, output ──> standby ── fork ──> prefect.engine: gpu_stage.py
                                                     └─────── fork ──> execution/host.py, for the run's steps

Prefect and DVC take four seconds of the processor to load, more than all the rest of a hand-off. This process has one
thread and asks nobody anything, so a fork of it is as good as a new process. It ends with the worker; its forks do not,
since a run goes on if its worker alone is killed. Where files of the code have changed since, it forks no more.
"""

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from uuid import uuid4

from prefect_dvc.execution.host import NEEDED, Host, serve
from prefect_dvc.system.process import bound, name_process
from prefect_dvc.workers.engine import LONGEST, own

LOADED = ("prefect.flow_engine", "prefect._internal.metrics", "prefect_dvc.gpu_stage", *NEEDED)
GREETING_SECONDS = 5.0  # for the message of a process that has connected
HOST = "PREFECT_DVC_HOST"  # descriptor of the channel to the run's host
CONTROL = "PREFECT__CONTROL_"  # between the worker and the run alone
Stamps = dict[str, int]


def start_standby() -> str | None:
    """Start it if the system can, on Linux, next to this process, which becomes the worker; return its name."""
    if sys.platform != "linux":
        return None
    name = f"distillery-{uuid4().hex}"
    subprocess.Popen(bound([sys.executable, "-m", "prefect_dvc.workers.standby", name]), stdin=subprocess.DEVNULL)
    return name


def own_host() -> Host | None:
    """Return the host that the standby has forked for this run; None without a standby."""
    descriptor = os.environ.pop(HOST, None)
    return Host(socket.socket(fileno=int(descriptor))) if descriptor else None


# In the standby


class Standby:
    """The process that forks; `serve` returns only in a fork, with its work.

    Args:
        listener: A socket that listens.
        stamps: The files of the loaded code, and when they were changed.
    """

    def __init__(self, listener: socket.socket, stamps: Stamps) -> None:
        self._listener, self._stamps = listener, stamps
        self._running: dict[int, socket.socket] = {}  # the processes that wait for the end of a fork, by its process id

    def serve(self) -> Callable[[], None]:
        """Fork for each process that connects."""
        signs, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake)
        while True:
            ready, _, _ = select.select([self._listener.fileno(), signs], [], [])
            if signs in ready:
                os.read(signs, 4096)
                self._reap()
            if self._listener.fileno() in ready:
                connection, _ = self._listener.accept()
                with suppress(OSError):  # the connected process is gone, or silent
                    if work := self._answer(connection):
                        return work
                if connection not in self._running.values():
                    connection.close()

    def _answer(self, connection: socket.socket) -> Callable[[], None] | None:
        """Fork for a process that has connected; return the task of a fork, and in the standby None."""
        connection.settimeout(GREETING_SECONDS)
        if not own(connection):
            return None
        text, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 2)
        if changed := changed_since(self._stamps):
            connection.send(f"{changed} has changed since the worker started, so its standby forks no more.".encode())
        elif len(descriptors) == 2:
            environment = json.loads(text)
            return self._fork(connection, environment, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def _fork(
        self, connection: socket.socket, environment: dict[str, str], output: list[int]
    ) -> Callable[[], None] | None:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with near, far:
            if not os.fork():
                self._become(environment, output)
                channel = socket.socket(fileno=os.dup(far.fileno()))
                connection.close()
                return lambda: be_host(channel)
            process = os.fork()
            if not process:
                self._become(environment, output)
                os.environ[HOST] = str(os.dup(near.fileno()))
                return lambda: run_engine(connection)
        for descriptor in output:
            os.close(descriptor)
        self._running[process] = connection
        connection.send(f"pid {process}".encode())
        return None

    def _become(self, environment: dict[str, str], output: list[int]) -> None:
        """Make this fork a process like a new one."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._listener.close()
        for other in self._running.values():
            other.close()
        for target, descriptor in enumerate(output, start=1):
            os.dup2(descriptor, target)
            os.close(descriptor)
        os.environ.clear()
        os.environ |= environment

    def _reap(self) -> None:
        """Tell the waiting processes the status of every fork that has ended."""
        with suppress(ChildProcessError):
            while found := os.waitpid(-1, os.WNOHANG):
                process, status = found
                if not process:
                    return
                if connection := self._running.pop(process, None):
                    with connection, suppress(OSError):  # nobody waits any more
                        connection.send(f"exit {os.waitstatus_to_exitcode(status)}".encode())


def be_host(channel: socket.socket) -> None:
    """Be the host of a run until the run ends."""
    for name in [name for name in os.environ if name.startswith(CONTROL)]:
        del os.environ[name]  # prefect.engine removes them from its own environment
    serve(channel)
    os._exit(0)  # nothing that Prefect does at the end of a process is for this one


def run_engine(connection: socket.socket) -> None:
    """Be prefect.engine until the run ends, or the process that waits for it."""
    from prefect.context import refresh_global_settings_context

    def watch() -> None:
        connection.settimeout(None)
        with suppress(OSError):
            connection.recv(1)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="watch", daemon=True).start()
    name_process("gpu-stage")
    refresh_global_settings_context()
    sys.argv = ["prefect.engine"]
    runpy.run_module("prefect.engine", run_name="__main__", alter_sys=True)


def stamps_of_loaded() -> Stamps:
    """Return the files of all loaded modules, and when they were changed, in nanoseconds."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    found = Stamps()
    for file in files:
        with suppress(OSError):  # one in an archive
            if file:
                found[file] = Path(file).stat().st_mtime_ns
    return found


def changed_since(stamps: Stamps) -> str | None:
    """Return a file that is not as it was, or None."""
    for file, changed in stamps.items():
        try:
            if Path(file).stat().st_mtime_ns != changed:
                return file
        except OSError:
            return file
    return None


def main() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0{sys.argv[1]}")
        listener.listen()
        for name in LOADED:
            import_module(name)
        work = Standby(listener, stamps_of_loaded()).serve()
    work()


if __name__ == "__main__":
    main()
