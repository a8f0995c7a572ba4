"""Fetch the files of external benchmark sets, from a directory or from their public homes.

    fetch(EXTERNAL, Path("external"), download())
    fetch(EXTERNAL, Path("external"), copy_from(Path("mine")))     # mine/<set>/<file> or mine/<group>/<set>/<file>

Each file is checked against its pinned SHA-256 before it appears under its name. A file that is already correct stays.
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

from sentence_distillery.evaluation.sets.benchmark import Benchmark, PinnedFile
from sentence_distillery.io.artifacts import atomic_file

TIMEOUT_SECONDS = 10.0
DEADLINE_SECONDS = 120.0
MAXIMUM_BYTES = 64 * 2**20
CHUNK_BYTES = 2**18


class UnavailableError(Exception):
    """A file that a source does not have; the message says why."""


Source = Callable[[Benchmark, PinnedFile], bytes]


@dataclass
class Report:
    """The files of one set: already correct, fetched, wrong or missing, by file name with the reason."""

    name: str
    already: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.wrong and not self.missing

    def line(self) -> str:
        """Describe the set in one line for a person; files with the same reason share it."""
        there = len(self.already) + len(self.fetched)
        state = "complete" if self.complete else "incomplete" if there else "absent"
        counts = f"{len(self.fetched)} fetched, {len(self.already)} already there"
        reasons: dict[str, list[str]] = {}
        for name, reason in (self.wrong | self.missing).items():
            reasons.setdefault(reason, []).append(name)
        problems = "".join(f"; {', '.join(names)}: {reason}" for reason, names in reasons.items())
        return f"{self.name}: {state} ({counts}){problems}"


def copy_from(*directories: Path) -> Source:
    """Return a source that reads <set>/<file> or <group>/<set>/<file> in the first of the directories that has it."""

    def read(entry: Benchmark, file: PinnedFile) -> bytes:
        for folder in (folder for directory in directories for folder in folders(directory, entry.name)):
            try:
                return (folder / file.name).read_bytes()
            except FileNotFoundError:
                continue  # another directory may have it
            except OSError as error:
                raise UnavailableError(f"{folder} cannot be read ({error.strerror})") from error
        raise UnavailableError(f"not in {' or '.join(str(directory / entry.name) for directory in directories)}")

    return read


def folders(directory: Path, name: str) -> list[Path]:
    """List where the folder of a set may be: in a directory, or in one of its folders."""
    return [directory / name, *sorted(directory.glob(f"*/{name}"))]


def download() -> Source:
    """Return a source that downloads from the public homes; a host that cannot be reached is not asked again."""
    unreachable: dict[str, str] = {}

    def read(entry: Benchmark, file: PinnedFile) -> bytes:
        if file.home is None:
            raise UnavailableError("cannot be downloaded, since no public file has these bytes; add it yourself")
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
    """Download `url`, with a second attempt after a failure that may pass.

    Raises OSError or HTTPException if no body comes, UnavailableError if it does not end within the limits.
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
                raise UnavailableError(f"{url} sends more than the {MAXIMUM_BYTES} bytes that are allowed")
            if time.monotonic() > deadline:
                raise UnavailableError(f"{url} was not complete after {DEADLINE_SECONDS:.0f} seconds")
    return bytes(body)


def fetch_set(entry: Benchmark, target: Path, source: Source) -> Report:
    """Fetch each file of `entry` that `target`/<set> lacks; raises InputError if it cannot be written."""
    report = Report(entry.name)
    for file in entry.pins:
        path = target / entry.name / file.name
        held = sha256_of(path.read_bytes()) if path.is_file() else None
        # Already correct: nothing to fetch.
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
                    f"{path} has SHA-256 {held}, expected {file.sha256}, and could not be replaced: {error}"
                )
            continue
        if sha256_of(content) != file.sha256:
            report.wrong[file.name] = (
                f"the download has SHA-256 {sha256_of(content)}, expected {file.sha256}; it was not kept"
            )
            continue
        with atomic_file(path) as partial:
            partial.write_bytes(content)
        report.fetched.append(file.name)
    return report


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetch(sets: Sequence[Benchmark], target: Path, source: Source) -> list[Report]:
    """Fetch the files of external sets to `target`/<set>/<file>, by `download()` or `copy_from(directory, ...)`.

    Raises InputError if a file cannot be written. A report for each set comes back, in order.
    """
    return [fetch_set(entry, target, source) for entry in sets]
