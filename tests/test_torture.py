"""A sample of the torture run; `make torture` is the whole of it."""

import os
import random
from pathlib import Path

import pytest

from tests import torture
from tests.torture import DAMAGES, GOOD, Case, Stage, Torture, content, stages_of, summary
from tests.workspace import write_params

SECONDS = float(os.environ.get("TORTURE_SECONDS", "20"))
SEED = int(os.environ.get("TORTURE_SEED", "1"))


@pytest.mark.fault(40)
def test_a_sample_of_damages_and_a_stage_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a run up to its corpus, damaged one at a time: none is accepted, and nothing hangs.

    Then stages are killed at random moments, and end with the same bytes.
    """
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(torture, "LIMIT", 60.0)
    cases = torture.torture(tmp_path, SEED, SECONDS, kills=2, until="skipgram", least=5)
    assert len(cases) > 5
    assert [case for case in cases if case.verdict not in GOOD] == []
    assert (
        torture.torture(tmp_path, SEED, 0.0, kills=2, until="skipgram", least=5) == cases
    )  # what is done is not done again


def test_the_order_of_the_graph(tmp_path: Path) -> None:
    """Each stage comes after those whose outputs it reads, and a matrix has a stage for each cell."""
    write_params(tmp_path / "params.yaml", **torture.SMALL)
    stages = stages_of(tmp_path)
    names = [stage.name for stage in stages]
    assert names.index("benchmarks") < names.index("clean") < names.index("student") < names.index("report")
    assert "component_focus@minilm-l3-samples-0.0" in names
    written: set[str] = set()
    for stage in stages:
        later = {out for other in stages for out in other.writes} - written - set(stage.writes)
        assert not any(dep in later for dep in stage.reads), stage.name
        written |= set(stage.writes)


@pytest.mark.parametrize("kind", DAMAGES)
def test_each_damage_changes_the_copy_alone(kind: str, tmp_path: Path) -> None:
    """The run itself stays as it was, though its copy shares its files."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "file.json").write_text('{"pearson": 0.65}')
    before = content(run, ["."])
    place = Torture(tmp_path, 1)._copy()
    DAMAGES[kind](place / "file.json", random.Random(1))
    assert content(run, ["."]) == before
    damaged = place / "file.json"
    assert not damaged.is_file() or damaged.read_bytes() != b'{"pearson": 0.65}'


def test_what_counts_as_a_fault(tmp_path: Path) -> None:
    """A traceback, a hang, other bytes and an end without a message; not a refusal and not the same bytes."""
    work, stage = Torture(tmp_path, 1), Stage("clean", "stages.corpus.clean", (), (), ("out.txt",))
    (tmp_path / "run").mkdir()
    (tmp_path / "case").mkdir()
    for place, text in (("run", "right"), ("case", "wrong")):
        (tmp_path / place / "out.txt").write_text(text)
    case = tmp_path / "case"
    assert work._verdict(stage, case, None, "") == "hangs"
    assert work._verdict(stage, case, 1, "Traceback (most recent call last):") == "traceback"
    assert work._verdict(stage, case, 1, "") == "ends with status 1 without a message"
    assert work._verdict(stage, case, 1, "clean: x.json cannot be read.") == "refused"
    assert work._verdict(stage, case, 0, "") == "other bytes"
    (case / "out.txt").write_text("right")
    assert work._verdict(stage, case, 0, "") == "same bytes"
    found = summary([Case("clean", "a", "emptied", "refused", 1.0), Case("clean", "", "3 kills", "hangs", 1.0)], 1)
    assert found["by_damage"] == {"SIGKILL": {"hangs": 3}, "emptied": {"refused": 1}}
    assert found["faults"] == ["clean: the stage, 3 kills: hangs"]
