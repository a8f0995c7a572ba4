"""The database of Prefect's server: SQLite, or a PostgreSQL server of our own below `.prefect`.

    sqlite        nothing to install; bears a few runs at a time, the others wait in their queue
    postgresql    an installed PostgreSQL (`apt-get install postgresql`), started here, on a socket that only you reach

Whoever has a PostgreSQL server already names it in PREFECT_API_DATABASE_CONNECTION_URL instead.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from prefect_dvc.system.process import supervised

URL = "PREFECT_API_DATABASE_CONNECTION_URL"
RUNS = "PREFECT_DVC_RUNS"  # the most runs at a time: of the work pool `dvc`, and of `prefect-dvc run`
SQLITE_RUNS = 3  # ten at once lost three of seven: each answer of a locked SQLite is an error for somebody
POSTGRESQL_RUNS = 10
RETRIES = {"PREFECT_CLIENT_MAX_RETRIES": "12"}  # of a request that a locked SQLite refused; Prefect's own 5 lose runs
USER = "prefect"
PROGRAMS = "/usr/lib/postgresql"  # where Debian has them, outside the PATH
START_SECONDS = 60.0


class Database(StrEnum):
    """The database of Prefect's server."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


class DatabaseError(Exception):
    """The database cannot be started or a setting is wrong; the message has the reason and the remedy."""


def most_runs() -> int:
    """Return how many runs there may be at a time; the others wait. Raises DatabaseError.

    Example:
        >>> most_runs()  # doctest: +SKIP
        3
    """
    other = "postgresql" in os.environ.get(URL, "")
    given = os.environ.get(RUNS, str(POSTGRESQL_RUNS if other else SQLITE_RUNS))
    if not given.isdecimal() or int(given) < 1:
        raise DatabaseError(f"{RUNS}={given!r} is not a number of runs at a time; {SQLITE_RUNS} suits SQLite.")
    return int(given)


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL's server; raises DatabaseError if none is installed."""
    newest = sorted(Path(PROGRAMS).glob("*/bin"), key=lambda place: int(place.parent.name), reverse=True)
    found = shutil.which(name) or next((str(place / name) for place in newest if (place / name).exists()), None)
    if found is None:
        raise DatabaseError(
            f"PostgreSQL's `{name}` is not installed here: `apt-get install postgresql`, or name a server in {URL}."
        )
    return found


@contextmanager
def postgresql(directory: Path, log: Path, owner: str | None = None) -> Iterator[str]:
    """Run a PostgreSQL server while the block lasts, and yield its address for Prefect.

    Args:
        directory: Its data, made on the first start; only `owner` can read it.
        log: The file that gets its output.
        owner: The user that it runs as: by default this one, which must not be root.

    Raises:
        DatabaseError: PostgreSQL is not installed, does not run as root, or did not start.
    """
    if owner is None and os.getuid() == 0:
        raise DatabaseError(f"PostgreSQL does not run as root: start this as another user, or name a server in {URL}.")
    with tempfile.TemporaryDirectory(prefix="prefect-dvc-") as sockets, log.open("a", encoding="utf-8") as file:
        if owner is not None:
            directory.mkdir(exist_ok=True)
            for place in (directory, Path(sockets)):
                os.chown(place, pwd.getpwnam(owner).pw_uid, -1)
        if not (directory / "PG_VERSION").exists():
            options = ["--pgdata", str(directory), "--username", USER, "--auth-host=reject", "--auth-local=trust"]
            command = [program("initdb"), *options, "--encoding=UTF8"]
            done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, user=owner)
            if done.returncode:
                raise DatabaseError(f"{command[0]} failed: {done.stderr.strip().splitlines()[-1]}")
        # The path of a socket has at most 107 bytes, so it does not lie below the workspace.
        command = [program("postgres"), "-D", str(directory), "-k", sockets, "-c", "listen_addresses="]
        command = supervised(command) if owner is None else command  # another user may not reach this Python
        process = subprocess.Popen(command, cwd=sockets, stdout=file, stderr=file, user=owner)
        try:
            _wait(process, sockets, log)
            yield f"postgresql+asyncpg://{USER}@/postgres?host={sockets}"
        finally:
            process.send_signal(signal.SIGINT)  # a "fast" shutdown; SIGTERM would wait for clients
            process.wait()


def _wait(process: subprocess.Popen[bytes], sockets: str, log: Path) -> None:
    """Wait until the server accepts connections; raises DatabaseError."""
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        ready = subprocess.run([program("pg_isready"), "--quiet", "--host", sockets], check=False)
        if ready.returncode == 0:
            return
        time.sleep(0.1)
    raise DatabaseError(f"PostgreSQL did not start; its log is {log}.")
