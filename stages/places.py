"""Errors of a place: a disk that is full or read-only, too few file handles; and standard streams that are closed.

Each names the path that failed, which is not always the file that a stage was about to write.
"""

import errno
import os
import sys

_REMEDIES = {
    errno.ENOSPC: "Free some space there, or use another disk",
    errno.EDQUOT: "Free some space there, or ask for a larger quota",
    errno.EFBIG: "Raise the limit of a file's size (`ulimit -f`)",
    errno.EROFS: "Mount it writable, or use another directory",
    errno.EACCES: "Make it readable and writable for this user",
    errno.EPERM: "Make it readable and writable for this user",
    errno.EMFILE: "Raise the limit of open files (`ulimit -n 1024`)",
    errno.ENFILE: "End some programs: the machine has no file handle left",
    errno.EEXIST: "Remove it: a directory must be there",
    errno.ENOTDIR: "Remove it: a directory must be there",
    errno.EIO: "Check the disk: it cannot be read or written",
    errno.ENAMETOOLONG: "Use a directory with a shorter path",
}


def of_a_place(error: OSError) -> str | None:
    """Describe an error that the place has caused, with path and remedy; None if the error is of another kind.

    >>> of_a_place(OSError(errno.ENOSPC, "No space left on device", "/data/x"))
    '/data/x: No space left on device. Free some space there, or use another disk.'
    """
    remedy = _REMEDIES.get(error.errno or 0)
    if remedy is None:
        return None
    path = error.filename if isinstance(error.filename, str) else os.fspath(error.filename or "a file without a name")
    return f"{path}: {error.strerror}. {remedy}."


def open_standard_streams() -> None:
    """Replace streams that are closed by the null device.

    Else the next file that is opened becomes standard error, and messages of libraries go into that file.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  # for the whole process
