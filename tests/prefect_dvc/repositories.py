"""Random small repositories with everything that git and DVC allow in one, and that a user does in it.

A case is data that can be read: its inputs (`Leaf`), its stages, what the user did, and the command of prefect-dvc.
"""

import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from .conftest import git, write_yaml
from .forked import dvc_command, import_all, prefect_dvc

Tree = dict[str, tuple[str, bytes]]  # kind and content, by path

JOIN = """\
# sh join.sh file|append|folder|many|tools OUT WORDS -- INPUTS: the words, and names and texts of all their files
if [ "$FAILS_ONCE" ] && mkdir "$FAILS_ONCE/$(echo "$*" | cksum | tr ' ' -)" 2> /dev/null; then exit 1; fi
how=$1 out=$2 words=; shift 2
while [ "$1" != -- ]; do words="$words $1"; shift; done
shift
tell() {
  echo "$words"
  for each; do
    case $each in /*) ;; *) each=./$each ;; esac
    [ -f "$each" ] && [ -x "$each" ] && echo executable
    find -L "$each" -name .git -prune -o -type f -print | LC_ALL=C sort | while IFS= read -r file; do
      [ -x "$file" ] && echo executable
      echo "$file"; cat "$file"
    done
  done
}
case $how in
  file) mkdir -p "$(dirname "$out")"; tell "$@" > "$out" ;;
  append) mkdir -p "$(dirname "$out")"; tell "$@" >> "$out" ;;
  *) mkdir -p "$out/deep"; tell "$@" > "$out/f1" ;;
esac
[ "$how" != tools ] || { chmod +x "$out/f1"; ln -sfn deep "$out/link"; mkdir -p "$out/none/empty"; }
[ "$how" != many ] || { echo 2 > "$out/f2"; echo "$words" > "$out/deep/f3"; }
"""
GITCONFIG = """\
[user]
name = Test
email = test@localhost
[init]
defaultBranch = main
templateDir =
[protocol "file"]
allow = always
"""
NAMES = ("a{}.csv", "b {}.csv", "ü{}.csv", "-{}.csv", "[x]{}.csv", "#{}'.csv")
FILES = ("tracked", "ignored", "added", "imported", "untracked", "staged", "forced")
FOLDERS = ("tracked", "ignored", "partly", "added", "submodule", "nested", "nested without commit", "empty")
LINKS = ("link", "ignored link", "absolute link")
OUTSIDE = {"../outside/far.csv": False, "../outside/far": True}  # whether it is a directory
LATE = ("untracked", "staged", "nested", "nested without commit")  # made after the commit
PARAMS = {"params.yaml": "k", "conf/p.json": "p", "conf/v.yaml": "v"}  # files, and the key of each
HOMES = ("", "wdir", "below")
ATTRIBUTES = ("", "* text=auto\n", "*.csv text eol=crlf\n", "*.csv -text\n")
EDITS = ("write", "new file", "delete", "stage", "uncache", "link", "set", "commit", "unlock", "mode", "assume", "skip")


@dataclass(frozen=True)
class Leaf:
    """An input that no stage makes."""

    kind: str
    path: str
    folder: bool = False
    executable: bool = False
    target: str = ""  # of a link

    def places(self) -> list[str]:
        """What a stage may read of it."""
        inside = [f"{self.path}/a.txt", f"{self.path}/b"] if self.folder and self.kind != "empty" else []
        return [self.path, *inside, *_around(self.path)]


@dataclass(frozen=True)
class Stage:
    """A stage that joins its inputs."""

    name: str
    deps: tuple[str, ...]  # a path that begins with a slash is below the directory around the repository
    out: str
    how: str = "file"
    persist: bool = False
    cache: str = ""  # or tracked, or ignored: by git, and not in the cache
    section: str = "outs"
    home: str = ""  # or wdir, or below: in sub/dvc.yaml
    each: str = ""  # or foreach, or matrix
    param: str = ""
    frozen: bool = False
    always: bool = False

    @property
    def names(self) -> dict[str, str]:
        """Its names for DVC, and the output of each."""
        start = "sub/dvc.yaml:" * (self.home == "below") + self.name
        return {f"{start}@{x}": f"{self.out}-{x}" for x in "xy"} if self.each else {start: self.out}

    def places(self) -> list[str]:
        """What a stage may read of it."""
        inside = [f"{out}/f1" for out in self.names.values()] * (self.how not in ("file", "append"))
        return [*self.names.values(), *inside, *_around(self.out)]

    def entry(self, world: Path, retries: int) -> dict[str, Any]:
        """Its entry of dvc.yaml; `world` is the directory around the repository."""
        up, key = "../" * bool(self.home), PARAMS.get(self.param, "")
        out = up + self.out + {"": "", "foreach": "-${item}", "matrix": "-${item.v}"}[self.each]
        deps = [f"{world}{dep}" if dep.startswith("/") else up + dep for dep in self.deps]
        values, files = [f"${{{key}}}"] * (key in ("k", "v")), [up + self.param] * (key == "p")
        words = ["sh", f"{up}join.sh", self.how, out, self.name, *values, "--", *deps, *files]
        flags = ({"persist": True} if self.persist else {}) | ({"cache": False} if self.cache else {})
        optional = {
            "deps": deps,
            "params": [{up + self.param: [key]}] if key else [],
            "wdir": "sub" if self.home == "wdir" else "",
            "frozen": self.frozen,
            "always_changed": self.always,
            "meta": {"retries": retries} if retries else {},
        }
        body: dict[str, Any] = {"cmd": shlex.join(words), self.section: [{out: flags} if flags else out]}
        body |= {name: value for name, value in optional.items() if value}
        if self.each == "foreach":
            return {"foreach": ["x", "y"], "do": body}
        return {"matrix": {"v": ["x", "y"]}, **body} if self.each else body


@dataclass(frozen=True)
class Case:
    """A repository, its past, and a command."""

    leaves: tuple[Leaf, ...]
    stages: tuple[Stage, ...]  # in the order of dvc.yaml
    past: str = ""  # or what the user ran before: repro, run
    committed: bool = False
    edits: tuple[tuple[str, str], ...] = ()
    mode: str = "apply"  # or only; later: `apply NAME` after it; here
    meanwhile: tuple[tuple[str, str], ...] = ()  # edits before `apply NAME`
    parallel: int = 1
    target: str = ""
    set: bool = False
    force: bool = False
    fails_once: bool = False  # each command, in the first of two attempts
    ignored_params: bool = False
    autostage: bool = False
    cache_type: str = ""
    attributes: str = ""

    @property
    def here(self) -> bool:
        return self.mode == "here"

    def words(self) -> list[str]:
        """The words of prefect-dvc."""
        given = [f"--{self.mode}"] * (self.mode in ("apply", "here")) + ["--target", self.target] * bool(self.target)
        changes = ["--force"] * self.force + ["--set", "k=7"] * self.set
        return ["run", *given, *changes, "--parallel", str(self.parallel)]

    def outs(self) -> dict[str, str]:
        """All outputs, by the names of their stages; the data of .dvc files, too."""
        data = {f"{leaf.path}.dvc": leaf.path for leaf in self.leaves if leaf.kind in ("added", "imported")}
        return data | {name: out for stage in self.stages for name, out in stage.names.items()}


def _around(path: str) -> list[str]:
    return [str(parent) for parent in Path(path).parents][:-1]


def _some(*values: str, usual: int = 4) -> st.SearchStrategy[str]:
    """One of the values; the first, which is the plainest, more often."""
    return st.sampled_from([values[0]] * usual + list(values[1:]))


def _rarely() -> st.SearchStrategy[bool]:
    return st.sampled_from([False] * 7 + [True])


@st.composite
def _leaves(draw: st.DrawFn, number: int, others: Sequence[Leaf]) -> Leaf:
    path = draw(_some("", "in/", "in/deep/", usual=2)) + draw(_some(*NAMES)).format(number)
    folder = draw(st.booleans())
    if draw(st.integers(0, 3)) == 3:
        targets = OUTSIDE | {other.path: other.folder for other in others}
        target = draw(st.sampled_from(sorted(targets)))
        return Leaf(draw(st.sampled_from(LINKS)), path, targets[target], target=target)
    kind = draw(st.sampled_from(FOLDERS if folder else FILES))
    path += "/far.csv" * (kind == "imported")  # its .dvc file has a checksum of its name
    path = path.replace("-", "=") if kind == "submodule" else path  # git refuses the hyphen
    return Leaf(kind, path, folder, executable=not folder and draw(_rarely()))


@st.composite
def _stages(draw: st.DrawFn, number: int, places: Sequence[str]) -> Stage:
    how = draw(_some("file", "append", "folder", "many", "tools", usual=2))
    out = draw(_some("", "gen/", "in/", usual=2)) + f"s{number}"
    deps = [place for place in places if place not in _around(out)]
    return Stage(
        name=f"s{number}",
        deps=tuple(draw(st.lists(st.sampled_from(deps), max_size=3, unique=True))) if deps else (),
        out=out,
        how=how,
        persist=how == "append" or draw(_rarely()),
        cache=draw(_some("", "tracked", "ignored", usual=6)),
        section=draw(_some("outs", "metrics")) if how == "file" else "outs",
        home=draw(_some(*HOMES)),
        each=draw(_some("", "foreach", "matrix", usual=6)),
        param=draw(_some("", *PARAMS)),
        frozen=draw(_rarely()),
        always=draw(_rarely()),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case."""
    leaves: list[Leaf] = []
    for number in range(draw(st.integers(1, 4))):
        leaves.append(draw(_leaves(number, leaves)))
    places = [place for leaf in leaves for place in leaf.places()]
    far = [*OUTSIDE, "/outside/far.csv", "/outside/far", *(f"/workspace/{leaf.path}" for leaf in leaves)]
    places += draw(st.sampled_from([[]] * 9 + [far]))
    stages: list[Stage] = []
    for number in range(draw(st.integers(1, 6))):
        stages.append(draw(_stages(number, sorted(set(places)))))
        places += stages[-1].places() * 2
    targets = [name for stage in stages for name in stage.names]
    targets += [stage.name for stage in stages if stage.each and stage.home != "below"]
    edits = st.tuples(st.sampled_from(EDITS), st.sampled_from(sorted(set(places))))
    mode = draw(st.sampled_from(["apply", "apply", "later", "only", "here"]))
    return Case(
        leaves=tuple(leaves),
        stages=tuple(draw(st.permutations(stages))),
        past=draw(st.sampled_from(["", "repro", "repro", "run"])),
        committed=draw(st.booleans()),
        edits=tuple(draw(st.lists(edits, max_size=3))),
        mode=mode,
        meanwhile=tuple(draw(st.lists(edits, max_size=2))) if mode == "later" else (),
        parallel=draw(st.integers(1, 3)),
        target=draw(st.sampled_from(["", *targets])),
        set=mode != "here" and draw(_rarely()),
        force=draw(_rarely()),
        fails_once=draw(st.sampled_from([False] * 3 + [True])),
        ignored_params=draw(_rarely()),
        autostage=draw(_rarely()),
        cache_type=draw(_some("", "hardlink", "symlink", usual=8)),
        attributes=draw(_some(*ATTRIBUTES, usual=6)),
    )


def make_template(world: Path) -> None:
    """Make a directory with an empty workspace, and with what lies around it; import DVC."""
    root, source = world / "workspace", world / "source"
    for name in ("workspace", "library", "source"):
        (world / name).mkdir(parents=True)
        git(world / name, "init", "--quiet")
    for folder in (world / "outside/far", world / "library"):
        _fill(folder)
    _write(world / "outside/far.csv", "far\n")
    _write(source / "far.csv", "imported\n")
    _write(root / "join.sh", JOIN)
    _write(root / "sub/.keep", "")
    for place, words in (source, ["init"]), (source, ["add", "far.csv"]), (root, ["init"]):
        dvc_command(place, *words)
    for place in (world / "library", source):
        _commit(place)
    dvc_command(root, "import", "../source", "far.csv")
    (root / "far.csv.dvc").rename(world / "far.csv.dvc")
    for name in ("far.csv", ".gitignore"):
        (root / name).unlink()
    _commit(root)
    warm = copy(world, world.with_name("warm")) / "workspace"
    _write(warm / "dvc.yaml", "stages: {warm: {cmd: 'echo 1 > warm', outs: [warm]}}")
    import_all(warm)


def copy(source: Path, target: Path) -> Path:
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    return target


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def _commit(root: Path) -> None:
    """Commit everything, unless git cannot: a repository without a commit may lie inside."""
    with suppress(subprocess.CalledProcessError):
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "State")


def _fill(folder: Path) -> None:
    _write(folder / "a.txt", f"{folder.name}\n")
    _write(folder / "b/c.txt", "c\n")


def build(case: Case, template: Path, world: Path) -> Tree:
    """Make the workspace of a case in `world`, a copy of `template`; return what the user's last run has left."""
    root = copy(template, world) / "workspace"
    ignored = [line for leaf in case.leaves for line in _ignore_lines(leaf)]
    ignored += [f"/{stage.out}*" for stage in case.stages if stage.cache == "ignored"]
    ignored += ["/params.yaml", "/conf"] * case.ignored_params
    _write(root / ".gitignore", "".join(f"{line}\n" for line in ignored))
    if case.attributes:
        _write(root / ".gitattributes", case.attributes)
    for file, key in PARAMS.items():
        _write(root / file, f'{{"{key}": 1}}\n' if file.endswith("json") else f"{key}: 1\n")
    for leaf in case.leaves:
        if leaf.kind not in LATE:
            _put(leaf, root)
    commands = [["config", "core.autostage", "true"]] * case.autostage
    commands += [["config", "cache.type", case.cache_type]] * bool(case.cache_type)
    commands += [["add", f"./{leaf.path}"] for leaf in case.leaves if leaf.kind == "added"]
    for words in commands:
        assert (done := dvc_command(root, *words)).status == 0, done.err
    _write_stages(case, root)
    git(root, "add", "--force", "--", "dvc.yaml", *(leaf.path for leaf in case.leaves if leaf.kind == "forced"))
    _commit(root)
    for leaf in case.leaves:
        if leaf.kind in LATE:
            _put(leaf, root)
    if case.past:
        dvc_command(root, "repro", "--all-pipelines") if case.past == "repro" else prefect_dvc(root, "run", "--apply")
    past = tree(root) if case.past else {}
    if case.committed:
        _commit(root)
    edit(case.edits, root)
    return past


def _ignore_lines(leaf: Leaf) -> list[str]:
    path = "/" + re.sub(r"([\[\]*?\\])", r"\\\1", leaf.path)
    if leaf.kind == "partly":
        return [f"{path}/*", f"!{path}/.gitkeep"]
    return [path] * (leaf.kind in ("ignored", "forced", "imported", "ignored link"))


def _put(leaf: Leaf, root: Path) -> None:
    place = root / leaf.path
    place.parent.mkdir(parents=True, exist_ok=True)
    if leaf.target:
        target = root / leaf.target
        place.symlink_to(target if leaf.kind == "absolute link" else os.path.relpath(target, place.parent))
    elif leaf.kind == "submodule":
        git(root, "submodule", "--quiet", "add", "--", str(root.parent / "library"), leaf.path)
    elif leaf.kind == "nested":
        copy(root.parent / "library", place)
    elif leaf.folder:
        place.mkdir()
        if leaf.kind != "empty":
            _fill(place)
        if leaf.kind == "partly":
            _write(place / ".gitkeep", "")
        if leaf.kind == "nested without commit":
            git(place, "init", "--quiet")
    else:
        _write(place, "imported\n" if leaf.kind == "imported" else f"{leaf.path}\nin two ways\r\n")
        place.chmod(0o755 if leaf.executable else 0o644)
    if leaf.kind == "staged":
        git(root, "add", "--", leaf.path)
    if leaf.kind == "imported":
        copy(root.parent / "far.csv.dvc", Path(f"{place}.dvc"))
        cached(root, place.read_bytes()).parent.mkdir(parents=True, exist_ok=True)
        copy(place, cached(root, place.read_bytes()))


def cached(root: Path, content: bytes) -> Path:
    """The place of a file in DVC's cache."""
    name = hashlib.md5(content).hexdigest()
    return root / ".dvc/cache/files/md5" / name[:2] / name[2:]


def _write_stages(case: Case, root: Path) -> None:
    entries = {stage: stage.entry(root.parent, int(case.fails_once)) for stage in case.stages}
    above = {stage.name: entry for stage, entry in entries.items() if stage.home != "below"}
    below = {stage.name: entry for stage, entry in entries.items() if stage.home == "below"}
    write_yaml(root / "dvc.yaml", {"vars": ["conf/v.yaml"], "stages": above})
    if below:
        write_yaml(root / "sub/dvc.yaml", {"vars": ["../params.yaml", "../conf/v.yaml"], "stages": below})


def edit(edits: Sequence[tuple[str, str]], root: Path) -> None:
    """Do what a user may do."""
    for kind, path in edits:
        with suppress(OSError, subprocess.CalledProcessError):  # there is nothing to edit
            _edit(kind, path, root)


def _edit(kind: str, path: str, root: Path) -> None:
    place, mine = root / path, not path.startswith(("..", "/"))
    files = sorted(file for file in place.rglob("*") if file.is_file() and ".git" not in file.parts)
    first = files[0] if files else place
    if kind == "set":
        for name in PARAMS:
            _write(root / name, (root / name).read_text(encoding="utf-8").replace("1", "5"))
    elif kind == "commit":
        _commit(root)
    elif kind == "freeze":  # by the name of the stage
        dvc_command(root, "freeze", path)
    elif kind == "unlock":
        (root / "dvc.lock").unlink()
    elif kind == "stage":
        git(root, "add", "--force", "--", path)
    elif kind == "unignore":
        (root / ".gitignore").write_text(f"/{path}/\n", encoding="utf-8")  # a folder, and no link
    elif kind == "uncache":
        cached(root, first.read_bytes()).unlink()
    elif kind in ("assume", "skip"):
        git(root, "update-index", "--assume-unchanged" if kind == "assume" else "--skip-worktree", "--", path)
        _edit("write", path, root)
    elif kind == "new file" and place.is_dir():
        _write(place / "mine.txt", "mine\n")
    elif kind == "write" and mine:
        text = first.read_bytes() if first.exists() else b""
        first.unlink(missing_ok=True)  # it may be a link to DVC's cache
        first.write_bytes(text + b"edited\n")
    elif kind == "mode" and mine:
        first.chmod(0o755)
    elif kind == "delete" and mine:
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
    elif kind == "link" and mine and not os.path.lexists(kept := root.parent / "outside" / f"kept {place.name}"):
        shutil.move(place, kept)
        place.symlink_to(kept)


def tree(root: Path) -> Tree:
    """All files of a directory, links and empty folders, but those of git and DVC's own."""
    found: Tree = {}
    for top, folders, files in os.walk(root):
        place = Path(top)
        if place in (root, root / ".dvc"):
            folders[:] = [name for name in folders if name not in (".git", "tmp", "cache")]
        for path in (place / name for name in [*folders, *files]):
            key = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[key] = ("link", str(path.readlink()).encode())
            elif path.is_file() and not key.endswith(".git/index"):
                found[key] = ("program" if path.stat().st_mode & stat.S_IXUSR else "file", path.read_bytes())
            elif path.is_dir() and not any(path.iterdir()):
                found[key] = ("folder", b"")
    return found


def of_git(root: Path) -> dict[str, str]:
    """What git has beyond the files: the index, branches and tags, HEAD and the settings."""
    texts = {name: (root / ".git" / name).read_text(encoding="utf-8") for name in ("HEAD", "config")}
    refs = {line.split("\t")[1]: line for line in git(root, "for-each-ref").splitlines()}
    index = {f"index: {line.split(chr(9))[1]}": line for line in git(root, "ls-files", "-v", "--stage").splitlines()}
    return texts | index | {name: line for name, line in refs.items() if not name.startswith("refs/tags/prefect-dvc/")}
