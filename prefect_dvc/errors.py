"""What ends a command with one line: an error that its user can remedy, or one of DVC or of a remote."""

import difflib
import re
from collections.abc import Sequence

from dvc.exceptions import DvcException

REMEDIES = (
    (r"requires '(dvc-\w+)' to be installed", r"Install it: pip install \1"),
    (r"NoRemoteError|no remote specified", "Name one in this clone: dvc remote add --default NAME ADDRESS"),
    (r"bucket does not exist|NoSuchBucket", "Create it, or correct the address: dvc remote modify NAME url ADDRESS"),
    (
        r"Connection refused|Could not connect|timed out|Name or service not known|No route to host",
        "Start the remote's host or correct the address: dvc remote list",
    ),
)


class Refusal(Exception):  # noqa: N818  it is what a command does
    """A command, a setting or a repository is not as it must be; the message has the reason and the remedy."""


class SettingsError(Refusal):
    """A profile, a key or a value of a run or of flows.yaml is wrong; the message names it, and the nearest one."""


def nearest(word: str, known: Sequence[str], otherwise: str, cutoff: float = 0.6) -> str:
    """Return the end of a message about an unknown word: the known one that it is like, or `otherwise`."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=cutoff)
    return f"did you mean '{near[0]}'?" if near else otherwise


def reasons(error: BaseException) -> str:
    """Return the texts of an error and of those that caused it in one line; of a library's, its kind, too."""
    found: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        text = " ".join(str(cause).split())
        kind = "" if text and (found or isinstance(cause, DvcException)) else f"{type(cause).__name__}: "
        if text not in " ".join(found):
            found.append(f"{kind}{text}")
        cause = cause.__cause__
    line = ": ".join(found)
    for pattern, remedy in REMEDIES:
        if known := re.search(pattern, line):
            return f"{line.rstrip('.')}. {known.expand(remedy)}"
    return line
