"""Build WORK/NAME/t from a project: its graph, its parameters and its ignore rules, with made-up data."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml.error import YAMLError

from measurements.graphs import stub
from measurements.graphs.children import call, commit_all, environment, must
from measurements.graphs.data import DVC, Data, Imports, make_up
from measurements.graphs.graph import DeclaredStage, GraphError, read_stages
from measurements.graphs.names import Project
from measurements.graphs.rewrite import check_commands, rewritten
from measurements.graphs.source import NESTED, Source, read_source

INFO = "info.json"
FROZEN = "frozen"
LATER = ("dvc.yaml", "dvc.lock", ".gitignore", ".dvcignore", ".gitmodules")  # files that are written after the others


@dataclass
class Building:
    """A repository while it is built."""

    project: Project  # its name and variants
    source: Source  # the project's files
    place: Path  # WORK/NAME
    variables: dict[str, str]  # the environment of git and DVC
    notes: list[str] = field(default_factory=list)  # where it differs from the project
    created: list[str] = field(default_factory=list)  # the made-up inputs, from the top of the git repository

    @property
    def top(self) -> Path:
        """The top of the git repository."""
        return self.place / "t"

    @property
    def root(self) -> Path:
        """The top of the DVC repository."""
        return self.top / self.source.base

    def from_top(self, path: str) -> str:
        """Turn a path from the top of the DVC repository into one from the top of the git repository."""
        return os.path.normpath(os.path.join(self.source.base, path))  # noqa: PTH118 - it can lead out

    def git(self, *words: str | Path) -> str:
        """Call git at the top. Raises ProjectError."""
        return must(["git", *words], self.top, self.variables)

    def dvc(self, *words: str) -> None:
        """Call DVC; if it refuses, its message is a note."""
        ended = call([*DVC, *words], self.root, self.variables)
        if ended.code:
            self.notes.append(f"dvc {words[0]}: {ended.text.strip()[-300:]}")


def build(project: Project, mirror: Path, work: Path) -> dict[str, Any]:
    """Build a project's repository, and return what is in WORK/NAME/info.json for `run`. Raises ProjectError."""
    source, place = read_source(project, mirror), work / project.key
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    here = Building(project, source, place, environment(work, place / "site"))
    stub_file = Path(shutil.copy(stub.__file__, work))
    graphs = dict(_graphs(here, stub_file))
    initialize(here, graphs)
    stages = stages_of(here)
    add_submodules(here, stages)
    for path in graphs:  # DVC adds no data beside a dvc.yaml that it refuses
        (here.top / path).unlink()
    imports = add_data(here, stages)
    write_files(here, graphs)
    if any(source.data()):
        stages = stages_of(here) or stages
    make_inputs(here, stages)
    (place / "spec.json").write_text(json.dumps(dict(spec(here, stages)), indent=1), encoding="utf-8")
    commit_frozen(here, stages)
    commit(here)
    check_commands(stages_of(here), stub_file)
    if "moved" in project.variants:
        imports.move_on()
    if "gone" in project.variants:
        imports.vanish()
    info = {
        "features": source.features(),
        "base": source.base,
        "ignored": ignored(here, stages),
        "notes": here.notes,
        "stages": [asdict(each) for each in stages],
    }
    (place / INFO).write_text(json.dumps(info, indent=1), encoding="utf-8")
    return info


def _graphs(here: Building, stub_file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each dvc.yaml with the stub's commands; one that is not YAML, which DVC refuses, stays as it is."""
    for path, content in here.source.named("dvc.yaml"):
        try:
            yield path, rewritten(content, stub_file, here.place / "spec.json")
        except (YAMLError, UnicodeDecodeError) as error:
            here.notes.append(f"{path}: {str(error)[:200]}")
            yield path, content


def initialize(here: Building, graphs: dict[str, bytes]) -> None:
    """Make the git and the DVC repository with each dvc.yaml and the parameters, but without the ignore rules."""
    here.root.mkdir(parents=True)
    here.git("init", "--quiet")
    must([*DVC, "init", "--quiet", *(["--subdir"] if here.source.base else [])], here.root, here.variables)
    plain = {f"{folder}/{NESTED}": b"" for folder in here.source.nested}
    for path, content in here.source.files.items():
        if Path(path).name not in LATER and not path.endswith(".dvc"):
            plain[path] = content
    _write_all(here, plain | graphs)


def write_files(here: Building, graphs: dict[str, bytes]) -> None:
    """Write the files that come last: each dvc.yaml, the ignore rules, and dvc.lock if it is to stay."""
    names = [".gitignore", ".dvcignore", *(["dvc.lock"] if "lock" in here.project.variants else [])]
    files = {path: content for name in names for path, content in here.source.named(name)}
    for path, content in files.items():
        made = (here.top / path).read_bytes() if (here.top / path).exists() else b""  # by `dvc add`
        new = [line for line in made.splitlines(keepends=True) if line.strip() not in content.split()]
        files[path] = b"\n".join(part for part in (content.rstrip(b"\n"), b"".join(new).rstrip(b"\n")) if part) + b"\n"
    _write_all(here, files | graphs)


def _write_all(here: Building, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        _write(here.top / path, content)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def stages_of(here: Building) -> list[DeclaredStage]:
    """Return the stages as they are now; if DVC refuses the graph, none, and its message is a note."""
    try:
        return read_stages(here.root, here.variables)
    except GraphError as error:
        if (note := f"graph: {error}") not in here.notes:
            here.notes.append(note)
        return []


def read_paths(here: Building, stages: Sequence[DeclaredStage]) -> list[str]:
    """Return the files and directories that stages read, from the top of the git repository; none outside of it."""
    commands = (stage for stage in stages if stage.command)  # an import depends on a path of another repository
    paths = (d.path for stage in commands for d in stage.dependencies if d.local and not d.keys)
    return sorted({path for path in map(here.from_top, paths) if not path.startswith("..")})


def made_paths(here: Building, stages: Sequence[DeclaredStage]) -> set[str]:
    """Return the outputs of stages and of .dvc files, from the top of the git repository."""
    return {here.from_top(out.path) for stage in stages for out in stage.outputs if out.local}


def below(folder: str, paths: Sequence[str]) -> list[str]:
    """Return those paths that are in a directory, from there."""
    return [os.path.relpath(path, folder) for path in paths if path.startswith(f"{folder}/")]


def add_submodules(here: Building, stages: Sequence[DeclaredStage]) -> None:
    """Make a repository for each submodule, with all files that stages read there, and add it."""
    start = f"{here.project.directory}/" if here.project.directory and not here.source.base else ""
    paths = [path.removeprefix(start) for path in here.source.submodules() if path.startswith(start)]
    for number, path in enumerate(paths):
        repository = here.place / "submodules" / str(number)
        make_up(repository, True, f"submodule {path}", below(path, read_paths(here, stages)))
        must(["git", "init", "--quiet"], repository, here.variables)
        commit_all(repository, here.variables, "Made up")
        here.git("submodule", "--quiet", "add", "--force", repository, path)


def add_data(here: Building, stages: Sequence[DeclaredStage]) -> Imports:
    """Make up what .dvc files track, with all files that stages read there; track it, or import it."""
    data = list({each.path: each for each in here.source.data()}.values())
    imported = [each for each in data if each.source and "plain" not in here.project.variants]
    reads = read_paths(here, stages)
    inside = {each.path: below(here.from_top(each.path), reads) for each in data}
    imports = Imports(here.place / "imports", here.variables, inside)
    imports.make(imported)
    refused: list[Data] = []
    for each in imported:
        if message := imports.bring(each, here.root):
            here.notes.append(f"import {each.path}: {message}")
            refused.append(each)
    own = [each for each in data if each not in imported or each in refused]
    for each in own:
        directory = each.directory or bool(inside[each.path])
        make_up(here.root / each.path, directory, f"data {each.path}", inside[each.path])
    if own:
        here.dvc("add", *(each.path for each in own))
    return imports


def make_inputs(here: Building, stages: Sequence[DeclaredStage]) -> None:
    """Make up each input that neither git nor a stage has, and the working directories."""
    made = made_paths(here, stages)
    for path in reversed(read_paths(here, stages)):  # the inner ones first
        place = here.top / path
        if not comes(path, made) and (not place.exists() or (place.is_dir() and not _has_data(place))):
            make_up(place, place.is_dir() or here.source.is_directory(path), f"leaf {path}")
            here.created.append(path)
    for stage in stages:
        folder = here.top / here.from_top(stage.wdir)
        if folder.is_relative_to(here.top) and not folder.exists():
            _write(folder / ".gitkeep", b"")


def comes(path: str, made: set[str]) -> bool:
    """Tell whether a path is an output, in one, or around one."""
    return any(path == out or path.startswith(f"{out}/") or out.startswith(f"{path}/") for out in made)


def _has_data(folder: Path) -> bool:
    return any(file.name not in (".gitkeep", ".gitignore") for file in folder.rglob("*") if file.is_file())


def spec(here: Building, stages: Sequence[DeclaredStage]) -> Iterator[tuple[str, list[str]]]:
    """Yield each output of a command with the files to write in it: none if it is a file."""
    locked = here.source.directories_of_lock()
    paths = [*read_paths(here, stages), *made_paths(here, stages)]
    for stage in stages:
        for out in stage.outputs if stage.command else ():
            names = below(here.from_top(out.path), paths)
            inside = [name if Path(name).suffix else f"{name}/part.txt" for name in names]
            directory = locked.get((stage.directory, stage.short or "", out.written), not Path(out.path).suffix)
            yield out.path, inside or (stub.IN_A_NEW_DIRECTORY if directory else [])


def commit_frozen(here: Building, stages: Sequence[DeclaredStage]) -> None:
    """Make up the outputs of frozen stages, and write them to dvc.lock: DVC never runs these stages."""
    inside = dict(spec(here, stages))
    for stage in stages:
        if stage.frozen and stage.command:
            for out in stage.outputs:
                for name in inside[out.path] or [""]:
                    make_up(here.root / out.path / name, False, FROZEN)
            places = (here.root / d.path for d in stage.dependencies if d.local)
            missing = [place for place in places if not place.exists()]  # an output of a stage that has not run
            for place in missing:
                make_up(place, not place.suffix, FROZEN)
            here.dvc("commit", "--force", stage.name)
            for place in missing:
                shutil.rmtree(place) if place.is_dir() else place.unlink()


def commit(here: Building) -> None:
    """Commit everything, with the files that git tracks in the project although its rules ignore them."""
    tracked = {*here.source.files, *(str(file.relative_to(here.top)) for file in here.top.rglob("*.dvc"))}
    forced = "force" in here.project.variants
    tracked |= {path for path in here.created if forced or here.source.has_data(path)}
    listed = here.place / "tracked"
    present = [path for path in sorted(tracked) if (here.top / path).exists() and Path(path).name != ".dvc"]
    listed.write_bytes("\0".join(present).encode(errors="surrogateescape"))
    here.git("add", "--all")
    if present:
        here.git("add", "--force", f"--pathspec-from-file={listed}", "--pathspec-file-nul")
    here.git("commit", "--quiet", "--allow-empty", "--message", "Made up")


def ignored(here: Building, stages: Sequence[DeclaredStage]) -> list[str]:
    """Return the inputs that are there, but neither in git nor made by a stage: a rule ignores them."""
    made, tracked = made_paths(here, stages), here.git("ls-files", "-z", "--recurse-submodules").split("\0")
    data = [path for path in tracked if Path(path).name not in (".gitkeep", ".gitignore")]
    known = {str(place) for path in data for place in (path, *Path(path).parents)}
    there = (path for path in read_paths(here, stages) if (here.top / path).exists() and not comes(path, made))
    return [path for path in there if path not in known]
