"""The database of Prefect's server: SQLite, or the one that PREFECT_API_DATABASE_CONNECTION_URL names.

SQLite needs no installation and bears a few runs at a time; the others wait in their queue. PostgreSQL bears more.
"""

import os

from prefect_dvc.settings.resources import whole

URL = "PREFECT_API_DATABASE_CONNECTION_URL"
RUNS = "PREFECT_DVC_RUNS"  # the most runs at a time: of the work pool `dvc`, and of `prefect-dvc run`
SQLITE_RUNS = 3  # ten at once lost three of seven: each answer of a locked SQLite is an error for somebody
POSTGRESQL_RUNS = 10
RETRIES = {"PREFECT_CLIENT_MAX_RETRIES": "12"}  # of a request that a locked SQLite refused; Prefect's own 5 lose runs


def most_runs() -> int:
    """Return how many runs there may be at a time; the others wait. Raises Refusal."""
    usual = POSTGRESQL_RUNS if "postgresql" in os.environ.get(URL, "") else SQLITE_RUNS
    return whole(RUNS, usual, f"runs at a time; {SQLITE_RUNS} suits SQLite")
