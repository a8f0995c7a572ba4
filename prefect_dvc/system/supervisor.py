"""The program between a run and a command: it ends the command, and all that it has started, when the run ends.

    python supervisor.py PARENT COMMAND...        `process.supervised` makes this line

It leads the group of the command. It imports little, since each command of a stage pays for its start.
"""

import ctypes
import os
import signal
import sys
import time

# Other systems do not tell a process of its parent's end
prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else lambda option, value: 0
SECONDS_TO_END = 20.0  # for a command to remove its partial files before it is killed
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
POLL_SECONDS = 0.02


def supervise(parent: int, command: list[str]) -> int:
    """Run a command until it ends, or until the process `parent` does; return its status, negative for a signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until it is known what to end
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    me = os.getpid()
    child = os.fork()
    if not child:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # if this process is killed, nobody could end the command
        if os.getppid() != me:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
            signal.signal(ignored, signal.SIG_DFL)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # the locks, or a process that stays in the background holds them
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)
    signal.signal(signal.SIGTERM, lambda number, frame: end())
    signal.signal(signal.SIGINT, lambda number, frame: os.kill(child, number))  # to PostgreSQL it says how to end
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # the children of a shell that has ended become ours, to wait for
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # sent when the thread that started this one ends
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    if os.getppid() != parent:  # it ended just before
        end()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end() -> None:
    """End this group, this process at last; all that the command has started may use the time to end by itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + SECONDS_TO_END
    try:
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(POLL_SECONDS)
    except ChildProcessError:  # none is left
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    status = supervise(int(sys.argv[1]), sys.argv[2:])
    if status < 0:  # end as the command has ended
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)
