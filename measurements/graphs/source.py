"""The files of a public project that a built repository needs, read from its newest commit."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from measurements.graphs.data import Data, is_directory, read_data
from measurements.graphs.names import Project
from measurements.graphs.snapshot import Blob, blobs, contents, git_directory

ALWAYS = ("dvc.yaml", "dvc.lock", ".gitignore", ".dvcignore", ".gitmodules", ".gitkeep")
SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".py", ".cfg", ".ini")  # of parameters, and of small sources
LARGEST = 65_536  # bytes of a file with one of these suffixes
MOST = 900  # such files; a project with more has data in git
SIGNS = (".gitkeep", ".gitignore", "README.md")  # a directory with nothing else has no data in git
WORDS = ("foreach:", "matrix:", "vars:", "wdir:", "frozen:", "always_changed:", "artifacts:", "plots:", "metrics:")
MORE_WORDS = ("persist:", "cache: false", "push: false", "datasets:", "desc:", "https://")
NESTED = ".dvc/config"


@dataclass(frozen=True)
class Source:
    """The files of a project, by their path in the built repository."""

    tree: frozenset[str]  # all of them
    files: Mapping[str, bytes]  # the content of those that are kept
    base: str = ""  # the directory of the DVC repository, or ""

    @cached_property
    def _with_data(self) -> frozenset[str]:
        files = (path for path in self.tree if Path(path).name not in SIGNS)
        return frozenset(str(place) for path in files for place in (path, *Path(path).parents))

    def has_data(self, path: str) -> bool:
        """Tell whether git has a file at `path`, or a directory with more than a sign that it should exist."""
        return path in self._with_data

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(str(parent) for path in self.tree for parent in Path(path).parents)

    def is_directory(self, path: str) -> bool:
        """Tell whether a path is a directory in git; one that git does not have is one if it has no suffix."""
        return path in self._folders or (path not in self.tree and not Path(path).suffix)

    def named(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the saved files of a name, such as dvc.yaml, with their content."""
        yield from ((path, content) for path, content in self.files.items() if Path(path).name == name)

    def data(self) -> Iterator[Data]:
        """Yield what the .dvc files of the DVC repository track, by the path from its top."""
        for path, content in self.files.items():
            if path.endswith(".dvc") and self._is_own(path):
                yield from read_data(os.path.relpath(path, self.base or "."), content)

    @cached_property
    def nested(self) -> list[str]:
        """The directories that are DVC repositories of their own, which DVC leaves out."""
        own = f"{self.base}/{NESTED}".lstrip("/")
        return [path.removesuffix(f"/{NESTED}") for path in self.tree if path.endswith(f"/{NESTED}") and path != own]

    def _is_own(self, path: str) -> bool:
        nested = tuple(f"{folder}/" for folder in self.nested)
        return path.startswith(f"{self.base}/".lstrip("/")) and not path.startswith(nested)

    def submodules(self) -> list[str]:
        """Return the paths of the submodules."""
        text = self.files.get(".gitmodules", b"").decode(errors="replace")
        return re.findall(r"^\s*path\s*=\s*(\S.*?)\s*$", text, re.MULTILINE)

    def directories_of_lock(self) -> dict[tuple[str, str, str], bool]:
        """Tell of each output in a dvc.lock, by its directory, stage and path, whether it is a directory."""
        found = {}
        for path, content in self.named("dvc.lock"):
            folder = os.path.relpath(Path(path).parent, self.base or ".")
            for stage, entry in _stages(content).items():
                for out in (entry.get("outs") or []) if isinstance(entry, dict) else []:
                    found[folder, str(stage), str(out.get("path"))] = is_directory(out)
        return found

    def features(self) -> str:
        """Name what dvc.yaml and the repository use, such as `foreach, wdir, 3 dvc.yaml, 2 imports`."""
        graphs = [content for path, content in self.named("dvc.yaml") if self._is_own(path)]
        text = "".join(content.decode(errors="replace") for content in graphs)
        data = list(self.data())
        several, imports = len(graphs) if len(graphs) > 1 else 0, sum(1 for each in data if each.source)
        counted = {"dvc.yaml": several, ".dvc": len(data), "imports": imports, "submodules": len(self.submodules())}
        words = [word.strip(":") for word in (*WORDS, *MORE_WORDS) if word in text]
        return ", ".join(words + [f"{number} {kind}" for kind, number in counted.items() if number])


def _stages(content: bytes) -> dict[str, Any]:
    try:
        lock = YAML(typ="safe").load(content.decode())
    except (YAMLError, UnicodeDecodeError):
        return {}
    stages = lock.get("stages", lock) if isinstance(lock, dict) else {}  # the first form of the file had no `stages`
    return stages if isinstance(stages, dict) else {}


def read_source(project: Project, mirror: Path) -> Source:
    """Read a project from the mirror. Raises ProjectError."""
    repository = git_directory(mirror / project.folder)
    inside = "inside" in project.variants
    start = f"{project.directory}/" if project.directory and not inside else ""
    found = {blob.path.removeprefix(start): blob for blob in blobs(repository) if blob.path.startswith(start)}
    wanted = dict(_wanted(found.items()))
    if "config" in project.variants and NESTED in found:
        wanted[NESTED] = found[NESTED]
    by_path = contents(repository, wanted.values())
    files = {path: by_path[blob.path] for path, blob in wanted.items() if blob.path in by_path}
    return Source(frozenset(found), files, project.directory if inside else "")


def _wanted(found: Iterable[tuple[str, Blob]]) -> Iterator[tuple[str, Blob]]:
    small = 0
    for path, blob in found:
        *folders, name = Path(path).parts
        if ".dvc" in folders or ".github" in folders:
            continue
        if name in ALWAYS or name.endswith(".dvc"):
            yield path, blob
        elif path.endswith(SUFFIXES) and blob.size <= LARGEST and small < MOST:
            small += 1
            yield path, blob
