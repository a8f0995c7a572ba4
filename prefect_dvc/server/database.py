"""The database of Prefect's server: SQLite, or one of this machine's PostgreSQL server.

    sqlite        nothing to install; bears a few runs at a time, the others wait in their queue
    postgresql    `apt-get install postgresql`, and a role for you: sudo -u postgres createuser --createdb $USER

Whoever has a server elsewhere names it in PREFECT_API_DATABASE_CONNECTION_URL instead.
"""

import os
import subprocess

from prefect_dvc.errors import Refusal
from prefect_dvc.settings.resources import whole

URL = "PREFECT_API_DATABASE_CONNECTION_URL"
RUNS = "PREFECT_DVC_RUNS"  # the most runs at a time: of the work pool `dvc`, and of `prefect-dvc run`
SQLITE_RUNS = 3  # ten at once lost three of seven: each answer of a locked SQLite is an error for somebody
POSTGRESQL_RUNS = 10
RETRIES = {"PREFECT_CLIENT_MAX_RETRIES": "12"}  # of a request that a locked SQLite refused; Prefect's own 5 lose runs
SQLITE, POSTGRESQL = "sqlite", "postgresql"
NAME = "prefect"  # of the database
REMEDY = (
    "`apt-get install postgresql`, then `sudo -u postgres createuser --createdb $USER`; or name another server in "
    f"{URL}."
)


def most_runs() -> int:
    """Return how many runs there may be at a time; the others wait. Raises Refusal."""
    other = "postgresql" in os.environ.get(URL, "")
    usual = POSTGRESQL_RUNS if other else SQLITE_RUNS
    return whole(RUNS, usual, f"runs at a time; {SQLITE_RUNS} suits SQLite")


def postgresql() -> str:
    """Return the address of the database `prefect` on this machine's PostgreSQL server, which is made if need be.

    The server and the user are those of PostgreSQL's own settings, such as PGHOST. Raises Refusal.
    """
    try:
        done = subprocess.run(
            ["createdb", NAME], env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Refusal(f"PostgreSQL's `createdb` cannot be called ({error.strerror}): {REMEDY}") from error
    if done.returncode and "already exists" not in done.stderr:
        raise Refusal(f"{' '.join(done.stderr.split())}: {REMEDY}")
    return f"postgresql+asyncpg:///{NAME}"
