"""The sockets of a process, from the kernel; and a port for a server."""

import secrets
import socket
from contextlib import suppress
from pathlib import Path

# Below the ports that the system itself gives to listeners at port 0 and to connections that go out: a server that a
# test stops and starts again has to find its port free.
PORTS = range(12_000, 32_000)
LISTENS = "0A"
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}  # in its hexadecimal


def free_port() -> int:
    """Draw a free port at 127.0.0.1; other test processes are unlikely to draw the same."""
    while True:
        port = secrets.choice(PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def sockets(pid: int) -> list[tuple[str, str, bool]]:
    """Local address, remote address and whether it listens, of each TCP socket of a process; none once it has ended."""
    links = set[str]()
    with suppress(FileNotFoundError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                links.add(str(link.readlink()))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [
        (line[1].split(":")[0], line[2].split(":")[0], line[3] == LISTENS)
        for line in lines
        if f"socket:[{line[9]}]" in links
    ]


def listening(pid: int) -> set[str]:
    """The local addresses at which a process listens."""
    return {local for local, _, listens in sockets(pid) if listens}


def peers(pid: int) -> set[str]:
    """The addresses at which a process listens or to which it is connected."""
    return {local if listens else remote for local, remote, listens in sockets(pid)}
