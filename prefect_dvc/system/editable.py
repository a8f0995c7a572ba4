"""Packages that are installed from the workspace itself, by `pip install --editable`.

They lead every import to the workspace, so a run in a directory of its own, or of a commit, would run other code than
it has. PYTHONPATH comes before them.
"""

import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path


def editable_packages(root: Path, directory: Path) -> dict[str, str]:
    """Return PYTHONPATH, by which commands import such packages of the workspace `root` from a run's directory.

    Nothing if no package is installed from the workspace, or if it is where the run works.
    """
    top = root.resolve()
    if directory.resolve() == top:
        return {}
    found = [place.relative_to(top) for place in _places() if place.is_relative_to(top)]
    own = [str(directory / place) for place in dict.fromkeys(found)]
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([*own, *([before] if before else [])])} if own else {}


def _places() -> Iterator[Path]:
    """Yield the directories to which .pth files and the finders of editable packages lead imports."""
    for folder in [*site.getsitepackages(), site.getusersitepackages()]:
        for file in Path(folder).glob("*.pth"):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.strip() and not line.startswith(("import ", "import\t", "#")):
                    yield (Path(folder) / line.strip()).resolve()
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", ""))
        mapping = getattr(module, "MAPPING", None)  # of setuptools: directories of packages by name
        for path in mapping.values() if isinstance(mapping, dict) else ():
            yield Path(path).resolve().parent
