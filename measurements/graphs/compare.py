"""Run a built repository with DVC and with the command under test, three times each, and compare after each time."""

import argparse
import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from measurements.graphs.build import INFO
from measurements.graphs.change import choose
from measurements.graphs.children import Ended, call, commit_all, environment, must
from measurements.graphs.data import DVC
from measurements.graphs.graph import DeclaredStage, stage
from measurements.graphs.names import Project

REPRO = (*DVC, "repro", "-P")
SHOWN = 8  # differing files in a result
LAST = 4  # lines of a refusal
OUTCOME = re.compile(r": (Cached|Restored|Pulled|Ran on GPU worker|Ran), ")
COUNTER = re.compile(r"^\[ *\d+/\d+\] ")
DONE = re.compile(r"^(?:> )?Running stage '([^']+)'|^Stage '([^']+)' is cached - skipping run", re.MULTILINE)
OF_DVC = ("dvc.lock", ".gitignore")  # compared on their own


@dataclass
class Step:
    """One run of both, and what differs after it; of two values the first is DVC's, the second the command's."""

    codes: Sequence[int]  # the exit statuses
    timeouts: Sequence[bool]  # which of the two took too long
    by_dvc: list[str]  # the stages that DVC ran, or took from its cache of runs
    by_command: list[str]  # those of the command, by its own account
    lock: str  # `same`, `order`, `CONTENT`, or which dvc.lock only one of them has
    ignore: str  # the same of the .gitignore files
    files: list[str]  # other files that differ
    cpu: Sequence[float]  # seconds of the processor
    seconds: Sequence[float]  # seconds of the clock

    @property
    def right(self) -> bool:
        """Whether both have succeeded."""
        return not any(self.codes)

    @property
    def equal(self) -> bool:
        """Whether both have done the same, except for the order of lines."""
        if not self.right:  # DVC has removed outputs of the stage that failed, a run leaves the workspace as it was
            return all(self.codes)
        fine = ("same", "layout", "order")
        return self.by_dvc == self.by_command and self.lock in fine and self.ignore in fine and not self.files


@dataclass
class Result:
    """What came out for a project."""

    name: str  # its key
    stages: int  # how many it has
    features: str  # what it uses
    notes: list[str]  # where the built repository differs from the project
    ignored: list[str]  # inputs that git ignores
    steps: dict[str, Step] = field(default_factory=dict)  # `first`, `second` and `changed`
    changed: str = ""  # what was changed for the last
    status: Sequence[int] | None = None  # the exit statuses of `dvc status -q` after the first step
    message: list[str] = field(default_factory=list)  # the last lines of a refusal

    @property
    def verdict(self) -> str:
        """One of VERDICTS in table.py; `too long` is for DVC itself."""
        first = self.steps["first"]
        if first.timeouts[0]:
            return "too long"
        if all(first.codes):
            return "refused by both"
        if not self.stages:  # DVC has nothing to do, and a run says so
            return "no stages"
        if first.codes[1]:
            return "failed alone"
        if not all(step.equal for step in self.steps.values()) or (self.status and self.status[0] != self.status[1]):
            return "differ"
        found = {kind for step in self.steps.values() for kind in (step.lock, step.ignore)}
        return next((kind for kind in ("order", "layout") if kind in found), "same")


class Comparison:
    """The two copies of a repository, `a` for DVC and `b` for the command; `options` are those of `run`."""

    def __init__(self, project: Project, options: argparse.Namespace) -> None:
        self.options, self.place = options, options.work / project.key
        info: Mapping[str, Any] = json.loads((self.place / INFO).read_text(encoding="utf-8"))
        self.stages: Sequence[DeclaredStage] = [stage(each) for each in info["stages"]]
        self.commands = [each.name for each in self.stages if each.command]
        self.roots = tuple(self.place / name / info["base"] for name in "ab")
        site = self.place / "site"
        self.variables = environment(options.work, site), environment(options.work, site, options.code)
        self.result = Result(project.key, len(self.commands), info["features"], info["notes"], info["ignored"])
        self.logs = options.work / "logs" / project.key

    def run(self) -> Result:
        """Take all steps that make sense, and return the result."""
        for path in (self.place / "a", self.place / "b", self.place / "site", self.logs):
            shutil.rmtree(path, ignore_errors=True)
        self.logs.mkdir(parents=True)
        for name in "ab":
            shutil.copytree(self.place / "t", self.place / name, symlinks=True)
        first = self._step("first")
        if first.right:
            self.result.status = [call([*DVC, "status", "-q"], root, self.variables[0]).code for root in self.roots]
            if self.options.runs > 1:
                self._step("second")
            if self.options.runs > 2:
                self._change()
        return self.result

    def _step(self, name: str) -> Step:
        dvc = self._call(f"{name}-dvc", REPRO, 0)
        too_long = dvc.timeout and name == "first"  # so is the command, then, and nothing can be compared
        command = dvc if too_long else self._call(f"{name}-command", shlex.split(self.options.command), 1)
        if ended := next((each for each in (command, dvc) if each.code), None):
            self.result.message = ended.text.strip().splitlines()[-LAST:]
        a, b = (dict(files(self.place / copy)) for copy in "ab")
        others = (path for path in sorted(a.keys() | b.keys()) if Path(path).name not in OF_DVC)
        step = Step(
            codes=(dvc.code, command.code),
            timeouts=(dvc.timeout, command.timeout),
            by_dvc=sorted({ran or restored for ran, restored in DONE.findall(dvc.text)}),
            by_command=sorted(name for name, word in outcomes(command.text, self.commands).items() if word != "Cached"),
            lock=compared(a, b, "dvc.lock", as_yaml),
            ignore=compared(a, b, ".gitignore", lambda content: dict(Counter(content.decode().splitlines()))),
            files=[path for path in others if a.get(path) != b.get(path)][:SHOWN],
            cpu=(dvc.cpu, command.cpu),
            seconds=(dvc.seconds, command.seconds),
        )
        self.result.steps[name] = step
        return step

    def _call(self, name: str, command: Sequence[str], which: int) -> Ended:
        timeout, log = self.options.timeout, self.logs / f"{name}.log"
        return call(command, self.roots[which], self.variables[which], timeout=timeout, log=log)

    def _change(self) -> None:
        """Commit both, change the same in both, and run both."""
        for root in self.roots:
            commit_all(root, self.variables[0], "Done", "--allow-empty")
        listed = must(["git", "ls-files", "-z"], self.roots[0], self.variables[0])
        if change := choose(self.stages, self.roots[0], frozenset(listed.split("\0"))):
            self.result.changed = str(change)
            for root in self.roots:
                change.apply(root)
            self._step("changed")


def outcomes(text: str, names: Sequence[str]) -> dict[str, str]:
    """Return the outcome of each stage in the command's output, where a line is `[ 3/15] NAME: Ran, its command ran`.

    Two lines that were written as one are told apart by the known names.
    """
    found = {}
    for line in text.splitlines():
        for match in OUTCOME.finditer(line):
            before = COUNTER.sub("", line[: match.start()])
            known = [name for name in names if before.endswith(name)]
            name = before if before in names or not known else max(known, key=len)
            if " | " not in before:  # a line of the stage's own
                found[name] = match[1]
    return found


def files(top: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the content of every file but git's and DVC's own; of a link, where it leads."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", ".dvc")]
        for name in names:
            file = Path(folder) / name
            if name == ".git":  # of a submodule
                continue
            path = str(file.relative_to(top))
            if file.is_symlink():
                yield path, os.readlink(file).encode(errors="surrogateescape")  # noqa: PTH115 - a link may lead nowhere
            else:
                yield path, file.read_bytes()


def as_yaml(content: bytes) -> Any:
    """Return what a YAML file says, floats with 13 digits: DVC changes the last one when it writes them again."""
    return _rounded(YAML(typ="safe").load(content.decode()))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return f"{value:.13g}" if isinstance(value, float) else value


def compared(a: Mapping[str, bytes], b: Mapping[str, bytes], name: str, meaning: Callable[[bytes], Any]) -> str:
    """Compare the files of a name: `same` bytes, another `layout` or `order` of the same, or other `CONTENT`."""
    a, b = ({path: content for path, content in each.items() if Path(path).name == name} for each in (a, b))
    if a == b:
        return "same"
    if a.keys() != b.keys():
        return f"only one has {', '.join(sorted(a.keys() ^ b.keys()))}"
    pairs = [(meaning(a[path]), meaning(b[path])) for path in a if a[path] != b[path]]
    if any(one != other for one, other in pairs):
        return "CONTENT"
    return "order" if any(json.dumps(one) != json.dumps(other) for one, other in pairs) else "layout"
