"""The process that a worker starts for a flow run: it has the worker's standby fork the run, and waits for its end.

    worker ── sh ── this, which loads nothing ── environment, output ──> standby ── fork ──> prefect.engine
                        <──────────────────── pid, exit STATUS ─────────────┘

If there is no standby, it has ended or its code is not that of the files any more, this process becomes prefect.engine.
It passes signals on; if it is killed, the run ends, too.
"""

import json
import os
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import NoReturn

STANDBY = "PREFECT_DVC_STANDBY"  # name of the socket, which the worker sets for its flow runs
LONGEST = 2**18  # bytes of a message


def own(peer: socket.socket) -> bool:
    """Return whether the process at the other end is of the same user; anybody may listen at an abstract name."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


def ask(name: str) -> int | None:
    """Let the standby fork the run, and return its status; None if it does not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as standby:
        try:
            standby.connect(f"\0{name}")
            if not own(standby):
                return None
            socket.send_fds(standby, [json.dumps(dict(os.environ)).encode()], [1, 2])
            answer = standby.recv(LONGEST).decode()
        except OSError:  # it has ended
            return None
        if not answer.startswith("pid "):
            print(answer or "The standby has ended.", flush=True)
            return None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda sent, frame: os.kill(int(answer.split()[1]), sent))
        ending = standby.recv(LONGEST).decode()
    return int(ending.split()[1]) if ending else 1  # without a standby nobody knows how the run has ended


def end_with(status: int) -> NoReturn:
    """End as the run has ended."""
    if status < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def main() -> None:
    name = os.environ.get(STANDBY)
    status = ask(name) if name else None
    if status is not None:
        end_with(status)
    os.execv(sys.executable, [sys.executable, "-m", "prefect.engine"])


if __name__ == "__main__":
    main()
