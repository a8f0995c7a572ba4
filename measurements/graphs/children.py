"""Child processes: their environment, which is the same on every machine, and the time they take."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Timer

CODE = Path(__file__).resolve().parents[2]  # the checkout that holds this file
CLOSED = "http://127.0.0.1:9"  # no request leaves the machine, and each fails at once
OWN = ("PREFECT_", "DISTILLERY_", "DVC_", "GIT_", "XDG_", "PYTHON")

GIT_CONFIG = """\
[init]
    defaultBranch = main
[protocol "file"]
    allow = always
"""  # a submodule's address is a directory here, where it is a server's in the project
DVC_CONFIG = """\
[core]
    analytics = false
    check_update = false
"""


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    code: int  # its exit status; the negative number of a signal
    text: str  # its output and errors
    cpu: float  # seconds of the processor, of it and of its children
    seconds: float  # seconds of the clock
    timeout: bool = False  # whether it was ended because it took too long


class ProjectError(Exception):
    """A project can't be built or run: git has no snapshot, a process failed, or something of it would run."""


def environment(work: Path, site: Path, code: Path = CODE) -> dict[str, str]:
    """Return the variables of a child: a home in `work`, DVC's site cache in `site`, and modules of `code`."""
    home = work / "home"
    for file, text in ((home / ".gitconfig", GIT_CONFIG), (home / ".config/dvc/config", DVC_CONFIG)):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(OWN)}
    author = {f"GIT_{who}_{what}": "graphs@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    proxies = {name: CLOSED for word in ("http_proxy", "https_proxy") for name in (word, word.upper())}
    local = dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1")
    own = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": str(code),
        "PYTHONSAFEPATH": "1",  # no child imports a module of a project
        "HOME": str(home),
        "DVC_SITE_CACHE_DIR": str(site),
        "DVC_NO_ANALYTICS": "1",
        "DO_NOT_TRACK": "1",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
    }
    return kept | author | proxies | local | own


def call(
    command: Sequence[str | Path],
    directory: Path,
    variables: Mapping[str, str],
    *,
    timeout: float = 600,
    log: Path | None = None,
) -> Ended:
    """Run a command; its output goes to `log`, too. After `timeout` seconds it and its children are killed."""
    begun = time.monotonic()
    with log.open("w+b") if log else TemporaryFile() as file:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=directory,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        expired = Event()
        late = Timer(timeout, _kill, [process.pid, expired])
        late.start()
        _, status, usage = os.wait4(process.pid, 0)  # the time of this process alone
        process.returncode = os.waitstatus_to_exitcode(status)
        late.cancel()
        file.seek(0)
        text = file.read().decode(errors="replace")
    cpu = round(usage.ru_utime + usage.ru_stime, 2)
    return Ended(process.returncode, text, cpu, round(time.monotonic() - begun, 2), expired.is_set())


def _kill(group: int, expired: Event) -> None:
    expired.set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(group, number)
        time.sleep(3)


def commit_all(root: Path, variables: Mapping[str, str], message: str, *options: str) -> None:
    """Commit all files of a git repository. Raises ProjectError."""
    must(["git", "add", "--all"], root, variables)
    must(["git", "commit", "--quiet", *options, "--message", message], root, variables)


def must(command: Sequence[str | Path], directory: Path, variables: Mapping[str, str]) -> str:
    """Run a command that has to succeed; return its output. Raises ProjectError with its last lines."""
    ended = call(command, directory, variables)
    if ended.code:
        raise ProjectError(f"{' '.join(map(str, command))} in {directory}: {ended.text.strip()[-1000:]}")
    return ended.text
