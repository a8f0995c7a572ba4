"""Bring a kept run back to the workspace: its parameters, dvc.lock and reports, and the outputs of its own stages.

Nothing is written before all of it is known to be safe. A file is only replaced or removed if it can be had again: its
content is in DVC's cache or in git, or it is an output that nobody has edited since DVC noted it. Whatever else lies in
the way is named, and the run stays kept.

A kept run notes its outputs in the message of its commit: {"model.bin": {"now": "7d8f...", "was": "09b1...", ...}}
"""

import argparse
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dvc.fs import localfs
from dvc.repo import Repo
from dvc_data.hashfile.hash_info import HashInfo
from dvc_objects.fs.generic import transfer

from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.system.process import held
from prefect_dvc.workspace.contents import LEGACY, MD5, Content, cached, contents, covers, inside, store
from prefect_dvc.workspace.directory import REFS, RUNS
from prefect_dvc.workspace.git import (
    END,
    PLAIN,
    PROGRAM,
    Entry,
    WorkspaceError,
    changed,
    contents_of,
    git,
    has_content,
    ignored,
    paths,
    restore,
    tree,
)
from prefect_dvc.workspace.inputs import add_unseen, copy
from prefect_dvc.workspace.snapshot import commit_of_run, dvc_at_rest, snapshot

NOTHING = "0" * 40  # with mode 0, it takes a path out of an index
SHOWN = 10  # files that an error names


@dataclass(frozen=True)
class Output:
    """An output of a kept run."""

    now: str  # DVC's hash of it
    was: str | None  # that before the run, None if dvc.lock had none
    cached: bool = True  # whether it is in DVC's cache; otherwise git has it, or the directory of the run
    executable: bool = False
    hash_name: str = MD5  # DVC's before version 3 was another


Outputs = Mapping[str, Output]  # by path from the top of the repository


def keep(root: Path, directory: Path, name: str, outputs: Outputs, cached: Sequence[str] = ()) -> str:
    """Commit the run's results (dvc.lock, parameters, reports), tagged prefect-dvc/runs/`name`; return the commit.

    `outputs` are those of its stages; what DVC's cache has, `cached`, does not get into the commit.
    """
    noted = json.dumps({path: asdict(output) for path, output in outputs.items()}, indent=1)
    uncached = [path for path, output in outputs.items() if not output.cached]
    revision = commit_of_run(root, directory, f"Run {name}\n\n{noted}\n", cached, uncached)
    git(root, "update-ref", END, f"{REFS}/{name}", revision)
    return revision


def track_outputs(repo: Repo, root: Path) -> list[str]:
    """Let git in a run's directory track the outputs of DVC's cache that it tracks in the workspace: DVC refuses them.

    The snapshot has others if .gitignore does not name them yet, and lacks those that are deleted. Return the paths of
    all outputs that DVC's cache has.
    """
    directory = Path(repo.root_dir)
    cached = [path for path, out in inside(repo.index.outs, directory) if out.use_cache]
    own, here = (
        {row.split("\t", 1)[1]: row for row in paths(git(place, "ls-files", "--stage", "-z"))}
        for place in (root, directory)
    )
    differing = [path for path in own.keys() ^ here.keys() if any(covers(out, path) for out in cached)]
    rows = [own.get(path) or f"0 {NOTHING}\t{path}" for path in sorted(differing)]
    if rows:
        git(directory, "update-index", "-z", "--index-info", given="\0".join(rows))
    return cached


def unnamed(repo: Repo, root: Path) -> set[str]:
    """Return what lies in a run's directory, and git ignores, and neither a stage nor flows.yaml names."""
    directory, own = Path(repo.root_dir), read_config(root).paths
    outs = [path for path, _ in inside(repo.index.outs, directory)]
    named = [".dvc", *outs, *own.brought, *own.returned, *([own.shared] if own.shared else [])]
    return {each for path in ignored(directory) for each in _unnamed(directory, path, named)}


def _unnamed(directory: Path, path: str, named: Collection[str]) -> Iterator[str]:
    if any(covers(one, path) for one in named) or Path(path).name == "__pycache__":
        return
    if (directory / path).is_symlink() or not any(covers(path, one) for one in named):
        yield path
        return
    with suppress(OSError):  # a command that is still at work may remove it
        for each in (directory / path).iterdir():
            yield from _unnamed(directory, f"{path}/{each.name}", named)


def recorded_outputs(repo: Repo) -> dict[str, str]:
    """Return DVC's hashes of all outputs that dvc.lock and the .dvc files have, by path."""
    outs = inside(repo.index.outs, Path(repo.root_dir))
    return {path: out.hash_info.value for path, out in outs if out.hash_info}


def noted_outputs(repo: Repo, names: Collection[str], before: Mapping[str, str]) -> Outputs:
    """Return the outputs of the stages `names`, as dvc.lock and the .dvc files have them now."""
    found = inside((out for out in repo.index.outs if out.stage.addressing in names), Path(repo.root_dir))
    return {
        path: Output(
            now=out.hash_info.value,
            was=before.get(path),
            cached=bool(out.use_cache),
            executable=bool(out.meta and out.meta.isexec),
            hash_name=out.hash_name,
        )
        for path, out in found
        if out.hash_info
    }


def outputs_of(root: Path, name: str) -> Outputs:
    """Return the outputs that a kept run has noted; raises WorkspaceError if there is no such run, or no note."""
    message = git(root, "log", "-1", "--format=%b", END, f"{REFS}/{name}")
    try:
        return {path: Output(**noted) for path, noted in json.loads(message).items()}
    except (ValueError, TypeError, AttributeError) as error:
        told = f"Run {name} was kept by an earlier version, without a list of its outputs. Its dvc.lock is in its tag:"
        raise WorkspaceError(f"{told} git show {REFS}/{name}:dvc.lock > dvc.lock, then dvc checkout.") from error


def apply_run(root: Path, name: str) -> None:
    """Bring run `name` back to the workspace. Raises WorkspaceError, and changes nothing, if that is not safe."""
    after = git(root, "rev-parse", "--verify", END, f"{REFS}/{name}")
    before = git(root, "rev-parse", "--verify", END, f"{after}^")
    outputs = outputs_of(root, name)
    with held(root / RUNS / "workspace.lock", name, wait=True):  # wait for another run that is brought back
        files = {path for path in changed(root, before, after) if not any(covers(out, path) for out in outputs)}
        files -= _as_they_are(root, after, files)
        _refuse_changed(root, name, files, before, after)
        with dvc_at_rest(root), _directory(root, name, after, outputs) as directory, Repo(str(root)) as repo:
            changes = [_change(repo, directory, path, out) for path, out in outputs.items()]
            _refuse_lost(name, changes)
            _refuse_unsaved(repo, name, changes)
            restore(root, after, files, root)
            if repo.config["core"].get("autostage"):
                _stage(root, files)
            for change in changes:
                _make(repo, directory, change)


@contextmanager
def _directory(root: Path, name: str, revision: str, outputs: Outputs) -> Iterator[Path]:
    """Yield the run's directory; if it is gone, for a while one with the outputs that git has."""
    directory = root / RUNS / name
    if directory.exists():
        yield directory
        return
    uncached = [path for path, output in outputs.items() if not output.cached]
    in_git = [path for path in tree(root, revision) if any(covers(out, path) for out in uncached)]
    ignoring = [path for path in tree(root, revision) if Path(path).name == ".dvcignore"]  # they count in hashes
    try:
        (directory / ".dvc").mkdir(parents=True)
        restore(root, revision, [*in_git, *ignoring], directory)
        yield directory
    finally:
        shutil.rmtree(directory)


def _stage(root: Path, files: Iterable[str]) -> None:
    """Add the files that DVC writes to the index, as it does with core.autostage."""
    own = [file for file in files if Path(file).name in (".gitignore", "dvc.lock") or file.endswith(".dvc")]
    git(root, "update-index", "--add", "--remove", "-z", "--stdin", given="\0".join(own))


def _as_they_are(root: Path, revision: str, files: Iterable[str]) -> set[str]:
    """Return those that the workspace has, byte for byte, as a commit has them."""
    there = tree(root, revision)
    plain = [file for file in files if (root / file).is_file() and not (root / file).is_symlink()]
    modes = {file: PROGRAM if os.access(root / file, os.X_OK) else PLAIN for file in plain}
    return {file for file, name in contents_of(root, plain).items() if there.get(file) == Entry(modes[file], name)}


def _refuse_changed(root: Path, name: str, files: set[str], before: str, after: str) -> None:
    """Refuse if the workspace has changed a file of the run since, and not to the run's own content."""
    now = snapshot(root)
    touched = files & changed(root, before, now) & changed(root, after, now)
    unknown = [path for path in files - tree(root, now).keys() if (root / path).is_file()]
    touched |= {path for path in unknown if not has_content(root, path)}
    if touched:
        raise WorkspaceError(
            f"The workspace has changed {', '.join(sorted(touched))} since run {name} began. Commit or move the "
            f"changes, then bring the run back: prefect-dvc apply {name}"
        )


@dataclass
class _Change:
    """What is to be done to one output of the workspace: files by name below `path`, "" of a file."""

    path: Path
    output: Output
    target: Content | None  # None if it is not to be had any more
    source: Path | None  # in the run's directory; None if the files come from DVC's cache
    write: list[str] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)  # hashes of the files that are there now, and would go
    made: Path | None = None  # the directory in that of the run, which has more than DVC sees; None if it is gone


def _change(repo: Repo, directory: Path, path: str, output: Output) -> _Change:
    place = Path(repo.root_dir) / path
    now = Content() if place.is_symlink() and not place.is_dir() else contents(repo, place, output.hash_name)
    target, source = cached(repo, output.now, output.hash_name), None
    if target is None and now.total == output.now:  # it is there, and DVC's cache has lost it
        target = now
    if target is None and not output.cached and (directory / path).exists():
        # The workspace's own .dvcignore leaves out all that lies below .dvc. A link may lead nowhere by now.
        found = Content()
        with suppress(OSError), Repo(str(directory), config={"core": {"no_scm": True}}) as run:
            found = contents(run, directory / path, output.hash_name)
        target, source = (found, directory / path) if found.total == output.now else (None, None)
    if target is None:
        return _Change(place, output, None, None)
    write = [name for name, oid in target.files.items() if now.files.get(name) != oid]
    additional = [name for name in now.files if name not in target.files]
    another_kind = ("" in now.files) != ("" in target.files)
    remove = additional if output.now != output.was or another_kind else []  # or they may stay beside the others
    edited = output.cached or now.total != output.was
    replaced = {name: oid for name, oid in now.files.items() if edited and (name in write or name in remove)}
    made = directory / path if (directory / path).is_dir() and "" not in target.files else None
    return _Change(place, output, target, source, write, remove, replaced, made)


def _refuse_lost(name: str, changes: Iterable[_Change]) -> None:
    lost = [str(change.path) for change in changes if change.target is None]
    if lost:
        raise WorkspaceError(
            f"Outputs of run {name} are not to be had any more: {shown(lost)}. If a DVC remote has them, `dvc fetch` "
            "brings them; otherwise run again."
        )


def _refuse_unsaved(repo: Repo, name: str, changes: Iterable[_Change]) -> None:
    """Refuse to replace a file that is in neither DVC's cache nor git."""
    root = Path(repo.root_dir)
    files = [(change.path / file, oid) for change in changes for file, oid in change.replaced.items()]
    unsaved = [str(file.relative_to(root)) for file, oid in files if not _is_saved(repo, root, file, oid)]
    if unsaved:
        raise WorkspaceError(
            f"Run {name} would replace files of which neither DVC's cache nor git has a copy: {shown(unsaved)}. Move "
            f"them elsewhere, or `git add` them, then bring the run back: prefect-dvc apply {name}"
        )


def _is_saved(repo: Repo, root: Path, file: Path, oid: str) -> bool:
    path = file.relative_to(root).as_posix()
    return any(store(repo, kind).exists(oid) for kind in (MD5, LEGACY)) or has_content(root, path)


def shown(names: Sequence[str]) -> str:
    return ", ".join([*names[:SHOWN], *[f"and {len(names) - SHOWN} more"] * (len(names) > SHOWN)])


def _make(repo: Repo, directory: Path, change: _Change) -> None:
    """Write the files of an output that differ, and remove those that it does not have any more."""
    assert change.target is not None
    root = Path(repo.root_dir)
    if change.path.is_symlink() and not change.path.is_dir() and change.write:  # one to a directory elsewhere stays
        change.path.unlink()
    for name in change.remove:
        (change.path / name).unlink()
    if "" not in change.target.files and not change.path.is_dir():
        change.path.mkdir(parents=True)
    for name in change.write:
        file = change.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir() and not any(each.is_file() for each in file.rglob("*")):
            shutil.rmtree(file)
        file.unlink(missing_ok=True)
        if change.source is not None:
            copy(directory, root, file.relative_to(root))
        else:
            objects = store(repo, change.output.hash_name)
            stored = objects.oid_to_path(change.target.files[name])
            kinds = repo.cache.local.cache_types if change.output.cached else ["copy"]  # git has the others
            transfer(objects.fs, stored, localfs, str(file), links=kinds)
        repo.state.save(str(file), localfs, HashInfo(change.output.hash_name, change.target.files[name]))
    if change.output.executable:
        change.path.chmod(change.path.stat().st_mode | 0o111)
    if change.made is not None:
        add_unseen(directory, root, change.path.relative_to(root).as_posix(), change.target.files)


def main() -> None:
    parser = argparse.ArgumentParser(description="Bring a kept run back to the workspace.")
    parser.add_argument("name", help=f"name of a kept run: `git for-each-ref {REFS}` lists them")
    apply_run(Path.cwd(), parser.parse_args().name)
