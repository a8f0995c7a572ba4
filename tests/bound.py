"""Processes that end with pytest, however that ends."""

import sys

PROGRAM = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG; it stays when another program is loaded
os.execvp(sys.argv[1], sys.argv[1:])
"""


def bound(command: list[str]) -> list[str]:
    """Return a command that becomes `command`, with SIGTERM when the thread that has started it ends."""
    return [sys.executable, "-c", PROGRAM, *command]
