"""A stage that halts halfway, so that a test can kill it there on any machine, fast or slow."""

import os
import re
import signal
from pathlib import Path

from tests.waiting import wait_until

# Python imports a module of this name at its start. It stops the process, as a debugger would, at the fifth file that
# `clean` removes from its partial directory: it has written parts then, and has others to write.
PROGRAM = """
import os, signal, sys
from pathlib import Path

removed = []

def halt(event, arguments):
    if event == "os.remove" and "/.sentences.partial/" in os.fsdecode(arguments[0]):
        removed.append(event)
        if len(removed) == 5:
            Path(__file__).with_name("halted").write_text(f"{os.getpid()}\\n")
            os.kill(os.getpid(), signal.SIGSTOP)

sys.addaudithook(halt)
"""


def halting(directory: Path) -> dict[str, str]:
    """Return the environment variables that make `clean` halt in a process or in its children."""
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(PROGRAM, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])}


def halted(directory: Path) -> int:
    """Wait until it has halted; return its process id."""
    file = directory / "halted"
    wait_until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("\n"), "clean has come half way")
    process = int(file.read_text(encoding="utf-8"))
    wait_until(lambda: Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it has halted")
    return process


def told(process: int) -> None:
    """Wait until the system has told the process, which has halted, to end: SIGTERM waits for it to go on."""
    bit = 1 << (signal.SIGTERM - 1)

    def pending() -> bool:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        return any(int(mask, 16) & bit for mask in re.findall(r"(?:SigPnd|ShdPnd):\s*(\w+)", status))

    wait_until(pending, f"process {process} has been told to end")
