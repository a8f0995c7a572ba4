"""The files of the workspace in a run's directory, so that each stage reads the bytes that `dvc repro` would read.

    in git                                   copied; of a run of a commit, git has it
    tracked by DVC, as the .dvc file says    DVC takes it out of its cache
    tracked by DVC, and edited since         copied; DVC hashes it there, and updates the .dvc file, as `dvc repro` does
    ignored by git, wholly or in part        copied
    in a submodule, or a repository inside   copied, without its .git
    a link that leads out of the repository  made again, so that it leads to the same place
    an absolute link into the repository     made again, so that it leads into the directory of the run
    outside, by a relative path              refused: the directory of a run lies elsewhere

Copied, not linked: what a stage does to a file in its run must not happen to the user's.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dvc.repo import Repo

from prefect_dvc.settings.graph_files import parameter_files
from prefect_dvc.workspace.contents import contents, covers, files, inside, is_beyond, overlaps, recorded
from prefect_dvc.workspace.git import (
    LINK,
    REPOSITORY,
    WorkspaceError,
    git,
    ignored,
    paths,
    repositories_inside,
    tree,
)

SHARE_BYTES = 0x40049409  # ioctl FICLONE
UPWARDS = re.compile(r"(?<![\w./~-])(?:\.\./)+[\w.@+-][^\s'\"`;|&<>()$*?]*")  # a word of a command, as ../data/in.csv
LARGE = 100 * 10**6  # bytes; a copy of more is worth a hint
GIT = ".git"  # of a submodule or a repository in the workspace
Log = Callable[[str], None]


def bring_tracked(root: Path, directory: Path) -> None:
    """Copy the files that git has in the run's commit; those that the workspace lacks, as in a sparse one, are left."""
    git(directory, "read-tree", "HEAD")
    for path, entry in tree(directory, "HEAD").items():
        if entry.mode == REPOSITORY:
            (directory / path).mkdir(parents=True, exist_ok=True)
        elif (root / path).is_symlink() or (root / path).is_file():
            copy(root, directory, path)


def bring_repositories(root: Path, directory: Path) -> None:
    """Fill submodules and repositories inside from the workspace, and mend the links that would lead elsewhere."""
    for path in repositories_inside(root):
        _copy_all(root, directory, path, lambda file: file.name == GIT)
    for path, entry in tree(directory, "HEAD").items():
        if entry.mode == REPOSITORY:
            _copy_all(root, directory, path, lambda file: file.name == GIT)
        elif entry.mode == LINK and (directory / path).is_symlink():
            mended = _mended(root, directory, path, (directory / path).readlink())
            (directory / path).unlink()
            (directory / path).symlink_to(mended)


def bring_parameter_files(root: Path, directory: Path) -> None:
    """Copy what DVC needs to read the graph, if git ignores it: params.yaml, the files of `vars`, and .dvcignore."""
    ignores = [path for path in ignored(root) if Path(path).name == ".dvcignore"]
    for path in [*parameter_files(directory), *ignores]:
        if (root / path).is_file() and not (directory / path).exists():
            copy(root, directory, path)


def bring_links(repo: Repo, root: Path) -> None:
    """Make the links over which paths of stages lead, if git ignores them; DVC would make directories there."""
    top = Path(repo.root_dir)
    named = [path for node in repo.index.stages for path, _ in inside([*node.deps, *node.outs], top)]
    for folder in sorted({parent for path in named for parent in Path(path).parents}):
        if (root / folder).is_symlink() and not os.path.lexists(top / folder):
            copy(root, top, folder)


def bring_inputs(repo: Repo, stages: Sequence[Any], workspace: Repo, log: Log, *, edited: bool = True) -> None:
    """Copy what the stages of a run read, and git and DVC's cache do not have, from the workspace.

    `repo` is that of the run's directory. With `edited`, data that the workspace has edited replaces that of the .dvc
    files. Raises WorkspaceError if an input lies outside of the repository, or could not be had.
    """
    top, root = Path(repo.root_dir), Path(workspace.root_dir)
    _refuse_outside(stages, root, top)
    made = {path for node in stages for path, out in inside(node.outs, top) if _is_made(node, out)}
    wanted = _wanted(stages, made, top, root)
    _bring_ignored(wanted, made, root, top, log)
    if edited:
        _bring_edited(stages, _others(repo, stages, wanted, top), workspace, top, log)
    _make_places(stages, wanted, root, top)
    read = {path for node in stages for path, _ in inside(node.deps, top)}
    missing = sorted(path for path in read if (root / path).exists() and not (top / path).exists())
    if missing := [path for path in missing if not overlaps(path, made)]:
        raise WorkspaceError(
            f"The workspace has {', '.join(missing)}, which a stage reads, but neither git nor DVC has it, and it "
            "could not be copied: `dvc add` it, or name it under paths.brought in flows.yaml."
        )


def _others(repo: Repo, stages: Sequence[Any], wanted: set[str], top: Path) -> list[Any]:
    """Return the stages that are not in the run but have data that it reads: by a link, which DVC does not follow."""
    own = {node.addressing for node in stages}
    others = [node for node in repo.index.stages if node.addressing not in own]
    return [node for node in others if any(overlaps(path, wanted) for path, _ in inside(node.outs, top))]


def _is_made(node: Any, out: Any) -> bool:
    """Return whether DVC brings an output: one that a command makes from nothing and that the cache has."""
    return bool(node.cmd and not node.frozen and out.use_cache and not out.persist)


def _refuse_outside(stages: Sequence[Any], root: Path, top: Path) -> None:
    """Refuse stages that name what lies beside the repository: from a run's directory, the path leads elsewhere."""
    for node in stages:
        named = files([*node.deps, *node.outs])
        entries = [one.def_path for one in named if not Path(one.fs_path).is_relative_to(top)]
        written = node.outs if node.cmd and not node.frozen else []
        entries += [one.def_path for path, one in inside(written, top) if _writes_beyond(root, path, one)]
        entries += [path for path in _notes(node, top) if is_beyond(top, f"{path}/any")]  # DVC would write there
        if own := [path for path in entries if Path(path).is_absolute() and Path(path).is_relative_to(root)]:
            raise WorkspaceError(
                f"Stage '{node.addressing}' has {own[0]}, an absolute path into the repository: in a run it leads to "
                f"the workspace. Write {Path(own[0]).relative_to(root)} in dvc.yaml, from the directory of the stage."
            )
        outside = [path for path in entries if not Path(path).is_absolute()]
        lines = node.cmd if isinstance(node.cmd, list) else [node.cmd or ""]
        place = root / Path(node.wdir).relative_to(top) if Path(node.wdir).is_relative_to(top) else None
        for word in UPWARDS.findall(" ".join(lines)) if place is not None else ():
            path = Path(os.path.normpath(place / word))
            outside += [word] * (not path.is_relative_to(root) and path.exists())
        if outside:
            raise WorkspaceError(
                f"Stage '{node.addressing}' has {outside[0]}, which lies outside of the repository. The directory of a "
                "run lies elsewhere, so write an absolute path in dvc.yaml, or run in the workspace itself: "
                "prefect-dvc run --here"
            )


def _notes(node: Any, top: Path) -> list[str]:
    """Return the files in which DVC notes a stage: dvc.lock or its .dvc file, and .gitignore."""
    file = Path(node.path)
    noted = [file if file.suffix == ".dvc" else file.with_suffix(".lock")]
    noted += [Path(out.fs_path).parent / ".gitignore" for out in files(node.outs) if out.use_cache]
    return [each.relative_to(top).as_posix() for each in noted if each.is_relative_to(top)]


def _writes_beyond(root: Path, path: str, out: Any) -> bool:
    """Return whether a command writes an output beyond a link that leads out; one that persists may be such a link."""
    kept = out.persist and not (out.use_cache and (root / path).is_file())  # DVC makes a copy of what its cache has
    return is_beyond(root, f"{path}/any" if kept else path)


def _wanted(stages: Sequence[Any], made: set[str], top: Path, root: Path) -> set[str]:
    """Return the paths that the stages read and DVC does not make, with those to which links in them lead."""
    found = {path for node in stages for path, _ in inside(node.deps, top)}
    found |= {path for node in stages for path, out in inside(node.outs, top) if not _is_made(node, out)}
    links = [path for path, entry in tree(top, "HEAD").items() if entry.mode == LINK]
    while True:
        followed = found | {link for link in links if overlaps(link, found)}
        followed |= {target for path in followed if (target := _target(root, path)) is not None}
        if followed == found:
            return {path for path in found if not any(covers(one, path) for one in made)}
        found = followed


def _target(root: Path, path: str) -> str | None:
    """Return the next place in the workspace to which a path leads over links."""
    place = root / path
    target = _leads_to(place.parent, place.readlink() if place.is_symlink() else Path(place.name))
    return target.relative_to(root.resolve()).as_posix() if target.is_relative_to(root.resolve()) else None


def _leads_to(folder: Path, link: Path) -> Path:
    """Return the place to which a link in a folder leads; there may be a link again."""
    target = Path(os.path.realpath(folder)) / link
    return Path(os.path.normpath(Path(os.path.realpath(target.parent)) / target.name))


def _bring_ignored(wanted: set[str], made: set[str], root: Path, top: Path, log: Log) -> None:
    """Copy the files below the paths that git ignores, but not what DVC makes."""
    copied = dict[str, list[int]]()  # sizes of files by the path of the input
    around = {parent.as_posix() for path in wanted for parent in Path(path).parents} | wanted

    def skip(file: Path) -> bool:
        return file.name == GIT or file == root / ".dvc" or file.relative_to(root).as_posix() in made

    for entry in ignored(root):
        inside = [parent for parent in [entry, *(p.as_posix() for p in Path(entry).parents)] if parent in wanted]
        places = [entry] if inside else [path for path in wanted if path.startswith(f"{entry}/")] * (entry in around)
        for place in sorted(places):
            if sizes := _copy_all(root, top, place, skip):
                copied[place] = sizes
    if every := [size for sizes in copied.values() for size in sizes]:
        hint = ". To have it linked instead, name it under paths.brought in flows.yaml" * (sum(every) > LARGE)
        log(
            f"Copied from the workspace, since git ignores it: {', '.join(copied)} ({len(every)} files, "
            f"{sum(every) / 1e6:,.1f} MB){hint}."
        )


def _bring_edited(stages: Sequence[Any], others: Sequence[Any], workspace: Repo, top: Path, log: Log) -> None:
    """Replace the data of .dvc files, of frozen stages and of others than those of the run, by that of the workspace.

    Of what a command has made, a directory that was edited since is left out, so that the run finds it changed; so is
    what git tracks, if it was edited or deleted, since DVC refuses to save it again.
    """
    root = Path(workspace.root_dir)
    files_of_git = [Path(path) for path in paths(git(top, "ls-files", "-z"))]
    tracked = {place.as_posix() for file in files_of_git for place in (file, *file.parents)}
    for node, own in [*((node, True) for node in stages), *((node, False) for node in others)]:
        for path, out in inside(node.outs, top):
            made = own and _is_made(node, out)
            there = (root / path).exists() or (made and path in tracked)
            if not out.use_cache or not there or is_beyond(top, path):
                continue
            if made and path not in tracked and not _has_more(root / path, top / path):
                continue
            before, now = recorded(out), contents(workspace, root / path, out.hash_name)
            same = before.total == now.total
            if not made:
                if not same or not (top / path).exists():  # otherwise DVC has brought it
                    _replace(before.files, now.files, root, path, top)
                if not same:
                    log(f"{path} is not as {node.addressing} says: the run reads that of the workspace.")
            elif not same:  # the run restores it or makes it again, as `dvc repro` does
                remove(top / path)
                continue
            add_unseen(root, top, path, now.files)


def _has_more(source: Path, target: Path) -> bool:
    """Return whether an output may have what DVC does not see: of a file, only that it is executable."""
    executable = source.is_file() and os.access(source, os.X_OK) and not os.access(target, os.X_OK)
    return (source.is_dir() and target.is_dir()) or (executable and target.is_file())


def _replace(before: Mapping[str, str], now: Mapping[str, str], root: Path, path: str, top: Path) -> None:
    """Give a path in the run its content in the workspace; files of equal hashes stay."""
    source, target = root / path, top / path
    if target.is_symlink():  # to the user's own files
        target.unlink()
    for name in before.keys() - now.keys() if target.exists() else ():
        remove(target / name)
    for name, oid in now.items():
        if before.get(name) != oid or not (target / name).exists():
            copy(root, top, Path(path) / name)
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)


def add_unseen(root: Path, top: Path, path: str, files: Iterable[str]) -> None:
    """Give data what DVC does not see in it: links to directories, empty ones, and that a file is executable.

    A file in the place of a link stays, and a directory with files. `files` are those that DVC sees, "" for a path
    that is a file itself. An executable one is no hard link: DVC makes the object of its cache plain again.
    """
    for folder, names, there in os.walk(root / path):
        place = Path(folder).relative_to(root)
        if not names and not there and not os.path.lexists(top / place):
            (top / place).mkdir(parents=True)
        for name in names:
            taken = top / place / name
            if (root / place / name).is_symlink() and (taken.is_symlink() or not _has_files(taken)):
                copy(root, top, place / name)
    for name in files:
        given, got = root / path / name, top / path / name
        if os.access(given, os.X_OK) and not (os.access(got, os.X_OK) and got.stat().st_nlink == 1):
            copy(root, top, Path(path) / name)


def _has_files(place: Path) -> bool:
    return place.is_file() or any(each.is_file() or each.is_symlink() for each in place.rglob("*"))


def _make_places(stages: Sequence[Any], wanted: Iterable[str], root: Path, top: Path) -> None:
    """Make the directories that the workspace has and git does not; a `wdir` that only DVC's checkout has made goes."""
    for node in stages:
        place = Path(node.wdir)
        made = place.is_dir() and place.is_relative_to(top) and not (root / place.relative_to(top)).exists()
        if made and not _has_files(place):
            shutil.rmtree(place)
    places = {Path(node.wdir) for node in stages}
    places |= {Path(entry.fs_path) for node in stages for entry in files(node.deps)}
    places |= {Path(out.fs_path).parent for node in stages for out in files(node.outs)}
    places |= {top / path for path in wanted if not (root / path).is_symlink()}
    for place in places:
        if place.is_relative_to(top) and (root / place.relative_to(top)).is_dir():
            Path(os.path.realpath(place)).mkdir(parents=True, exist_ok=True)  # git may lack what a link leads to


def _copy_all(root: Path, top: Path, path: str | Path, skip: Callable[[Path], bool]) -> list[int]:
    """Copy a file of the workspace, or all files of a directory, that the run lacks; return their sizes."""
    source, target = root / path, top / path
    if skip(source):
        return []
    if source.is_symlink() or not source.is_dir():
        if os.path.lexists(target) or not (source.is_symlink() or source.is_file()):
            return []  # there already; or a pipe or a socket, which no stage can read again
        copy(root, top, path)
        return [0 if source.is_symlink() else source.stat().st_size]
    target.mkdir(parents=True, exist_ok=True)
    inside = (each.relative_to(root) for each in sorted(source.iterdir()))
    return [size for each in inside for size in _copy_all(root, top, each, skip)]


def copy(root: Path, top: Path, path: str | Path) -> None:
    """Copy a file of the workspace to its place in the run, or back, with its times and its mode; a link as a link."""
    source, target = root / path, top / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.parent.samefile(source.parent):  # over a link
        return
    remove(target)
    if source.is_symlink():
        target.symlink_to(_mended(root, top, path, source.readlink()))
        return
    with source.open("rb") as given, target.open("wb") as taken:
        try:
            fcntl.ioctl(taken.fileno(), SHARE_BYTES, given.fileno())
        except OSError:  # not on this file system
            shutil.copyfileobj(given, taken, 2**20)
    shutil.copystat(source, target)


def _mended(root: Path, top: Path, path: str | Path, link: Path) -> Path:
    """Return the link to be made at `path` below `top`, in place of one at `path` below `root`.

    It leads to the same place of its own tree; out of the tree, and to what DVC or git has there, to the very same.
    """
    real, place = root.resolve(), _leads_to((root / path).parent, link)
    if not place.is_relative_to(real) or place.relative_to(real).parts[:1] in ((GIT,), (".dvc",)):
        return link if link.is_absolute() else Path(os.path.realpath(place))
    stays = not link.is_absolute() and Path(os.path.normpath((top / path).parent / link)).is_relative_to(top)
    return link if stays else top / place.relative_to(real)


def remove(place: Path) -> None:
    """Remove a file, a link, or a directory with all that is in it, if there is one."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
