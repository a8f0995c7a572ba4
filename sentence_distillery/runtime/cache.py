"""Where work that outlives a run is kept: converted teacher packages, models fetched from a hub."""

import os
from pathlib import Path

VARIABLE = "DISTILLERY_CACHE"


def cache_directory() -> Path:
    """Return the directory that DISTILLERY_CACHE names, else `sentence-distillery` in the user's cache directory.

    It need not exist: who writes there makes it.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sentence-distillery"
