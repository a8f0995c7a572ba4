"""The cache for work that outlives a run: converted teacher packages, models fetched from a hub."""

import os
from pathlib import Path

VARIABLE = "DISTILLERY_CACHE"


def cache_directory() -> Path:
    """Return the directory that DISTILLERY_CACHE names, else `sentence-distillery` in the user's cache directory.

    It need not exist: the code that writes there creates it.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sentence-distillery"
