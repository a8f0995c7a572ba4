"""The data that .dvc files track: read from a project's files, made up, and tracked again."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from measurements.graphs.children import call, commit_all, must

DVC = (sys.executable, "-m", "dvc")


@dataclass(frozen=True)
class Data:
    """A file or directory that a .dvc file tracks."""

    path: str  # from the top of the DVC repository
    directory: bool  # whether it is a directory
    repository: str | None = None  # the address of the repository that it is imported from
    source: str | None = None  # its path there, or the address that `dvc import-url` had


def read_data(file: str, content: bytes) -> Iterator[Data]:
    """Yield the data of a .dvc file at `file`; none if it is not one, or is a stage of DVC before 1.0."""
    try:
        found = YAML(typ="safe").load(content.decode())
    except (YAMLError, UnicodeDecodeError):
        return
    if not isinstance(found, dict) or found.get("cmd"):
        return
    dependency: Mapping[str, Any] = next(iter(found.get("deps") or []), {})
    repository = (dependency.get("repo") or {}).get("url")
    folder = os.path.join(os.path.dirname(file), found.get("wdir") or ".")  # noqa: PTH118, PTH120
    for out in found.get("outs") or []:
        path = os.path.normpath(os.path.join(folder, str(out["path"])))  # noqa: PTH118
        if not path.startswith("..") and not os.path.isabs(path) and "://" not in path:  # noqa: PTH117
            yield Data(path, is_directory(out), repository, dependency.get("path"))


def is_directory(out: Mapping[str, Any]) -> bool:
    """Tell whether an output in a dvc.lock or a .dvc file is a directory."""
    return "nfiles" in out or any(str(out.get(kind, "")).endswith(".dir") for kind in ("md5", "etag", "checksum"))


def make_up(place: Path, directory: bool, text: str, inside: Iterable[str] = ()) -> None:
    """Write made-up data; `inside` names files of a directory, from `place`, that somebody reads."""
    if not directory:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n", encoding="utf-8")
        return
    place.mkdir(parents=True, exist_ok=True)
    (place / "leaf.txt").write_text(f"{text}\n", encoding="utf-8")
    for name in inside:
        make_up(place / name, not Path(name).suffix, f"{text}/{name}")


@dataclass
class Imports:
    """Local repositories that stand in for those which a project imports from."""

    place: Path  # the folder of them
    variables: Mapping[str, str]  # the environment of git and DVC
    inside: Mapping[str, Sequence[str]]  # what stages read in a directory that is imported, by its path
    repositories: dict[str, Path] = field(default_factory=dict)  # by the address in the project

    def make(self, data: Sequence[Data]) -> None:
        """Make a repository for each address, with all that is imported from it."""
        for number, address in enumerate(dict.fromkeys(each.repository for each in data if each.repository)):
            root = self.place / str(number)
            root.mkdir(parents=True)
            must(["git", "init", "--quiet"], root, self.variables)
            must([*DVC, "init", "--quiet"], root, self.variables)
            wanted = {each.source: each for each in data if each.repository == address and each.source}
            outer = [path for path in wanted if not any(path.startswith(f"{other}/") for other in wanted)]
            for path in outer:
                below = [os.path.relpath(other, path) for other in wanted if other.startswith(f"{path}/")]
                below += self.inside[wanted[path].path]
                make_up(root / path, wanted[path].directory or bool(below), f"imported {path}", below)
            must([*DVC, "add", "--quiet", *outer], root, self.variables)
            self.repositories[address] = root
            commit_all(root, self.variables, "Data")

    def bring(self, data: Data, root: Path) -> str | None:
        """Import data into the repository `root`; return DVC's message if it refuses."""
        (root / data.path).parent.mkdir(parents=True, exist_ok=True)
        if data.repository and data.source:
            source = str(self.repositories[data.repository])
            words = ["import", source, data.source, "--out", data.path]
        else:
            original = self.place / "urls" / data.path
            inside = self.inside[data.path]
            make_up(original, data.directory or bool(inside), f"downloaded {data.source}", inside)
            words = ["import-url", str(original), data.path]
        ended = call([*DVC, *words, "--quiet"], root, self.variables)
        return ended.text.strip()[-300:] if ended.code else None

    def move_on(self) -> None:
        """Give each repository a newer version of its data."""
        for root in self.repositories.values():
            for pointer in root.rglob("*.dvc"):
                if pointer.is_file():
                    data = pointer.with_suffix("")
                    make_up(data, data.is_dir(), f"newer {pointer.name}")
            must([*DVC, "commit", "--quiet", "--force"], root, self.variables)
            commit_all(root, self.variables, "Newer data")

    def vanish(self) -> None:
        """Move each repository away, as if its server could not be reached."""
        for root in self.repositories.values():
            root.rename(root.with_suffix(".gone"))
