"""One line for an error of a DVC remote, with its remedy: each library of a remote raises errors of its own."""

import re
import socket

REMEDIES = (
    (r"requires '(dvc-\w+)' to be installed", r"Install it: pip install \1"),
    (r"NoRemoteError|no remote specified", "Name one in this clone: dvc remote add --default NAME ADDRESS"),
    (r"bucket does not exist|NoSuchBucket", "Create it, or correct the address: dvc remote modify NAME url ADDRESS"),
    (
        r"Connection refused|Could not connect|timed out|Name or service not known|No route to host",
        "Start the remote's host or correct the address: dvc remote list",
    ),
)


def one_line(error: BaseException) -> str:
    """Return the kind and the text of an error in one line, and the remedy if one is known.

    Args:
        error: Whatever a remote's library has raised.

    Returns:
        A line that names this machine, since both sides of a hand-off use remotes.

    Example:
        >>> one_line(FileNotFoundError("The specified bucket does not exist")).rpartition(": ")[0].partition(" on ")[0]
        'FileNotFoundError'
    """
    text = f"{type(error).__name__} on {socket.gethostname()}: {' '.join(str(error).split())}"
    for pattern, remedy in REMEDIES:
        if found := re.search(pattern, text):
            return f"{text.rstrip('.')}. {found.expand(remedy)}"
    return text
