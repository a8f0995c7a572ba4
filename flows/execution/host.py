"""A process that has loaded DVC and the graph of a run, and forks for each stage, which saves a second each time.

    home ── name, pipes for its output and for what it tells ──> host ── fork ──> flows/execution/dvc_stage.py
         <──────────────────── exit STATUS ─────────────────────

It has one thread, loads no data and reaches no remote, so a fork of it is as good as a new process. Each fork leads its
own group and ends with the host, which ends with home.
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
from pathlib import Path
from typing import Any

from flows.execution.process import bound, end_with_parent, without_git

LONGEST = 2**18  # bytes of a request
CODE = Path(__file__).parents[2]  # where `python -m flows...` finds this code, not that of the run's directory


class Host:
    """The process, seen from home; it starts to load at once, and takes requests meanwhile.

    Args:
        directory: The run's own directory.
    """

    def __init__(self, directory: Path) -> None:
        self._seen: set[str] = set()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "flows.execution.host", str(directory), str(theirs.fileno())]
            self._process = subprocess.Popen(
                bound(command),
                cwd=CODE,
                env=without_git(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # an error at the start comes again from the process that takes its place
                pass_fds=[theirs.fileno()],
            )

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
        request = json.dumps({"names": names, "loaded": loaded, "environment": dict(environment), **flags})
        try:
            socket.send_fds(self._channel, [request.encode()], [output, told])
        except OSError:
            return False
        return True

    def changed(self, name: str) -> None:
        """Have the next fork load stage `name` again, since dvc.lock has changed."""
        self._seen.add(name)

    def close(self) -> None:
        """End it."""
        self._channel.close()
        self._process.wait()


def start_host(directory: Path) -> Host | None:
    """Start a host where the system can: on Linux."""
    return Host(directory) if sys.platform == "linux" else None


# In the host


def serve(channel: socket.socket, directory: Path) -> None:
    """Take requests until home closes the channel."""
    from dvc.repo import Repo

    with Repo(str(directory), _wait_for_lock=True) as repo:
        stages = {stage.addressing: stage for stage in repo.index.stages}
        running: dict[int, int] = {}  # pipes by process id
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
                output, told = descriptors
                process = _fork(repo, stages, json.loads(text), output, told)
                os.close(output)
                running[process] = told


def _fork(repo: Any, stages: Mapping[str, Any], request: dict[str, Any], output: int, told: int) -> int:
    """Return the process id of a fork that carries out the request."""
    host = os.getpid()
    process = os.fork()
    if process:
        return process
    status = 1
    try:  # the fork never returns from here
        os.setsid()
        end_with_parent(host)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.environ |= request["environment"]
        status = _carry_out(repo, stages, request, told)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _carry_out(repo: Any, stages: Mapping[str, Any], request: dict[str, Any], told: int) -> int:
    from flows.execution.dvc_stage import bring_up_to_date, guarded, restore_all, teller

    names, pull, tell = request["names"], request["pull"], teller(told)
    tell(f"pid {os.getpid()}")
    if request["restore"]:
        wanted = [stages[name] for name in names if name in stages]
        ready = {out.fs_path for name in stages.keys() - set(names) for out in stages[name].outs}
        return guarded(lambda: restore_all(repo, wanted, ready, tell, pull=pull), "what is at hand")
    (name,) = names
    if not request["loaded"]:
        repo._reset()
    stage = stages.get(name) if request["loaded"] else None
    return guarded(lambda: bring_up_to_date(repo, name, tell, force=request["force"], pull=pull, stage=stage), name)


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
    directory, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    os.chdir(directory)
    import flows.execution.dvc_stage  # noqa: F401  before the first fork

    with socket.socket(fileno=descriptor) as channel:
        channel.set_inheritable(False)
        serve(channel, directory)


if __name__ == "__main__":
    main()
