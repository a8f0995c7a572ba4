"""A student of a given size: it fits, and no other that was tried agrees better with the full one."""

import csv
import doctest
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from sentence_distillery import cli, load
from sentence_distillery.distillation import sizing
from sentence_distillery.distillation.options import Size
from sentence_distillery.distillation.sizing import LEAST, fit_to_size, made_to_size, write_trials
from sentence_distillery.encoder.compression import Precision
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.reporting.page import read_trials
from tests.sentence_distillery.distillation.conftest import deep_encoder
from tests.workspace import ROOT


def texts() -> list[str]:
    with (ROOT / "data/samples/pairs.csv").open(encoding="utf-8", newline="") as file:
        return [row[side] for row in csv.DictReader(file) for side in ("sentence1", "sentence2")]


def test_the_best_of_those_that_fit(tmp_path: Path) -> None:
    """All its files together are as small as asked for, and nearly as large as the trial says."""
    full = load(truncate_dim=64)
    smaller, trials = fit_to_size(full, 1.6, texts())
    assert len(trials) > 4
    assert [trial.recall for trial in trials] == sorted((trial.recall for trial in trials), reverse=True)
    assert all(trial.megabytes <= 1.6 and LEAST <= trial.dimension <= full.dimension for trial in trials)
    best = trials[0]
    assert (len(smaller.stored), smaller.dimension) == (best.vocabulary, best.dimension)
    assert 0.5 < best.recall < 1
    smaller.save_pretrained(tmp_path)
    written = sum(file.stat().st_size for file in tmp_path.iterdir()) / 1e6
    assert best.megabytes - 0.012 < written <= best.megabytes


def test_held_out_texts_are_compared() -> None:
    """In place of the others; all of these then say which words are kept."""
    trained, held_out = texts()[:60], [f"{text} Again." for text in texts()[60:90]]
    full = load(truncate_dim=64)
    of_both, trials = fit_to_size(full, 1.6, trained, ["int8"], held_out)
    _, alone = fit_to_size(full, 1.6, trained, ["int8"], held_out[:3])
    _, others = fit_to_size(full, 1.6, trained, ["int8"])
    assert {trial.precision for trial in trials} == {Precision.INT8}
    assert alone == others and trials != others
    assert len(of_both.stored) == trials[0].vocabulary


def test_a_file_of_trials(tmp_path: Path) -> None:
    """As the report reads it; nothing was tried if no size was ordered."""
    path = tmp_path / "sizes.csv"
    nothing = Size(megabytes=None, vocabulary=None, precision=None)
    full = load(truncate_dim=64)
    assert made_to_size(full, nothing, texts(), []) == (full, [])
    write_trials(path, [])
    assert read_trials(path) == []
    _, trials = made_to_size(full, nothing.model_copy(update={"megabytes": 1.6}), texts(), [])
    write_trials(path, trials)
    rows = read_trials(path)
    assert [float(row["recall_at_10"]) for row in rows] == [trial.recall for trial in trials]
    assert (int(rows[0]["tokens"]), rows[0]["precision"]) == (trials[0].vocabulary, trials[0].precision.value)


def test_a_precision_or_a_vocabulary_that_is_ordered() -> None:
    none = Size(megabytes=None, vocabulary=None, precision=None)
    full = load(truncate_dim=64)
    fewer, _ = made_to_size(full, none.model_copy(update={"vocabulary": 20_000}), texts(), [])
    assert len(fewer.stored) == 20_000 and fewer.stored.dtype == "float32"
    coarser, _ = made_to_size(full, none.model_copy(update={"precision": "int8"}), texts(), [])
    assert coarser.stored.dtype == "int8" and len(coarser.stored) == len(full.stored)
    with pytest.raises(
        ValidationError, match="megabytes = 2 chooses the vocabulary itself, but vocabulary = 9 is given"
    ):
        Size(megabytes=2.0, vocabulary=9, precision=None)


def test_all_of_it_fits() -> None:
    """Nothing is given up that need not be."""
    full = load()
    smaller, trials = fit_to_size(full, 100.0, texts())
    assert smaller is full and [trial.recall for trial in trials] == [1.0]


@pytest.mark.parametrize(
    ("student", "megabytes", "given", "message"),
    [
        (load, float("nan"), texts(), "megabytes = nan is not a size; give a number above 0"),
        (load, 0.2, texts(), r"megabytes = 0\.2 is too small for a student of 16 dimensions"),
        (load, 4.0, ["one", "one", "two"], "2 different texts; give at least 22"),
        (deep_encoder, 4.0, texts(), "has layers after the sum"),
    ],
)
def test_what_cannot_be(student: Callable[[], StaticEncoder], megabytes: float, given: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_to_size(student(), megabytes, given)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "texts.txt"
    lines.write_text("\n".join(texts()), encoding="utf-8")
    cli.main(["compress", str(tmp_path / "small"), "--megabytes", "4", "--texts", str(lines)])
    head, best, *others = capsys.readouterr().out.splitlines()
    assert head.split("\t") == ["recall@10", "megabytes", "dimension", "tokens", "precision"]
    assert load(tmp_path / "small").dimension == int(best.split("\t")[2])
    assert others
    with pytest.raises(SystemExit):
        cli.main(["compress", str(tmp_path / "other"), "--megabytes", "4"])
    lines.write_text("\n \n")
    with pytest.raises(SystemExit, match=r"texts\.txt has no text: it is empty or blank\. Give sentences"):
        cli.main(["compress", str(tmp_path / "other"), "--dimension", "32", "--texts", str(lines)])


def test_the_example() -> None:
    failed, attempted = doctest.testmod(sizing)
    assert attempted > 0 and failed == 0
