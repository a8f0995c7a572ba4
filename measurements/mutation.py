"""Plant faults in the code, one at a time, and see whether a test fails.

    python -m measurements.mutation --files sentence_distillery/training/schedules.py     # all faults of these files
    python -m measurements.mutation --number 200 --seed 1                                 # drawn over all packages

The faults are the operators of cosmic-ray: another comparison, number, branch, loop. Each is planted in a copy of the
last commit, where the tests that import the module run, and those of its folder. `killed` is a fault that makes a test
fail which passes without it, `survived` one that does not, `timeout` one whose tests take too long.
equivalent_faults.csv lists those that change nothing that anybody could see, with the reason.

An interrupted call goes on: `--result` has a row for each fault, and rows of another commit are dropped.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, cast

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from measurements.command import write_rows
from sentence_distillery.io.artifacts import InputError, read_rows

PACKAGES = ("sentence_distillery", "news_crawler", "reproductions", "stages", "prefect_dvc", "flows")
MARKS = "not endurance and not server and not browser"
SECONDS = 600.0  # for the tests of one fault
EQUIVALENT = Path(__file__).with_name("equivalent_faults.csv")  # path, change, reason
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A place in a file, and what is done there; `occurrence` counts the operator's places in the file."""

    path: str
    line: int
    operator: str
    occurrence: int


@dataclass(frozen=True)
class Verdict(Fault):
    """What the tests said of a fault."""

    verdict: str  # killed, survived, timeout, equivalent
    change: str  # the line before and after
    test: str  # the test that failed
    commit: str  # of the code and its tests

    @property
    def fault(self) -> Fault:
        """The fault alone."""
        return Fault(self.path, self.line, self.operator, self.occurrence)


def mutated(code: str, operator: str, occurrence: int) -> str | None:
    """Return the code with one fault, None if the operator has no such place."""
    with suppress(AttributeError):  # ExceptionReplacer knows no dotted names
        return cast(str | None, mutate_code(code, get_operator(operator)(), occurrence))
    return None


def behaviour(code: str) -> str:
    """Return the syntax tree without annotations and docstrings: codes that share it do the same."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(value=None)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.dump(tree)


@cache
def places(code: str) -> tuple[tuple[str, int, int], ...]:
    """Return each place that an operator might change: its name, the number of the place, and its line."""
    nodes, left = list[Any](), [get_ast(code)]
    while left:  # in the order in which cosmic-ray visits them
        nodes.append(node := left.pop())
        left += reversed(getattr(node, "children", []))
    found = list[tuple[str, int, int]]()
    for name in sorted(name for name in operator_names() if not get_operator(name).arguments()):
        operator = get_operator(name)()
        lines = [start[0] for node in nodes for start, _ in operator.mutation_positions(node)]
        found += [(name, occurrence, line) for occurrence, line in enumerate(lines)]
    return tuple(found)


def fault_at(root: Path, path: str, operator: str, occurrence: int) -> Fault | None:
    """Return the fault of a place, None if it changes nothing that the code does."""
    code = (root / path).read_text(encoding="utf-8")
    after = mutated(code, operator, occurrence)
    try:
        if after is None or behaviour(after) == behaviour(code):
            return None
    except SyntaxError:
        return None
    lines = enumerate(zip(code.splitlines(), after.splitlines(), strict=False), start=1)
    return Fault(path, next((row for row, (old, new) in lines if old != new), 1), operator, occurrence)


def faults(root: Path, path: str) -> Iterator[Fault]:
    """Yield every fault of a file that changes what it does."""
    for operator, occurrence, _ in places((root / path).read_text(encoding="utf-8")):
        if fault := fault_at(root, path, operator, occurrence):
            yield fault


def drawn(root: Path, files: Sequence[str], number: int, seed: int) -> list[Fault]:
    """Draw faults, a file as often as it has lines; a larger number begins with the faults of a smaller one."""
    rng, found = random.Random(seed), list[Fault]()
    codes = {path: (root / path).read_text(encoding="utf-8") for path in files}
    sizes = {path: len(code.splitlines()) for path, code in codes.items()}
    left: dict[str, list[tuple[str, int, int]]] = {}
    while len(found) < number:
        if not sizes:
            raise InputError(f"{', '.join(files)} have {len(found)} faults, not {number}.")
        path = rng.choices([*sizes], [*sizes.values()])[0]
        if path not in left:
            left[path] = list(places(codes[path]))
        if not left[path]:
            del sizes[path]
            continue

        line = rng.choice(sorted({line for *_, line in left[path]}))
        drawn = rng.choice([place for place in left[path] if place[2] == line])
        left[path].remove(drawn)
        if fault := fault_at(root, path, *drawn[:2]):
            found.append(fault)
    return found


def chosen_tests(root: Path, path: str) -> list[str]:
    """Return the test files that import the module, then the others of its folder or the next one that has tests."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    parent, _, leaf = name.rpartition(".")

    def imports(text: str) -> bool:
        named = (f"from {name} import", f"import {name}", f"-m {name}")
        return any(each in text for each in named) or (f"from {parent} import" in text and leaf in text)

    tests = sorted((root / "tests").rglob("test_*.py"), key=Path.as_posix)
    importing = [test.relative_to(root).as_posix() for test in tests if imports(test.read_text(encoding="utf-8"))]
    rooms = (sorted((root / "tests" / parent).glob("test_*.py")) for parent in list(Path(path).parents)[:-1])
    room = [test.relative_to(root).as_posix() for test in next(filter(None, rooms), [])]
    room.sort(key=lambda test: leaf not in test)
    return list(dict.fromkeys([*importing, *room]))


def judge(copy: Path, fault: Fault, seconds: float, commit: str) -> Verdict:
    """Plant a fault in the copy, run its tests, and take it out again.

    A test that fails without the fault, too, says nothing of it: it is left out, and the others decide.
    """
    file = copy / fault.path
    code = file.read_text(encoding="utf-8")
    after = mutated(code, fault.operator, fault.occurrence)
    assert after is not None
    old, new = (text.splitlines()[fault.line - 1 : fault.line] or [""] for text in (code, after))
    change, left_out = f"{old[0].strip()}  ->  {new[0].strip()}", list[str]()
    verdict, test = "equivalent" if (fault.path, change) in equivalent(EQUIVALENT) else "", ""
    while not verdict:
        put(file, after)
        try:
            verdict, test = run(copy, chosen_tests(copy, fault.path), left_out, seconds)
        finally:
            put(file, code)
        if verdict == "killed" and run(copy, [test], [], seconds)[0] != "survived":
            print(f"{test} fails without a fault, too; it is left out.", file=sys.stderr)
            left_out.append(test)
            verdict = ""
    return Verdict(**asdict(fault), verdict=verdict, change=change, test=test, commit=commit)


def put(file: Path, code: str) -> None:
    """Write a module without its byte code, which is taken for current if the source has the same size and second."""
    file.write_text(code, encoding="utf-8")
    for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
        compiled.unlink()


@cache
def equivalent(listed: Path) -> frozenset[tuple[str, str]]:
    """Return the files and changes that nobody could see."""
    return frozenset((row["path"], row["change"]) for row in read_rows(listed, {}))


def run(copy: Path, tests: Sequence[str], left_out: Sequence[str], seconds: float) -> tuple[str, str]:
    """Run tests up to the first that fails: return the verdict, and the test that failed."""
    remaining = [test for test in tests if test not in left_out]
    if not remaining:
        return "survived", ""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-m", MARKS, "-p", "no:cacheprovider", "-rfE"]
    command += [argument for test in left_out for argument in ("--deselect", test)]
    # What the tests start elsewhere imports the copy, too, not the checkout that is installed.
    environment = os.environ | {"PYTHONPATH": str(copy.resolve()), "OMP_NUM_THREADS": "1"}
    command += remaining
    try:
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    if ended.returncode in (0, 5):  # all passed, or none is left
        return "survived", ""
    found = FAILED.search(ended.stdout)
    return "killed", found[1] if found else remaining[0]


def copied(root: Path, copy: Path) -> None:
    """Make a copy of the last commit, with the compiled parts of this checkout."""
    if copy.exists():
        subprocess.run(["git", "worktree", "remove", "--force", str(copy)], cwd=root, check=True)
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(copy)], cwd=root, check=True)
    for package in PACKAGES:
        for compiled in (root / package).rglob("*.so"):
            shutil.copy2(compiled, copy / compiled.relative_to(root))


def commit_of(root: Path) -> str:
    """Return the last commit, which the copy is made of."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def read(result: Path, commit: str) -> list[Verdict]:
    """Read the verdicts of an earlier call on this commit."""
    return [
        Verdict(**row | {name: int(row[name]) for name in ("line", "occurrence")})  # type: ignore[arg-type]
        for row in (read_rows(result, {}) if result.exists() else ())
        if row.get("commit") == commit
    ]


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each folder: how many of the decided faults a test found."""
    by_folder: dict[str, Counter[str]] = {}
    for each in verdicts:
        by_folder.setdefault(Path(each.path).parts[0], Counter()).update([each.verdict])
    for folder, counts in sorted(by_folder.items()):
        decided = counts["killed"] + counts["survived"]
        share = f"{100 * counts['killed'] / decided:.0f} %" if decided else "none decided"
        others = f"{counts['timeout']} timeouts, {counts['equivalent']} equivalent"
        yield f"{folder}: {counts['killed']} of {decided} killed ({share}), {others}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Plant faults in the code, and see whether a test fails.")
    parser.add_argument("--files", nargs="+", metavar="FILE", help="the files; all of the packages by default")
    parser.add_argument("--number", type=int, help="how many faults to draw; all of the files by default")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (1)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for the tests of one fault ({SECONDS:.0f})")
    parser.add_argument("--result", type=Path, default=Path("build/mutation.csv"), help="rows of verdicts")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    files = options.files or [
        path.relative_to(root).as_posix()
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        if path.name != "__init__.py" and "docs" not in path.parts
    ]
    try:
        every = (fault for path in files for fault in faults(root, path))
        found = drawn(root, files, options.number, options.seed) if options.number else list(every)
    except (InputError, OSError) as error:
        sys.exit(f"mutation: {error}")
    commit = commit_of(root)
    known = {each.fault: each for each in read(options.result, commit)}
    copied(root, copy := root / "build/mutation")
    for row, fault in enumerate(found, start=1):
        if fault not in known:
            known[fault] = judge(copy, fault, options.seconds, commit)
            write_rows(options.result, map(asdict, known.values()), [field.name for field in fields(Verdict)])
        told = known[fault]
        print(f"{row} of {len(found)}: {told.verdict:<10} {fault.path}:{fault.line} {told.change}", flush=True)
    print("\n".join(table([known[fault] for fault in found])))


if __name__ == "__main__":
    main()
