"""A process that has loaded DVC and the graph of a run, and forks for each stage, which saves a second each time.

    home ── name, pipes for its output and for what it tells ──> host ── fork ──> execution/dvc_stage.py
         <──────────────────── exit STATUS ─────────────────────             └──> the steps of a hand-off

It has one thread, loads no data and reaches no remote, so a fork of it is as good as a new process. Each fork leads its
own group and ends with the host, which ends with home. A worker has one, too (workers/standby.py).
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from prefect_dvc.system.process import HANDOFF, HOST, STAGE, bound, end_group_on_term, end_with_parent, without_git

LONGEST = 2**18  # bytes of a request
NEEDED = (STAGE, HANDOFF)  # modules of the forks, loaded before the first one
CODE = Path(__file__).parents[2]  # where `python -m flows...` finds this code, not that of the run's directory


class Host:
    """The process, seen from home; it takes requests while it still loads.

    Args:
        channel: A socket that leads to it.
        process: The process, if it is a child of this one.
    """

    def __init__(self, channel: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._channel, self._process = channel, process
        self._seen: set[str] = set()

    @classmethod
    def started(cls, *directory: str) -> Self:
        """Start the process; with a directory it loads the graph at once, otherwise after `enter`."""
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", HOST, str(os.getpid()), str(theirs.fileno()), *directory]
            process = subprocess.Popen(
                bound(command),
                cwd=CODE,
                env=without_git(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # an error at the start comes again from the process that takes its place
                pass_fds=[theirs.fileno()],
            )
        return cls(channel, process)

    def enter(self, directory: Path) -> None:
        """Have it work in the repository `directory`, and load the graph."""
        with suppress(OSError):  # it is gone, which the next request finds out
            self._channel.send(json.dumps({"enter": str(directory)}).encode())

    def call(self, module: str, arguments: Sequence[str], output: int, told: int) -> bool:
        """Ask for a fork that calls `run(arguments)` of a module; return whether the host still takes requests."""
        return self._ask({"call": module, "arguments": list(arguments), "environment": {}}, output, told)

    def fork(self, names: Sequence[str], output: int, told: int, environment: Mapping[str, str], **flags: bool) -> bool:
        """Ask for a fork that brings a stage up to date; return whether the host still takes requests.

        Args:
            names: The stage; with the flag `restore`, several, each after its upstream, of which none is run.
            output: The descriptor that gets its output.
            told: The descriptor that gets the lines of dvc_stage, and at last `exit STATUS`.
            environment: Variables that differ from this process's.
            flags: `force`, `pull` and `restore`.
        """
        loaded = self._seen.isdisjoint(names)  # afterwards dvc.lock has another entry for it
        if not flags.get("restore"):
            self._seen.update(names)
        request = {"names": names, "loaded": loaded, "environment": dict(environment), **flags}
        return self._ask(request, output, told)

    def _ask(self, request: Mapping[str, Any], output: int, told: int) -> bool:
        try:
            socket.send_fds(self._channel, [json.dumps(request).encode()], [output, told])
        except OSError:
            return False
        return True

    def changed(self, name: str) -> None:
        """Have the next fork load stage `name` again, since dvc.lock has changed."""
        self._seen.add(name)

    def close(self) -> None:
        """End it."""
        self._channel.close()
        if self._process is not None:
            self._process.wait()


def start_host(directory: Path | None) -> Host | None:
    """Start a host if the system can: on Linux. Without a directory it waits for `enter`."""
    return Host.started(*([str(directory)] if directory else [])) if sys.platform == "linux" else None


# In the host


class _Graph:
    """The repository that the host works in, opened when it is known, and its stages by name."""

    def __init__(self) -> None:
        self.repo: Any = None
        self.stages: dict[str, Any] = {}

    def enter(self, directory: str) -> None:
        from dvc.repo import Repo

        os.chdir(directory)
        self.repo = Repo(directory, _wait_for_lock=True)
        self.stages = {stage.addressing: stage for stage in self.repo.index.stages}


def serve(channel: socket.socket, directory: str | None = None) -> None:
    """Take requests until home closes the channel."""
    graph, running = _Graph(), dict[int, int]()  # pipes by process id
    if directory is not None:
        graph.enter(directory)
    signs, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready, _, _ = select.select([channel.fileno(), signs], [], [])
        if signs in ready:
            os.read(signs, 4096)
            _reap(running)
        if channel.fileno() in ready:
            text, descriptors, _, _ = socket.recv_fds(channel, LONGEST, 2)
            if not text:
                return
            request = json.loads(text)
            if "enter" in request:
                graph.enter(request["enter"])
                continue
            output, told = descriptors
            process = _fork(graph, request, output, told)
            os.close(output)
            running[process] = told


def _fork(graph: _Graph, request: dict[str, Any], output: int, told: int) -> int:
    """Return the process id of a fork that carries out the request."""
    host = os.getpid()
    process = os.fork()
    if process:
        return process
    status = 1
    try:  # the fork never returns from here
        os.setsid()
        signal.set_wakeup_fd(-1)
        end_group_on_term()
        end_with_parent(host)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.environ |= request["environment"]
        status = _call(request, told) if "call" in request else _carry_out(graph, request, told)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _call(request: dict[str, Any], told: int) -> int:
    from prefect_dvc.execution.dvc_stage import be_named, teller

    be_named(request["call"], *request["arguments"][:1])
    teller(told)(f"pid {os.getpid()}")
    status: int = import_module(request["call"]).run(request["arguments"])
    return status


def _carry_out(graph: _Graph, request: dict[str, Any], told: int) -> int:
    from prefect_dvc.execution.dvc_stage import be_named, bring_up_to_date, guarded, restore_all, teller
    from prefect_dvc.execution.locks import renew

    names, pull, tell, stages = request["names"], request["pull"], teller(told), graph.stages
    be_named(STAGE, *names[:1], *["..."] * (len(names) > 1))
    tell(f"pid {os.getpid()}")
    renew(graph.repo)
    if request["restore"]:
        wanted = [stages[name] for name in names if name in stages]
        ready = {out.fs_path for name in stages.keys() - set(names) for out in stages[name].outs}
        return guarded(lambda: restore_all(graph.repo, wanted, ready, tell, pull=pull), "what is at hand")
    (name,) = names
    if not request["loaded"]:
        graph.repo._reset()
    stage, force = stages.get(name) if request["loaded"] else None, request["force"]
    return guarded(lambda: bring_up_to_date(graph.repo, name, tell, force=force, pull=pull, stage=stage), name)


def _reap(running: dict[int, int]) -> None:
    """Tell home the status of every fork that has ended."""
    with suppress(ChildProcessError):
        while found := os.waitpid(-1, os.WNOHANG):
            process, status = found
            if not process:
                return
            told = running.pop(process)
            with suppress(BrokenPipeError):  # home no longer listens
                os.write(told, f"exit {os.waitstatus_to_exitcode(status)}\n".encode())
            os.close(told)


def main() -> None:
    _home, descriptor, *directory = sys.argv[1:]  # home is named for execution/locks.py
    for name in NEEDED:
        import_module(name)
    with socket.socket(fileno=int(descriptor)) as channel:
        channel.set_inheritable(False)
        serve(channel, *directory)


if __name__ == "__main__":
    main()
