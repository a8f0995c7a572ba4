"""The cache for work that outlives a run: converted teacher packages, models fetched from a hub."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sentence_distillery.io.errors import InputError

VARIABLE = "DISTILLERY_CACHE"


def cache_directory() -> Path:
    """Return the directory that DISTILLERY_CACHE names, else `sentence-distillery` in the user's cache directory.

    It need not exist: the code that writes there creates it.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sentence-distillery"


@contextmanager
def writing_cache() -> Iterator[None]:
    """Name the cache and its variable if a file of it cannot be made or written in the block; raises InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"The cache, {cache_directory()}, cannot be written: {error}. Free some space there, or "
            f"set {VARIABLE} to another directory."
        ) from error
