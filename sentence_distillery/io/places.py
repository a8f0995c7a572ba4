"""The directory of temporary files, and the error if it is full."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sentence_distillery.io.errors import InputError


def is_there(path: Path) -> bool:
    """Tell whether a path is there; one that no file can have, such as a text of 300 characters, is not.

    >>> is_there(Path("/")), is_there(Path("The storm closed the port. " * 12))
    (True, False)
    """
    try:
        return path.exists()
    except OSError:
        return False


@contextmanager
def temporary_files() -> Iterator[None]:
    """Name TMPDIR if a temporary file cannot be made or written in the block; raises InputError."""
    try:
        yield
    except OSError as error:
        directory = os.environ.get("TMPDIR", "/tmp")
        with suppress(FileNotFoundError):  # none of Python's choices can be written
            directory = tempfile.gettempdir()
        raise InputError(
            f"The directory of temporary files, {directory}, cannot be used: {error.strerror or error}. "
            "Free some space there, or set TMPDIR to another directory."
        ) from error
