"""The pipeline as a user runs it: real `dvc repro` in copies of the working tree, with small parameters."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.halting import halted, halting, halting_before_file
from tests.tiny_bert import write_tiny_bert
from tests.torture import SMALL, TEACHER, TINY
from tests.waiting import LIMIT
from tests.workspace import copy_files, write_params

VECTOR_STAGES = {"benchmarks", "crawl", "clean", "skipgram", "refine"}  # the first two in any order
MAIN_JOB = VECTOR_STAGES | {"soft_labels", "student", "domain", "evaluate", "report"}


class Clone:
    """Copy the working tree, with its own DVC repository."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        places = {"HOME": directory.parent, "DVC_SITE_CACHE_DIR": directory.parent / "site"}
        self.environment = os.environ | {name: str(place) for name, place in places.items()}
        self.environment |= {
            "DVC_NO_ANALYTICS": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    def copy(self, directory: Path) -> "Clone":
        shutil.copytree(self.directory, directory, symlinks=True)
        return Clone(directory)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start DVC in its own process group."""
        return subprocess.Popen(
            [sys.executable, "-m", "dvc", *arguments],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def dvc(self, *arguments: str, status: int = 0) -> str:
        """Return the output of DVC and the stages."""
        process = self.start(*arguments)
        output = process.communicate(timeout=4 * LIMIT)[0]
        assert process.returncode == status, output
        return output

    def git(self, *arguments: str) -> None:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=self.directory, env=self.environment, check=True)

    def params(self, **changes: dict[str, Any]) -> None:
        """SMALL parameters with further changes."""
        sections = {name: SMALL.get(name, {}) | changes.get(name, {}) for name in SMALL.keys() | changes.keys()}
        write_params(self.directory / "params.yaml", **sections)

    def lock(self) -> dict[str, dict[str, str]]:
        """MD5 of each output of each stage."""
        stages = yaml.safe_load((self.directory / "dvc.lock").read_text(encoding="utf-8"))["stages"]
        return {name: {out["path"]: out["md5"] for out in stage["outs"]} for name, stage in stages.items()}

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.directory / path).read_text(encoding="utf-8")
        assert old in text
        (self.directory / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    def append(self, path: str, text: str) -> None:
        with (self.directory / path).open("a", encoding="utf-8") as file:
            file.write(text)

    def content(self, path: str) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted((self.directory / path).iterdir())}


def ran(output: str) -> list[str]:
    """The stages whose command ran."""
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage '")]


def unchanged(output: str) -> list[str]:
    return [line.split("'")[1] for line in output.splitlines() if line.endswith("didn't change, skipping")]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """The files that git would commit, without those that a run has written."""
    clone = Clone(tmp_path_factory.mktemp("source") / "clone")
    copy_files(clone.directory)
    for name in ("dvc.lock", "reports/results.csv", "reports/metrics.json"):
        (clone.directory / name).unlink(missing_ok=True)
    clone.params()
    clone.git("init", "--quiet")
    return clone


@pytest.fixture(scope="module")
def built(source: Clone, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """The word vectors and all before them, built; tests copy it."""
    clone = source.copy(tmp_path_factory.mktemp("built") / "clone")
    assert set(ran(clone.dvc("repro", "refine"))) == VECTOR_STAGES
    return clone


@pytest.fixture
def clone(built: Clone, tmp_path: Path) -> Clone:
    return built.copy(tmp_path / "clone")


@pytest.mark.parametrize(
    ("change", "rerun"),
    [
        ("parameter", ["clean", "skipgram", "refine"]),
        ("module", ["skipgram", "refine"]),
        ("neither", []),
    ],
)
@pytest.mark.fault(14)
def test_exactly_the_dependent_stages_rerun(change: str, rerun: list[str], clone: Clone) -> None:
    """A parameter of clean, or a line in word_vectors/, reruns the stages that depend on it, no others."""
    if change == "parameter":
        clone.params(clean={"minimum_tokens": 6})
    if change == "module":
        clone.append("reproductions/paper1/word_vectors/kld.py", "# a comment\n")
    if change == "neither":  # a folder that none of these stages imports, a later stage's parameter, a profile's text
        clone.append("reproductions/paper2/pairs/losses.py", "# a comment\n")
        clone.params(evaluate={"seed": 2})
        (clone.directory / "data/texts/films").mkdir()
        (clone.directory / "data/texts/films/films.csv").write_text("text\nA film.\n", encoding="utf-8")
    output = clone.dvc("repro", "refine")
    assert ran(output) == rerun
    assert set(unchanged(output)) == VECTOR_STAGES - set(rerun)


def run_here(clone: Clone) -> subprocess.CompletedProcess[str]:
    """Run the stages up to `skipgram` as `make run` does."""
    command = [sys.executable, "-m", "flows.pipeline", "--here", "--target", "skipgram"]
    return subprocess.run(command, cwd=clone.directory, env=clone.environment, capture_output=True, text=True)


def test_a_run_has_a_line_for_each_stage(clone: Clone) -> None:
    """`make run` says how far it is and what each stage kept, and an error as DVC's stage says it."""
    clone.params(clean={"minimum_tokens": 6})
    process = run_here(clone)
    assert (process.returncode, process.stderr) == (0, "")
    *lines, last = process.stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["[ 3/4] clean", "[ 4/4] skipgram"]
    assert re.fullmatch(r"\[ 4/4\] skipgram: [\d,]+ words; dropped [\d,]+ rare \(\d+ s\)", lines[1])
    assert last == "2 of 4 stages were up to date."

    clone.params(clean={"minimum_tokens": 4})  # as it was: nothing runs
    *lines, last = run_here(clone).stdout.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["[ 3/4] clean: Restored", "[ 4/4] skipgram: Restored"]
    assert last == "2 of 4 stages were up to date."

    clone.params(clean={"minimum_tokens": -6})
    process = run_here(clone)
    assert process.returncode != 0
    assert "clean.minimum_tokens" in process.stdout


@pytest.mark.fault(8)
def test_lost_and_altered_outputs_come_back(clone: Clone) -> None:
    """An output that is gone or altered is restored from DVC's cache, never used unchecked."""
    vectors, sentences = clone.content("models/skipgram"), clone.content("data/corpus/sentences")
    shutil.rmtree(clone.directory / "models/skipgram")
    clone.append("data/corpus/sentences/part-00000.parquet", "altered")
    output = clone.dvc("repro", "refine")
    assert ran(output) == []
    assert set(unchanged(output)) == {"benchmarks", "crawl", "refine"}
    assert clone.content("models/skipgram") == vectors
    assert clone.content("data/corpus/sentences") == sentences


@pytest.mark.fault(7, 8)
def test_damaged_cache(clone: Clone) -> None:
    """If DVC's cache has other bytes under the name of an output, or has lost it, the stage runs again."""
    before = clone.content("models/skipgram")
    for damage in (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"X"), Path.unlink):
        objects = [path for path in (clone.directory / ".dvc/cache/files").rglob("*") if path.is_file()]
        (vectors,) = (path for path in objects if path.read_bytes() == before["vectors.safetensors"])
        vectors.chmod(0o644)
        damage(vectors)
        shutil.rmtree(clone.directory / "models/skipgram")
        assert ran(clone.dvc("repro", "refine")) == ["skipgram"]
        assert clone.content("models/skipgram") == before


@pytest.mark.fault(6)
def test_damaged_lock_file(clone: Clone) -> None:
    """An empty, broken or senseless dvc.lock is an error that names the file, and nothing is touched."""
    before = clone.content("models/skipgram")
    for content in ("", "stages: ["):
        (clone.directory / "dvc.lock").write_text(content, encoding="utf-8")
        output = clone.dvc("repro", "refine", status=255)
        assert "'./dvc.lock' validation failed" in output or "'./dvc.lock' is invalid" in output
        assert ran(output) == []
        assert clone.content("models/skipgram") == before


@pytest.mark.fault(6)
def test_lock_file_without_a_stage(clone: Clone) -> None:
    """A dvc.lock cut off between two stages is still YAML: the missing stages come from DVC's run-cache."""
    before = clone.lock()
    lock = yaml.safe_load((clone.directory / "dvc.lock").read_text(encoding="utf-8"))
    del lock["stages"]["skipgram"], lock["stages"]["refine"]
    (clone.directory / "dvc.lock").write_text(yaml.safe_dump(lock), encoding="utf-8")
    shutil.rmtree(clone.directory / "models/refined")
    assert ran(clone.dvc("repro", "refine")) == []
    assert clone.lock() == before
    assert (clone.directory / "models/refined/vectors.safetensors").is_file()


@pytest.mark.fault(10)
def test_stage_without_its_output(clone: Clone) -> None:
    """A stage that exits 0 without its output is an error that names the output, and is not cached."""
    clone.edit("dvc.yaml", "cmd: python -m stages.paper1.refine", "cmd: echo done")
    for _ in range(2):
        output = clone.dvc("repro", "refine", status=255)
        assert ran(output) == ["refine"]
        assert "failed to reproduce 'refine'" in output
        assert "'models/refined'" in output


@pytest.mark.fault(16)
def test_wrong_checksum(clone: Clone) -> None:
    """A benchmark file that is not the pinned one fails the stage with the file, both sums and the remedy."""
    directory = clone.directory / "data/external/stsb"
    directory.mkdir()
    for split in ("train", "dev", "test"):
        (directory / f"stsb-en-{split}.csv").write_text("A dog runs.,A dog is running.,4.5\n", encoding="utf-8")
    clone.params(benchmarks={"sets": ["samples", "stsb"]})
    output = clone.dvc("repro", "benchmarks", status=255)
    assert "benchmarks: data/external/stsb/stsb-en-train.csv has SHA-256" in output
    assert "expected e1e84fec" in output and "make benchmarks FROM=" in output
    assert "Traceback" not in output


@pytest.mark.fault(13)
def test_unknown_parameter(source: Clone, tmp_path: Path) -> None:
    """An unknown key in the last stage's section stops the first stage before its work."""
    clone = source.copy(tmp_path / "clone")
    clone.params(evaluate={"smoothign": 1e-3})
    output = clone.dvc("repro", status=255)
    assert "params.yaml has 1 problem(s):\n  evaluate.smoothign: unknown key; did you mean 'smoothing'?" in output
    assert len(ran(output)) == 1
    assert not (clone.directory / "data/benchmarks").exists()
    assert not (clone.directory / "data/corpus").exists()


@pytest.mark.fault(1, 5, 27)
def test_a_killed_run_is_rebuilt_to_the_same_bytes(source: Clone, built: Clone, tmp_path: Path) -> None:
    """SIGKILL of DVC and its stage at once leaves no partial file at a final path; the next run is
    not blocked, and ends with the bytes that an undisturbed run in another directory has."""
    clone = source.copy(tmp_path / "clone")
    clone.environment |= halting(tmp_path / "halting")
    process = clone.start("repro", "refine")
    halted(tmp_path / "halting")
    assert list((clone.directory / "data/corpus/.sentences.partial").glob("part-*.parquet"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    clone = Clone(clone.directory)
    assert not (clone.directory / "data/corpus/sentences").exists()
    assert not (clone.directory / "reports/counters/clean.json").exists()

    output = clone.dvc("repro", "refine")
    assert ran(output) == ["clean", "skipgram", "refine"]
    assert clone.lock() == built.lock()
    assert not [path for path in clone.directory.rglob(".*.partial") if ".dvc" not in path.parts]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that another has ended")
@pytest.mark.fault(5)
def test_a_stage_ends_with_dvc(source: Clone, tmp_path: Path) -> None:
    """SIGKILL of DVC alone; its stage, which writes to the same pipe, ends soon and cleans up.

    The shell between the two is the system's `sh`: dash outlives DVC.
    """
    clone = source.copy(tmp_path / "clone")
    clone.environment |= halting_before_file(tmp_path / "halting", "data/corpus/sentences", 1)
    clone.environment["SHELL"] = "/bin/sh"
    process = clone.start("repro", "clean")
    stage = halted(tmp_path / "halting")
    partial = clone.directory / "data/corpus/.sentences.partial"
    assert list(partial.glob("part-*.parquet"))
    process.kill()
    process.wait(LIMIT)
    os.kill(stage, signal.SIGCONT)
    output = process.communicate(timeout=LIMIT)[0]
    assert not partial.exists(), output
    assert not (clone.directory / "data/corpus/sentences").exists(), output


@pytest.fixture(scope="module")
def finished(built: Clone, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """The main job, to the report."""
    clone = built.copy(tmp_path_factory.mktemp("finished") / "clone")
    write_tiny_bert(clone.directory / TEACHER)
    clone.params(teacher=TINY, encoders={"minilm-l3": TINY, "minilm-l6": TINY})
    output = clone.dvc("repro", "report")
    assert set(ran(output)) == MAIN_JOB - VECTOR_STAGES
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", "run")
    return clone


def test_the_main_job(finished: Clone) -> None:
    """Every stage leaves its outputs, counters and a lock entry; a second run has nothing to do."""
    assert set(finished.lock()) == MAIN_JOB
    assert {path.stem for path in (finished.directory / "reports/counters").glob("*.json")} == MAIN_JOB
    metrics = json.loads((finished.directory / "reports/metrics.json").read_text(encoding="utf-8"))
    assert {"teacher/samples/spearman", "student/samples/pearson"} <= metrics.keys()
    assert (finished.directory / "reports/index.html").stat().st_size > 1000
    output = finished.dvc("repro", "report")
    assert ran(output) == []
    assert set(unchanged(output)) == MAIN_JOB - {"skipgram", "refine"}  # which the report does not need


@pytest.mark.endurance
@pytest.mark.fault(14, 45)
def test_the_whole_graph(finished: Clone, tmp_path: Path) -> None:
    """The papers, too. Unchanged, all is up to date; what runs again makes the same bytes, and git sees no change."""
    clone = finished.copy(tmp_path / "clone")
    output = clone.dvc("repro")
    assert set(ran(output)) == set(clone.lock()) - MAIN_JOB
    assert {path.stem for path in (clone.directory / "reports/counters").glob("*.json")} == set(clone.lock())
    for name in ("paper1", "paper2", "paper3"):
        assert (clone.directory / f"reports/{name}.html").stat().st_size > 1000
    assert "Data and pipelines are up to date." in clone.dvc("status")
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", "run")
    cell = "component_focus@minilm-l3-samples-0.0"
    again = ["clean", "evaluate", "pair_cost", cell, "report", "paper_pages"]  # no output has seconds or speeds
    assert set(ran(clone.dvc("repro", "--force", "--single-item", *again))) == set(again)
    status = ["git", "status", "--porcelain"]
    assert subprocess.run(status, cwd=clone.directory, capture_output=True, text=True, check=True).stdout == ""
    assert json.loads((clone.directory / "reports/costs/evaluate.json").read_text())["seconds"] > 0


def test_figures_in_dvc(finished: Clone, tmp_path: Path) -> None:
    """`dvc metrics` and `dvc plots` find the figures."""
    shown = json.loads(finished.dvc("metrics", "show", "reports/metrics.json", "--json"))
    figures = shown[""]["data"]["reports/metrics.json"]["data"]
    assert -1 <= figures["teacher/samples/spearman"] <= 1
    clone = finished.copy(tmp_path / "clone")
    figures["teacher/samples/spearman"] += 0.25
    (clone.directory / "reports/metrics.json").write_text(json.dumps(figures), encoding="utf-8")
    differences = json.loads(clone.dvc("metrics", "diff", "--targets", "reports/metrics.json", "--json"))
    assert differences["reports/metrics.json"]["teacher/samples/spearman"]["diff"] == pytest.approx(0.25)
    finished.dvc("plots", "show", "--out", str(tmp_path / "plots"))
    page = (tmp_path / "plots/index.html").read_text(encoding="utf-8")
    assert "mean_kl" in page and "loss" in page
