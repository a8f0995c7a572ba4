"""A process that halts halfway, so that a test can kill it there on any machine, fast or slow."""

import os
import subprocess
from pathlib import Path

from tests.waiting import wait_until
from tests.workspace import ROOT

# Python imports a module of this name at its start. It stops the process, as a debugger would, before one of the
# operations on files that Python reports. If the process is continued, it waits there for a signal that ends it.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path

EVENT, PLACE, AT = {event!r}, {place!r}, {at!r}
seen = []

def halt(event, arguments):
    if event == EVENT and PLACE in os.fsdecode(arguments[{argument}]):
        seen.append(event)
        if len(seen) == AT:
            Path(__file__).with_name("halted").write_text(f"{{os.getpid()}}\\n")
            os.kill(os.getpid(), signal.SIGSTOP)
            while True:  # a signal that comes just before a sleep does not end it
                time.sleep(0.01)

sys.addaudithook(halt)
"""


def halting(directory: Path) -> dict[str, str]:
    """Return the environment variables that make `clean` halt in a process or in its children.

    It halts at the fifth file that it removes from its partial directory: it has written parts then, and has others to
    write.
    """
    return _halting(directory, "os.remove", 0, "/.sentences.partial/", 5)


def halting_before_file(directory: Path, place: str, number: int) -> dict[str, str]:
    """Return the environment variables that make a process, or its children, halt while it writes a file.

    It halts when it has written a partial file and is about to rename it to a path that contains `place`, for the
    `number`th time, so that `number` - 1 such files, or versions of one file, are complete.
    """
    return _halting(directory, "os.rename", 1, place, number)


def _halting(directory: Path, event: str, argument: int, place: str, at: int) -> dict[str, str]:
    directory.mkdir()
    program = PROGRAM.format(event=event, argument=argument, place=place, at=at)
    (directory / "sitecustomize.py").write_text(program, encoding="utf-8")
    paths = [str(directory), str(ROOT), os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def halted(directory: Path, process: subprocess.Popen[bytes] | None = None) -> int:
    """Wait until it has halted; return its process id. If `process` ends before, it never will."""
    file = directory / "halted"
    wait_until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("\n"), "it is half way", process)
    number = int(file.read_text(encoding="utf-8"))
    wait_until(lambda: Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it has halted")
    return number
