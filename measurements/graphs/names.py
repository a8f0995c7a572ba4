"""The names of projects, one a line: `owner/name[@VARIANT[+VARIANT]][::DIRECTORY]`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VARIANTS = frozenset({"plain", "moved", "gone", "force", "lock", "config", "inside"})
LINE = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(@(?P<variants>[\w+]+))?(::(?P<directory>.+))?")


class NamesError(Exception):
    """A line is not a name; the message has the file, the line and the form."""


@dataclass(frozen=True)
class Project:
    """A project and how it is built."""

    repository: str  # `owner/name`
    variants: frozenset[str] = frozenset()  # Words of `VARIANTS`
    directory: str = ""  # the DVC repository inside the git repository, or "" for the top

    @property
    def folder(self) -> str:
        """The name of its folders below MIRROR."""
        return self.repository.replace("/", "+")

    @property
    def key(self) -> str:
        """The name of its folders and files below WORK, such as `owner+name@plain--examples_one`."""
        variants = f"@{'+'.join(sorted(self.variants))}" if self.variants else ""
        directory = f"--{self.directory.replace('/', '_')}" if self.directory else ""
        return f"{self.folder}{variants}{directory}"


def read_names(file: Path) -> Iterator[Project]:
    """Yield the projects of a file; `#` begins a comment. Raises NamesError."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        found = LINE.fullmatch(text)
        variants = frozenset((found["variants"] or "").split("+")) - {""} if found else frozenset()
        if not found or variants - VARIANTS:
            raise NamesError(
                f"{file}:{number}: {text!r} is not owner/name[@VARIANT][::DIRECTORY] with a variant of "
                f"{', '.join(sorted(VARIANTS))}"
            )
        yield Project(f"{found['owner']}/{found['name']}", variants, (found["directory"] or "").strip("/"))
