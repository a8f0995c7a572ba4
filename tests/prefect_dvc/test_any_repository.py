"""Any repository: a run does what `dvc repro` does in a copy of it, and nothing of the user's is lost.

    case ──build──> workspace ──copy──> `dvc repro`     the reference
                        └─────────────> prefect-dvc     the same bytes; or one reason, and nothing has changed

GRAPH_EXAMPLES is the number of repositories.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, event, given, note, settings

from .conftest import git
from .forked import Done, dvc_command, prefect_dvc
from .repositories import Case, Tree, build, cached, cases, copy, edit, of_git, tree

EXAMPLES = int(os.environ.get("GRAPH_EXAMPLES", "25"))
WRITTEN = re.compile(r"(.*/)?(dvc\.lock|\.gitignore)|.*\.dvc|params\.yaml")  # by DVC, or by --set


@dataclass(frozen=True)
class Seen:
    """A case, before and after its command, and the reference."""

    case: Case
    base: Path
    past: Tree  # after the user's last run
    before: Tree
    saved: set[bytes]  # the contents that DVC's cache or git had before the command
    outside: Tree  # what lies around the workspace
    git_before: dict[str, str]
    git_reference: dict[str, str]
    expected: Done  # of `dvc repro`
    done: Done
    run: Path | None  # the run's own directory
    names: list[str]  # of the stages of the run, as its summary says; none if it failed, or with --here
    meanwhile: set[str]  # paths that the user has changed between the run and `apply NAME`

    @property
    def root(self) -> Path:
        return self.base / "world/workspace"

    @property
    def reference(self) -> Path:
        return self.base / "reference/workspace"

    @property
    def outs(self) -> list[str]:
        return list(self.case.outs().values())


def _tree(case: Case, root: Path) -> Tree:
    return _plain(case, tree(root))


def _plain(case: Case, found: Tree) -> Tree:
    """With hard links, a file has the mode of its object in DVC's cache, which DVC makes plain again."""
    if case.cache_type != "hardlink":
        return found
    return {path: ("file" if kind == "program" else kind, content) for path, (kind, content) in found.items()}


def _saved(root: Path, found: Tree) -> set[bytes]:
    """The contents that DVC's cache, the index or HEAD has: the snapshot of a run is no copy that the user has made."""
    contents = {entry[1] for entry in found.values() if entry[0] in ("file", "program")}
    in_git = git(root, "ls-files", "--stage") + git(root, "ls-tree", "-r", "HEAD")
    return {content for content in contents if cached(root, content).exists() or _name_in_git(content) in in_git}


def _name_in_git(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def see(case: Case, template: Path, base: Path) -> Seen:
    """Build a case; run `dvc repro` in a copy of it that stands in its place, and then the command of prefect-dvc."""
    world, root = base / "world", base / "world/workspace"
    past = _plain(case, build(case, template / "world", world))
    before, outside, git_before = _tree(case, root), tree(world / "outside"), of_git(root)
    saved = _saved(root, before)
    copy(world, base / "copy")
    world.rename(base / "away")  # absolute links, and paths in git's files, lead to `world`
    (base / "copy").rename(world)
    expected = _reproduce(case, root, base / "site")
    git_reference = of_git(root)
    world.rename(base / "reference")
    (base / "away").rename(world)
    runs, meanwhile = root / ".dvc/tmp/runs", set[str]()
    known = set(runs.glob("2*.lock"))
    (base / "once").mkdir()
    done = prefect_dvc(root, *case.words(), FAILS_ONCE=str(base / "once") if case.fails_once else "")
    names = _summary(done.out) if done.status == 0 and not case.here else []
    run = next((lock.with_suffix("") for lock in runs.glob("2*.lock") if lock not in known), None)
    if case.mode == "later" and done.status == 0 and run is not None:
        edit(case.meanwhile, root)
        now, outside, git_before = _tree(case, root), tree(world / "outside"), of_git(root)
        meanwhile = {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
        if case.meanwhile:  # without an edit, only the run's snapshot is new in git
            saved |= _saved(root, now)
        before, done = now, prefect_dvc(root, "apply", run.name)
    return Seen(
        case, base, past, before, saved, outside, git_before, git_reference, expected, done, run, names, meanwhile
    )


def _reproduce(case: Case, root: Path, site: Path) -> Done:
    if case.set:
        text = (root / "params.yaml").read_text(encoding="utf-8")
        (root / "params.yaml").write_text(re.sub("k: .*", "k: 7", text), encoding="utf-8")
    words = ["repro", case.target or "--all-pipelines", *["--force"] * case.force]
    return dvc_command(root, *words, DVC_SITE_CACHE_DIR=str(site))


def _summary(text: str) -> list[str]:
    """The names in the last line of a run, such as `Cached: a; Ran: b, c`."""
    parts = re.findall(r"[A-Z][A-Za-z ]+: (.*?)(?:; |$)", text.strip().splitlines()[-1])
    return [name for part in parts for name in part.split(", ")]


# What a run refuses, and `dvc repro` does not


def _is_outside(seen: Seen) -> bool:
    """The directory of a run lies elsewhere, so a relative path out of the repository would be another."""
    told = ("lies outside of the repository", "an absolute path into the repository")
    return not seen.case.here and any(text in seen.done.err for text in told)


def _is_unsaved(seen: Seen) -> bool:
    """`dvc repro` overwrites a file that neither DVC's cache nor git has; --apply does not."""
    after = _tree(seen.case, seen.reference)
    return "neither DVC's cache nor git has a copy" in seen.done.err and any(
        entry != after.get(path) and _within(path, seen.outs) and entry[1] not in seen.saved
        for path, entry in seen.before.items()
    )


def _is_ignored(seen: Seen) -> bool:
    """A run keeps its parameters in git."""
    return seen.case.set and seen.case.ignored_params and "git ignores params.yaml" in seen.done.err


def _is_late(seen: Seen) -> bool:
    """What the user has done since the run began is not overwritten; a link of an output may lead nowhere now."""
    told = ("has changed", "are not to be had any more")
    return bool(seen.meanwhile) and any(text in seen.done.err for text in told)


# What `dvc repro` refuses, and a run does not


def _is_checked_out(seen: Seen) -> bool:
    """In a fresh clone the data of .dvc files is only in the cache, and a run takes it from there."""
    return "missing data 'source'" in seen.expected.err and not seen.case.here


LOCKS = ["dvc.lock", "sub/dvc.lock"]
REFUSED = (_is_outside, _is_unsaved, _is_ignored, _is_late)
ALLOWED = (_is_checked_out,)


def problems(seen: Seen) -> list[str]:
    """Everything that is wrong."""
    case, done, after = seen.case, seen.done, _tree(seen.case, seen.root)
    writes = done.status == 0 and case.mode != "only"
    outside, now = tree(seen.reference.parent / "outside"), tree(seen.root.parent / "outside")
    if not case.here and not (writes and now == outside):  # an output may lie beyond a directory that is a link
        outside = seen.outside
    index, indexed = seen.git_before, of_git(seen.root)
    if case.autostage and (writes or case.here):  # DVC's own files are added
        if case.meanwhile or done.status:  # and the user's; or those of the stages that ended before the failure
            index, indexed = _without_own(index), _without_own(indexed)
        else:
            index = seen.git_reference
    found = changes("outside", outside, now)
    found += changes("git", index, indexed)
    if done.status and not case.here:
        found += changes("refused, but", seen.before, after)
    if done.status and (done.status != 1 or not done.err.startswith("prefect-dvc ") or "Traceback" in done.err):
        found.append("it gives no reason")
    if bool(done.status) != bool(seen.expected.status):
        if not any(limit(seen) for limit in (REFUSED if done.status else ALLOWED)):
            found.append("one refuses, the other does not")
    elif writes:
        found += _of_applied(seen, after)
    elif not done.status:
        found += changes("not applied, but", seen.before, after)
    if not found and not done.status and not seen.expected.status and seen.run is not None:
        found += _of_directory(seen, seen.run)
    return found


def _without_own(found: dict[str, str]) -> dict[str, str]:
    """What git has, but for the entries of the index that DVC adds."""
    return {name: value for name, value in found.items() if not WRITTEN.fullmatch(name.removeprefix("index: "))}


def changes(what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Every difference, in a line."""
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return [f"{what}: {path}: {before.get(path)} -> {after.get(path)}" for path in paths]


def _of_applied(seen: Seen, after: Tree) -> list[str]:
    """What is wrong in the workspace: it is as after `dvc repro`, but for files beside outputs, and links."""
    here, reference = seen.case.here, _tree(seen.case, seen.reference)
    but = {path for path in {*reference, *after} if _within(path, _links(seen))} | seen.meanwhile
    for path, entry in seen.before.items():
        # What is as it should be stays as it is: files beside those of an output; in a directory, of which DVC does
        # not note which files are executable, those that `dvc repro` restores without that; one that it makes a link,
        # or that the user has made one.
        file = seen.root / path
        content = file.read_bytes() if entry[0] == "link" and file.is_file() else entry[1]
        untouched = path not in reference or _followed(reference[path]) == ("file", content)
        if _within(path, seen.outs) and untouched and after.get(path) == entry and not here:
            but.add(path)
    found = changes("dvc repro", _files(reference, but), _files(after, but))
    return found if here else found + _lost(seen, after)


def _links(seen: Seen) -> list[str]:
    """Outputs that are links: `dvc repro` leaves and counts what is in the directory that one leads to."""
    links = [out for out in seen.outs if seen.before.get(out, ("",))[0] == "link" and not seen.case.here]
    return links + LOCKS * bool(links)


def _lost(seen: Seen, after: Tree) -> list[str]:
    """The user's files that are gone: all but outputs, and outputs that nobody else has."""
    uncached = [out for stage in seen.case.stages if stage.cache for out in stage.names.values()]
    found = []
    for path, entry in seen.before.items():
        if after.get(path) != entry and entry[0] in ("file", "program"):
            noted = seen.past.get(path) == entry and _within(path, uncached)
            output = _within(path, seen.outs) and (noted or entry[1] in seen.saved)
            if not output and not WRITTEN.fullmatch(path):
                found.append(f"lost: {path}: {entry}")
    return found


def _of_directory(seen: Seen, run: Path) -> list[str]:
    """What is wrong in the run's own directory: the outputs of its stages, and dvc.lock."""
    places = [out for name, out in seen.case.outs().items() if name in seen.names] + LOCKS
    reference, there = (
        {
            path: _followed(entry)
            for path, entry in _files(_tree(seen.case, root), set()).items()
            if _within(path, places) and not _within(path, _links(seen)) and Path(path).name != ".git"
        }
        for root in (seen.reference, run)
    )
    return changes("the run's own directory", reference, there)


def _followed(entry: tuple[str, bytes]) -> tuple[str, bytes]:
    """A link to DVC's cache is the file: data that was there before `cache.type` was set is no link.

    So is one to what the user has moved elsewhere, of which a run has a copy.
    """
    linked = entry[0] == "link" and (b".dvc/cache/" in entry[1] or b"/outside/kept " in entry[1])
    file = Path(os.fsdecode(entry[1]))
    return ("file", file.read_bytes()) if linked and file.is_file() else entry


def _within(path: str, places: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in places)


def _files(found: Tree, but: set[str]) -> Tree:
    return {path: entry for path, entry in found.items() if entry[0] != "folder" and path not in but}


@given(case=cases())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_repository(case: Case, template: Path) -> None:
    """faults 46, 47: the bytes of `dvc repro`, or a reason; nothing of the user's is lost."""
    with tempfile.TemporaryDirectory(dir=template) as base:
        seen = see(case, template, Path(base))
        event(f"{case.mode}: {'refused' if seen.done.status else 'done'}")
        note(f"dvc repro: {seen.expected}\nprefect-dvc: {seen.done}")
        assert not problems(seen)
