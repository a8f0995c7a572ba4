"""Damage every file of a small run, and kill its stages: `python -m tests.torture --directory DIR`, or `make torture`.

    damage    each file is cut, emptied, flipped, replaced by `{}`, `[]`, a FIFO, a directory or a link out, one at a
              time; then the quickest stage that reads it runs, and `load` if it is a model's
    kills     each stage gets SIGKILL at random moments, its outputs are removed as DVC does, and it starts again

A case ends well if it is refused in one line without a traceback, or if the stage writes the same bytes as without the
damage. All else is a fault: a traceback, a hang, other bytes. The results are kept line by line in DIR/cases.jsonl, so
an interrupted run goes on where it was; `--result FILE` writes their sums. Stages run in forks of this process, which
has imported them all, so that a case takes a second, not ten.
"""

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT, copy_files, write_params

LIMIT = 120.0  # seconds of a stage that takes a few; then it hangs
TEACHER = "teacher"
TINY = {"reference": TEACHER, "revision": None, "sha256": None, "maximum_length": 64}
FORK = multiprocessing.get_context("fork")
READERS = 3  # of a file, which may each read another part of it
IDLE = 0.0
SMALL: dict[str, Any] = {
    "benchmarks": {"sets": ["samples", "wordsim353"]},
    "clean": {"shard_documents": 20},
    "skipgram": {"epochs": 1, "dimension": 16},
    "fasttext": {"epochs": 1, "dimension": 16, "buckets": 500},
    "contrastive": {"epochs": 3},
    "repulsion": {"learning_rates": [0.0001, 0.01], "iterations": [0, 2]},
    "student": {"epochs": 2, "dimension": 16},
    "paper_student": {"epochs": 1, "learning_rate": 1e-6},  # more collapses it: this teacher's vectors are all similar
    "mlp_head": {"epochs": 1},
    "seeds": {"values": []},
    "syntax": {"sets": []},
    "component_focus": {"weights": [0.0]},
    "component_training": {"epochs": 1},
    "pair_grid": {"strategies": ["cosine"]},
    "metric_learning": {"epochs": 2, "iterations": 5, "head_epochs": 1},
    "pair_cost": {"sentences": 50},
    "evaluate": {"fit_sentences": 500, "speed_sentences": 16, "speed_seconds": 0.001},
}
PLACES = ("data/", "models/", "reports/")
GOOD = ("refused", "same bytes")


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml, one for each cell of a matrix."""

    name: str
    module: str
    arguments: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass
class Case:
    """What came of one damage or of the kills of one stage."""

    stage: str
    file: str
    damage: str
    verdict: str
    seconds: float
    said: str = ""


def stages_of(directory: Path) -> list[Stage]:
    """Read the graph for the parameters of a directory, each stage after those whose outputs it reads."""
    content = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    params = yaml.safe_load((directory / "params.yaml").read_text(encoding="utf-8"))
    found = [stage for name, entry in content.items() for stage in _expanded(name, entry, params)]
    ordered: list[Stage] = []
    while found:
        ready = [stage for stage in found if not any(_feeds(other, stage) for other in found if other is not stage)]
        ordered += ready
        found = [stage for stage in found if stage not in ready]
    return ordered


def _expanded(name: str, entry: dict[str, Any], params: dict[str, Any]) -> Iterator[Stage]:
    axes = {axis: _value(values, params) for axis, values in entry.get("matrix", {}).items()}
    for cell in product(*axes.values()):
        items = {f"item.{axis}": str(value) for axis, value in zip(axes, cell, strict=True)}

        def filled(text: str, items: dict[str, str] = items) -> str:
            return re.sub(r"\$\{([^}]+)\}", lambda match: items.get(match[1], match[0]), text)

        outs = [
            next(iter(out)) if isinstance(out, dict) else out
            for key in ("outs", "metrics")
            for out in entry.get(key, [])
        ]
        _, _, module, *arguments = filled(entry["cmd"]).split()
        label = "@".join([name, "-".join(map(str, cell))] if cell else [name])
        reads = tuple(filled(dep) for dep in entry["deps"] if dep.startswith(PLACES))
        yield Stage(label, module, tuple(arguments), reads, tuple(map(filled, outs)))


def _value(text: str, params: dict[str, Any]) -> list[Any]:
    for part in text.removeprefix("${").removesuffix("}").split("."):
        params = params[part]
    return list(params)


def _feeds(one: Stage, other: Stage) -> bool:
    return any(_within(out, dep) or _within(dep, out) for out in one.writes for dep in other.reads)


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def forked(work: Callable[[], None], directory: Path, limit: float) -> tuple[int | None, str, float]:
    """Do work in a child process, in a directory; returns its status (None if killed), its output and seconds."""
    log, began = directory / ".torture.log", time.monotonic()
    child = FORK.Process(target=_child, args=(work, directory, log))
    child.start()
    child.join(limit)
    status = child.exitcode
    if status is None and child.pid is not None:
        with suppress(ProcessLookupError):  # it has not yet begun its group
            os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.join()
    return status, log.read_text(errors="replace"), time.monotonic() - began


def _child(work: Callable[[], None], directory: Path, log: Path) -> None:
    """Work in a group of its own; what a user would see, a traceback too, goes to the log."""
    os.setsid()
    os.chdir(directory)
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    work()


def work_of(stage: Stage) -> Callable[[], None]:
    """Return what `python -m module arguments` does."""

    def work() -> None:
        sys.argv = [stage.module, *stage.arguments]
        importlib.import_module(stage.module).main()

    return work


def content(directory: Path, places: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file below places of a directory."""
    roots = [directory / place for place in places]
    files = [file for root in roots for file in ([root] if root.is_file() else sorted(root.rglob("*")))]
    return {
        str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }


class Torture:
    """A small run in `directory`/run, and cases on copies of it."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory, self.seed = directory, seed
        self.run, self.kept = directory / "run", directory / "cases.jsonl"
        self.seconds: dict[str, float] = {}
        self.idle: set[str] = set()  # switched off, or without their data: they read nothing
        self.stages: list[Stage] = []
        self.draw = random.Random(seed)

    def prepare(self, until: str | None) -> None:
        """Make the run, or take the one that is there; stages after `until` are left out."""
        times = self.directory / "seconds.json"
        if not times.exists():
            shutil.rmtree(self.run, ignore_errors=True)
            _fill(self.run)
        self.stages = stages_of(self.run)
        for stage in self.stages:
            importlib.import_module(stage.module)
        if until:
            self.stages = _before(self.stages, until)
        self.seconds = json.loads(times.read_text()) if times.exists() else {}
        for number, stage in enumerate(self.stages):
            if self.seconds.get(stage.name) == IDLE:
                self.idle.add(stage.name)
            if stage.name in self.seconds:
                continue
            status, said, seconds = forked(work_of(stage), self.run, 20 * LIMIT)
            if status != 0:
                raise SystemExit(f"{stage.name} fails without any damage: {said}")
            self.seconds[stage.name] = IDLE if " skipped: " in said else seconds
            self.idle |= {stage.name} if " skipped: " in said else set()
            times.write_text(json.dumps(self.seconds))
            _say(f"run: {number + 1} of {len(self.stages)} stages, {stage.name} took {seconds:.1f} s")

    def cases(self) -> list[tuple[str, str]]:
        """List every file that a stage reads with every damage, in a random order."""
        found = []
        written = [out for stage in self.stages for out in stage.writes]
        for file in content(self.run, written):
            if self.readers(file):
                found += [(file, damage) for damage in DAMAGES]
        self.draw.shuffle(found)
        return found

    def readers(self, file: str) -> list[Stage]:
        """Return the stages that depend on a file and are not switched off, the quickest first."""
        found = [stage for stage in self.stages if any(_within(file, dep) for dep in stage.reads)]
        return sorted((each for each in found if each.name not in self.idle), key=lambda each: self.seconds[each.name])

    def damage(self, file: str, kind: str) -> Case:
        """Run the stages that read a file on a copy of the run in which it is damaged, until one does not accept it."""
        cases = (self._damaged(stage, file, kind) for stage in self.readers(file)[:READERS])
        last: Case | None = None
        for case in cases:
            last = case
            if case.verdict != "same bytes":
                break
        assert last is not None
        return last

    def _damaged(self, stage: Stage, file: str, kind: str) -> Case:
        place = self._copy()
        DAMAGES[kind](place / file, random.Random(f"{self.seed} {file}"))
        status, said, seconds = forked(work_of(stage), place, LIMIT)
        verdict = self._verdict(stage, place, status, said)
        if verdict in GOOD and (self.run / file).parent.joinpath("modules.json").exists():
            verdict, said = self._loaded(place, (place / file).parent, verdict, said)
        return Case(stage.name, file, kind, verdict, round(seconds, 2), said[-400:] if verdict not in GOOD else "")

    def _verdict(self, stage: Stage, place: Path, status: int | None, said: str) -> str:
        if status is None:
            return "hangs"
        if "Traceback" in said:
            return "traceback"
        if status != 0:
            lines = [line for line in said.splitlines() if line.startswith(f"{stage.name}: ")]
            return "refused" if lines else f"ends with status {status} without a message"
        return "same bytes" if content(place, stage.writes) == content(self.run, stage.writes) else "other bytes"

    def _loaded(self, place: Path, model: Path, verdict: str, said: str) -> tuple[str, str]:
        """Load a damaged static model, and compare its vectors."""
        target = place / ".vectors"

        def work() -> None:
            from sentence_distillery import load
            from sentence_distillery.io.artifacts import InputError

            try:
                vectors = load(model).encode(["the police and the government", "a storm over the water"])
            except InputError as error:
                sys.exit(str(error))
            target.write_bytes(vectors.tobytes())

        config = self.run / model.relative_to(place) / "config.json"
        if '"token_dimension"' not in config.read_text():
            return verdict, said
        status, loaded, _ = forked(work, place, LIMIT)
        if status is None or "Traceback" in loaded:
            return ("load hangs" if status is None else "traceback of load"), loaded
        if status == 0:
            damaged, model = target.read_bytes(), self.run / model.relative_to(place)
            forked(work, place, LIMIT)
            if damaged != target.read_bytes():
                return "other vectors", loaded
        return verdict, said

    def kill(self, stage: Stage, times: int) -> Case:
        """Kill a stage at random moments, start it anew each time, and compare its bytes with the run's."""
        place = self._copy()
        began = time.monotonic()
        for _ in range(times):
            _remove(place, stage)
            forked(work_of(stage), place, self.draw.uniform(0.0, 1.2 * self.seconds[stage.name]))
        _remove(place, stage)
        status, said, _ = forked(work_of(stage), place, 20 * LIMIT)
        verdict = self._verdict(stage, place, status, said)
        partial = list(place.rglob(".*.partial"))
        verdict = f"left {partial[0].name}" if verdict == "same bytes" and partial else verdict
        return Case(stage.name, "", f"{times} kills", verdict, round(time.monotonic() - began, 2), said[-400:])

    def _copy(self) -> Path:
        """Copy the run by hard links: all writers write a new file and rename it."""
        place = self.directory / "case"
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run(["cp", "-al", str(self.run), str(place)], check=True)
        return place

    def keep(self, case: Case) -> None:
        with self.kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(case)) + "\n")

    def done(self) -> list[Case]:
        """Return the cases of this run and of interrupted ones."""
        lines = self.kept.read_text(encoding="utf-8").splitlines() if self.kept.exists() else []
        return [Case(**json.loads(line)) for line in lines]


def _fill(run: Path) -> None:
    run.mkdir(parents=True)
    here = {"processes": 1, "dask": None}
    encoders = {"minilm-l3": TINY, "minilm-l6": TINY}
    write_params(run / "params.yaml", **SMALL, shards=here, teacher=TINY, encoders=encoders)
    write_tiny_bert(run / TEACHER)
    copy_files(run, "data", "models", "reports", "README.md")
    (run / "data/external").mkdir(parents=True, exist_ok=True)


def _before(stages: list[Stage], until: str) -> list[Stage]:
    """Return a stage and all that it depends on."""
    wanted = {until}
    for stage in reversed(stages):
        if any(_feeds(stage, other) for other in stages if other.name in wanted):
            wanted.add(stage.name)
    return [stage for stage in stages if stage.name in wanted]


def _remove(place: Path, stage: Stage) -> None:
    """Remove the outputs of a stage, as DVC does before its command."""
    for out in stage.writes:
        path = place / out
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    path.unlink()  # it is a hard link
    path.write_bytes(content)


def _cut(path: Path, draw: random.Random) -> None:
    _write(path, path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    _write(path, bytes(content))


def _fifo(path: Path, draw: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _directory(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path, draw: random.Random) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "cut in half": _cut,
    "emptied": lambda path, draw: _write(path, b""),
    "one bit flipped": _flip,
    "replaced by {}": lambda path, draw: _write(path, b"{}"),
    "replaced by []": lambda path, draw: _write(path, b"[]"),
    "replaced by a FIFO": _fifo,
    "replaced by a directory": _directory,
    "replaced by a link out": _link,
}


def torture(
    directory: Path, seed: int, seconds: float, kills: int, until: str | None = None, least: int = 0
) -> list[Case]:
    """Damage and kill until all cases are done or the time is over; return every case so far.

    An interrupted run goes on in the same directory. `seconds` and `least` limit the damages, of which at least `least`
    are tried; `kills` are spread over the stages. Stages after `until` are left out.
    """
    work = Torture(directory, seed)
    work.prepare(until)
    done = {(case.file or case.stage, case.damage) for case in work.done()}
    end = time.monotonic() + seconds
    cases = work.cases()
    for number, (file, damage) in enumerate(cases, start=1):
        if number > least and time.monotonic() > end:
            break
        if (file, damage) not in done:
            work.keep(work.damage(file, damage))
        _say(f"damage: {number} of {len(cases)} cases, {_faults(work.done())} faults")
    running = [stage for stage in work.stages if stage.name not in work.idle]
    drawn = Counter(work.draw.choice(running).name for _ in range(kills))
    for number, (name, times) in enumerate(sorted(drawn.items()), start=1):
        stage = next(each for each in work.stages if each.name == name)
        if (name, f"{times} kills") not in done:
            work.keep(work.kill(stage, times))
        _say(f"kills: {number} of {len(drawn)} stages, {_faults(work.done())} faults")
    return work.done()


def _faults(cases: Sequence[Case]) -> int:
    return sum(case.verdict not in GOOD for case in cases)


def _say(text: str) -> None:
    print(f"\r{text:<100}" if sys.stderr.isatty() else text, end="" if sys.stderr.isatty() else "\n", file=sys.stderr)


def summary(cases: Sequence[Case], seed: int) -> dict[str, Any]:
    """Count the cases by damage and verdict, and list the faults."""
    table: dict[str, dict[str, int]] = {}
    for case in cases:
        kind = "SIGKILL" if case.damage.endswith(" kills") else case.damage
        weight = int(case.damage.split()[0]) if kind == "SIGKILL" else 1
        row = table.setdefault(kind, {})
        row[case.verdict] = row.get(case.verdict, 0) + weight
    bad = [case for case in cases if case.verdict not in GOOD]
    faults = sorted(f"{case.stage}: {case.file or 'the stage'}, {case.damage}: {case.verdict}" for case in bad)
    found = {"seed": seed, "files": len({case.file for case in cases if case.file}), "cases": len(cases)}
    return {**found, "by_damage": dict(sorted(table.items())), "faults": faults}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True, help="for the run and the results; kept")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3_000, help="for damages (3000)")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--until", help="the last stage, such as report; by default the whole graph")
    parser.add_argument("--result", type=Path, help="a JSON file for the sums")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "DISTILLERY_DEVICE": "cpu"}
    cases = torture(options.directory.absolute(), options.seed, options.seconds, options.kills, options.until)
    found = summary(cases, options.seed)
    text = json.dumps(found, indent=2) + "\n"
    if options.result:
        options.result.write_text(text, encoding="utf-8")
    print(text, end="")
    sys.exit(1 if found["faults"] else 0)


if __name__ == "__main__":
    main()
