"""Read the version and the licence of each package from the package itself.

Of Debian's packages it is mostly in the machine-readable form of
https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/. Some of these files are prose, and wordfreq names
its code's licence alone. What these say was read by a person, and stands here.
"""

import json
import re
from email.parser import HeaderParser
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from sentence_distillery.io.artifacts import InputError

# Read from the texts of these packages.
PROSE: Final = {
    "digikam-data": "GPL-2+",
    "edict": "EDRDG licence, CC BY-SA 3.0",
    "evolution-common": "LGPL-2 or LGPL-3",
    "inkscape": "GPL; some portions public domain",
    "nautilus-data": "GPL-3+",
    "wesnoth-1.16-data": "GPL-2+",
    "wordfreq": "Apache-2.0; the lists of words CC BY-SA 4.0",
}
ARCHIVE: Final = "archive.txt"  # in the directory of a package: the name of its archive, and its SHA-256
FREEDICT: Final = "dict-freedict-"


class Origin(NamedTuple):
    """Where texts come from: the archive of a package, its SHA-256, and the licence that the package states."""

    archive: str
    sha256: str
    licence: str


def origin(folder: Path) -> Origin:
    """Read the origin of a package from its folder; raises InputError if the package states no licence."""
    archive, sha256 = (folder / ARCHIVE).read_text().split()
    if folder.name in PROSE:
        return Origin(archive, sha256, PROSE[folder.name])
    if archive.endswith(".whl"):
        stated = _of_wheel(next(folder.glob("*.dist-info/METADATA")).read_text())
    elif archive.endswith(".tgz"):
        stated = json.loads((folder / "package/package.json").read_text()).get("license")
    else:
        # Where translations stand in the sources of a package, or a dictionary among the others of FreeDict.
        path = f"{folder.name.removeprefix(FREEDICT)}/x" if folder.name.startswith(FREEDICT) else "po/x.po"
        text = (folder / f"usr/share/doc/{folder.name}/copyright").read_text(errors="replace")
        stated = of_copyright_file(text, path)
    if not stated:
        raise InputError(f"{folder}: the package states no licence that can be read; read its copyright file.")
    return Origin(archive, sha256, stated)


def of_copyright_file(text: str, path: str) -> str | None:
    """Return the licence of a path of a Debian package, that of the last paragraph that matches it, if there is one."""
    found = None
    for paragraph in re.split(r"\n[ \t]*\n", text):
        fields = HeaderParser().parsestr(paragraph)
        if any(fnmatchcase(path, pattern.removeprefix("./")) for pattern in (fields["Files"] or "").split()):
            found = (fields["License"] or "").partition("\n")[0].strip() or None
    return found


def _of_wheel(metadata: str) -> str | None:
    """Return a wheel's licence: its expression, its free text, or the classifier."""
    fields = HeaderParser().parsestr(metadata)
    classifiers = [line for line in fields.get_all("Classifier", []) if line.startswith("License ::")]
    free = (fields["License"] or "").partition("\n")[0]
    return fields["License-Expression"] or free or (classifiers[0].rpartition(":: ")[2] if classifiers else None)
