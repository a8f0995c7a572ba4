"""The directory of temporary files, and the error if it is full."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from sentence_distillery.io.errors import InputError


@contextmanager
def temporary_files() -> Iterator[None]:
    """Name TMPDIR if a temporary file cannot be made or written in the block; raises InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"The directory of temporary files, {temporary_directory()}, cannot be used: {error.strerror or error}. "
            "Free some space there, or set TMPDIR to another directory."
        ) from error


def temporary_directory() -> str:
    """Return where temporary files go: TMPDIR, or the place that Python would choose."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # none of its choices can be written
        return os.environ.get("TMPDIR", "/tmp")  # only named in a message
