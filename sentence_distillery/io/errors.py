"""The error for wrong input of a user, or for a damaged output of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

Place = Literal["python", "command line", "params.yaml"]

RESTORE = "Restore or rebuild it."
POINTER = b"version https://git-lfs.github.com/spec/"  # begins what a clone without Git LFS has in place of a file
LARGEST_POINTER = 1024  # bytes
LONGEST_REASON = 300  # characters


class InputError(Exception):
    """Something that the user gave is wrong; the message has the value, the file and the remedy.

    `path` is the file or directory to restore or rebuild, if that is the remedy.
    """

    def __init__(self, message: str = "", path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


_given_in: list[Place] = ["python"]  # the last one counts; of the process, since threads raise errors, too


@contextmanager
def options_from(place: Place) -> Iterator[None]:
    """Let messages name options as the user of `place` typed them, until the block ends."""
    _given_in.append(place)
    try:
        yield
    finally:
        _given_in.pop()


def option(python: str, command_line: str = "", params: str = "") -> str:
    """Name an option as the user typed it, in the place that `options_from` says.

    `python` is the argument of a function; an option of a command and a key in params.yaml have that name, too, unless
    another one is given.

    >>> with options_from("command line"):
    ...     print(option("text_column"), option("distill(clean=False)", "--no-clean"))
    --text-column --no-clean
    """
    match _given_in[-1]:
        case "command line":
            return command_line or f"--{python.replace('_', '-')}"
        case "params.yaml":
            return params or python
        case _:
            return python


def setting(name: str, value: object, command_line: str = "") -> str:
    """Return an option and its value: `epochs = 0`, or `--epochs 0` on the command line; arguments as of `option`."""
    between = " " if _given_in[-1] == "command line" else " = "
    return f"{option(name, command_line)}{between}{value}"


def refuse_pointer(path: Path) -> None:
    """Raise InputError for a pointer of Git LFS; whatever else a path is passes."""
    if path.is_file() and path.stat().st_size <= LARGEST_POINTER:
        with suppress(OSError), path.open("rb") as file:
            if file.read(len(POINTER)) == POINTER:
                raise InputError(f"{path} is a pointer of Git LFS, not the file itself; `git lfs pull` fetches that.")


def one_line(reason: object, longest: int = LONGEST_REASON) -> str:
    """Return what another library or a user's function says, in one line that ends without a full stop.

    >>> one_line(ValueError("two\\n  lines.")), one_line("a long story", longest=6)
    ('two lines', 'a long…')
    """
    text = " ".join(str(reason).split())
    return text.rstrip(".") if len(text) <= longest else f"{text[:longest]}…"


def unreadable(path: Path, reason: object) -> InputError:
    """Return the error to raise for a file that cannot be read."""
    return InputError(f"{path} cannot be read: {one_line(reason)}. {RESTORE}", path)
