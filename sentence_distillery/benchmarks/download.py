"""Fill data/external with the benchmark data that the user has, or that its public homes still serve.

    python -m stages.benchmarks.fetch --from DIR     # copy from DIR/<set>/<file>
    python -m stages.benchmarks.fetch                # download

Every file is checked against its pinned SHA-256 before it appears under its name; what is there and right is left
alone. The exit status is 0 when at least one set is complete and no file had a wrong checksum, else 1.
"""

import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sentence_distillery.benchmarks.external import ExternalFile, ExternalSet
from sentence_distillery.io.artifacts import atomic_file

TIMEOUT_SECONDS = 10.0
DEADLINE_SECONDS = 120.0
MAXIMUM_BYTES = 64 * 2**20
CHUNK_BYTES = 2**18


class UnavailableError(Exception):
    """A file that did not come; the message says why."""


Source = Callable[[ExternalSet, ExternalFile], bytes]


@dataclass
class Report:
    """What became of one set, by file name."""

    name: str
    already: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.wrong and not self.missing

    def line(self) -> str:
        """One line for a person; files with the same reason share it."""
        there = len(self.already) + len(self.fetched)
        state = "complete" if self.complete else "incomplete" if there else "absent"
        counts = f"{len(self.fetched)} fetched, {len(self.already)} already there"
        reasons: dict[str, list[str]] = {}
        for name, reason in (self.wrong | self.missing).items():
            reasons.setdefault(reason, []).append(name)
        problems = "".join(f"; {', '.join(names)}: {reason}" for reason, names in reasons.items())
        return f"{self.name}: {state} ({counts}){problems}"


def copy_from(directory: Path) -> Source:
    """Read from `directory`/<set>/<file>."""

    def read(entry: ExternalSet, file: ExternalFile) -> bytes:
        path = directory / entry.name / file.name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise UnavailableError(f"not in {path.parent}") from None
        except OSError as error:
            raise UnavailableError(f"{path.parent} cannot be read ({error.strerror})") from error

    return read


def download() -> Source:
    """Read from the public homes; a host that could not be reached is not asked again."""
    unreachable: dict[str, str] = {}

    def read(entry: ExternalSet, file: ExternalFile) -> bytes:
        if file.home is None:
            raise UnavailableError("must be brought: no public file has these bytes")
        host = urlsplit(file.home).netloc
        if host in unreachable:
            raise UnavailableError(unreachable[host])
        try:
            return _get(file.home)
        except urllib.error.HTTPError as error:
            error.close()
            raise UnavailableError(f"{host} answered {error.code} {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            unreachable[host] = f"{host} could not be reached ({getattr(error, 'reason', error)})"
            raise UnavailableError(unreachable[host]) from error

    return read


def _get(url: str) -> bytes:
    """The body at `url`, asked for once more after a failure that may pass.

    Raises OSError or HTTPException where no body came, UnavailableError where it had no end.
    """
    try:
        return _get_once(url)
    except urllib.error.HTTPError as error:
        if error.code < 500:
            raise
        error.close()
    except (OSError, http.client.HTTPException):
        pass  # the second attempt's error is the one to report
    return _get_once(url)


def _get_once(url: str) -> bytes:
    deadline = time.monotonic() + DEADLINE_SECONDS
    body = bytearray()
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        while chunk := response.read1(CHUNK_BYTES):
            body += chunk
            if len(body) > MAXIMUM_BYTES:
                raise UnavailableError(f"{url} sends more than {MAXIMUM_BYTES} bytes")
            if time.monotonic() > deadline:
                raise UnavailableError(f"{url} had not ended after {DEADLINE_SECONDS:.0f} seconds")
    return bytes(body)


def fetch_set(entry: ExternalSet, target: Path, source: Source) -> Report:
    """Bring each file of `entry` that is not yet right in `target`/<set>; raises InputError where it cannot write."""
    report = Report(entry.name)
    for file in entry.files:
        path = target / entry.name / file.name
        held = sha256_of(path.read_bytes()) if path.is_file() else None
        # Right already: nothing to bring.
        if held == file.sha256:
            report.already.append(file.name)
            continue
        try:
            content = source(entry, file)
        except UnavailableError as error:
            if held is None:
                report.missing[file.name] = str(error)
            else:
                report.wrong[file.name] = (
                    f"{path} has SHA-256 {held}, expected {file.sha256}, and no other came: {error}"
                )
            continue
        if sha256_of(content) != file.sha256:
            report.wrong[file.name] = (
                f"came with SHA-256 {sha256_of(content)}, expected {file.sha256}, and was not kept"
            )
            continue
        with atomic_file(path) as partial:
            partial.write_bytes(content)
        report.fetched.append(file.name)
    return report


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetch(sets: Sequence[ExternalSet], target: Path, source: Source) -> list[Report]:
    """Bring every set and print a line for each, then what to do about the rest."""
    reports = [fetch_set(entry, target, source) for entry in sets]
    for report in reports:
        print(report.line())
    lacking = [report.name for report in reports if not report.complete]
    if lacking:
        print(
            f"To bring {', '.join(lacking)}: put the files into <directory>/<set>/ under the names above and run "
            "`make benchmarks FROM=<directory>`. The pipeline runs without a set that is absent, and says so."
        )
    return reports
