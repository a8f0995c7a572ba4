"""The end of a process together with the program that started it."""

import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import cast

SHELLS = {"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"}


def end_with_caller() -> None:
    """Have this process get SIGTERM when the program that started it ends (on Linux; elsewhere nothing).

    A shell in between does not count. It can outlive the program, as the shell does in which DVC runs a command: bash
    becomes the command, but dash, the `sh` of Debian, starts it as a child.
    """
    if sys.platform != "linux":
        return
    try:  # here, not in the thread: once the program has ended, its shell is the child of another
        caller = _caller(os.getppid())
        watched = os.pidfd_open(caller) if caller else None
    except (FileNotFoundError, ProcessLookupError):
        _end()  # it has ended already
        return
    if watched is not None:  # else it is outside this container
        threading.Thread(target=_end_after, args=(watched,), daemon=True).start()


def _end_after(process: int) -> None:
    """Wait until the process of a file descriptor has ended, then end this one."""
    select.select([process], [], [])
    _end()


def _end() -> None:
    """End this process as `kill` does.

    The signal goes to the main thread, which handles it, so that it interrupts a call in which that thread waits.
    """
    signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGTERM)


def _caller(process: int) -> int:
    """Return the first of a process and its ancestors that is not a shell; 0 if there is none in this container."""
    while process:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        name, _, rest = text.partition("(")[2].rpartition(")")
        if name not in SHELLS:
            break
        process = int(rest.split()[1])
    return process
