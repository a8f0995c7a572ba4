"""The error for wrong input of a user, or for a damaged output of a run."""

from pathlib import Path

RESTORE = "Restore or rebuild it."


class InputError(Exception):
    """Something that the user gave is wrong; the message has the value, the file and the remedy.

    `path` is the file or directory to restore or rebuild, if that is the remedy.
    """

    def __init__(self, message: str = "", path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


def unreadable(path: Path, reason: object) -> InputError:
    """Return the error to raise for a file that cannot be read."""
    return InputError(f"{path} cannot be read: {reason}. {RESTORE}", path)
