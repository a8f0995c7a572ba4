"""measurements/ablations.py on a few texts: what each row is made of, its figures by hand, and a call that goes on."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measurements import ablations
from measurements.ablations import BASE, ROWS, Grid, Setting, difference, figures
from measurements.suite import SavedScores
from measurements.trained_peers import Corpus
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.distillation.options import StudentOptions
from sentence_distillery.distillation.student import train_static
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet
from sentence_distillery.evaluation.tasks import own_task
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.unavailable import Unavailable

NOUNS = ("storm", "dog", "guitar", "woman", "police", "water")
VERBS = ("plays in the garden", "crosses the long road", "sleeps under the tree", "looks at the people")
SENTENCES = [f"The {noun} {verb} on day {day} ." for noun in NOUNS for verb in VERBS for day in ("one", "two")]
PAIRS = PairSet("mine", "dev", SENTENCES[:4], SENTENCES[4:8], np.array([1, 2, 4, 5], np.float32), None, (0.0, 5.0))


@pytest.fixture
def grid(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    """Rows of a tiny teacher, on sentences of which one is in a test split."""
    monkeypatch.setattr(BenchmarkData, "fingerprints", lambda self: fingerprints(SENTENCES[-1:]))
    base = Setting(teachers=(str(tiny),), further_words=0, dimension=16)
    monkeypatch.setattr(ablations, "BASE", base)
    rows = {
        "base": base,
        "untrained": replace(base, trained=False),
        "news": replace(base, text="news"),
        "8 bits": replace(base, precision="int8", dimension=8),
        "channel": replace(base, channel=1.2),
    }
    corpus = Corpus([("", sentence) for sentence in SENTENCES[:24]], [SENTENCES[24:36], SENTENCES[36:]])
    return Grid(corpus, BenchmarkData(tmp_path), tmp_path / "work", rows=rows)


def test_rows_differ_from_the_base_in_one_thing() -> None:
    """But for bits, which stand against dimensions at the same size, and words, of which there are two sources."""
    for name, row in ROWS.items():
        changed = [key for key, value in vars(row).items() if value != getattr(BASE, key)]
        assert len(changed) == (0 if name == "base" else 2 if "128" in name or "20 times" in name else 1), name


def test_rows_are_made_as_they_say(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = list[float | None]()

    def train(options: StudentOptions, *rest: Any) -> Any:
        trained.append(options.learning_rate)
        return train_static(options, *rest)

    monkeypatch.setattr(ablations, "train_static", train)
    made = {name: grid.made(setting, 1) for name, setting in grid.rows.items()}
    rate = StudentOptions().learning_rate
    assert trained == [rate, ablations.NO_STEP, rate]  # base, untrained, news; the others have the student of base
    dimensions = {name: encoder.dimension for name, encoder in made.items()}
    assert dimensions == dict.fromkeys(made, 16) | {"8 bits": 8, "channel": 16 + ablations.CHANNEL}
    assert made["8 bits"].stored.dtype == np.int8

    # Rows that differ after the training share one student; another seed, or no training, is another one.
    assert np.array_equal(made["channel"].table, made["base"].table)
    assert not np.allclose(made["untrained"].table, made["base"].table, atol=1e-3)
    assert not np.array_equal(grid.trained(grid.rows["base"], 2).table, made["base"].table)
    assert np.allclose(grid.trained(grid.rows["untrained"], 2).table, made["untrained"].table, atol=1e-6)


def test_text_of_a_row(grid: Grid) -> None:
    news, captions = grid.texts("news"), grid.texts("captions")
    assert (sorted(news), sorted(captions)) == (sorted(SENTENCES[:24]), sorted(SENTENCES[24:]))
    assert grid.texts("news and captions") == [*news, *captions]
    quarter = grid.texts("a quarter of both")
    assert (len(quarter), len(set(quarter) & set(news))) == (12, 6)
    few = replace(grid, articles=5, captions=3)
    assert len(few.texts("news and captions")) == 8 and few.texts("news") == few.texts("news")
    sentences, _ = grid.labelled(grid.rows["base"]).texts()
    assert SENTENCES[-1] not in list(sentences)


def saved(place: Path, value: float, draws: list[float]) -> SavedScores:
    found = SavedScores(place.name, place)
    write_results(place, [Result(place.name, "stsb", "dev", "mean", "spearman", value, 4)])
    np.save(found.draws_path, np.array(draws, np.float32))
    return found


def test_figures_are_means_over_seeds_and_differences_are_paired(tmp_path: Path) -> None:
    runs = [saved(tmp_path / "a1.csv", 0.5, [0.4, 0.6]), saved(tmp_path / "a2.csv", 0.7, [0.6, 0.8])]
    base = [saved(tmp_path / "b1.csv", 0.4, [0.2, 0.5]), saved(tmp_path / "b2.csv", 0.8, [0.8, 0.8])]
    row = figures("a", runs)
    assert (row.value, row.spread) == pytest.approx((0.6, 0.02**0.5))
    assert (row.low, row.high) == pytest.approx((0.5, 0.7), abs=0.01)  # the draws are 0.5 and 0.7
    gain = difference("a", runs, base)
    assert (gain.value, gain.spread) == pytest.approx((0.0, 0.02**0.5), abs=1e-9)
    assert (gain.low, gain.high) == pytest.approx((0.0, 0.05), abs=0.01)  # the draws are 0 and 0.05
    assert gain.system == "a - base"

    # Of a seed without a figure the reason stays.
    reason = Unavailable("one rating for all pairs")
    runs[1].results[0] = replace(runs[1].results[0], value=reason)
    assert (figures("a", runs).value, difference("a", runs, base).value) == (reason, reason)


def test_test_splits_are_scored_once(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("# scored\n", encoding="utf-8")
    options = Namespace(test=True, output=tmp_path, source=[tmp_path], work=tmp_path)
    with pytest.raises(InputError, match="test splits are scored once"):
        ablations.run(options, [], {})


def test_the_tables_and_a_call_that_goes_on(grid: Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a set with a split of its own; the comment says how much text and which seeds."""
    monkeypatch.setattr(ablations, "collected", lambda *given: grid.data)
    monkeypatch.setattr(ablations, "read_corpus", lambda *given: grid.corpus)
    monkeypatch.setattr(ablations, "read_task", lambda *given: own_task(PAIRS))
    output, rows = tmp_path / "out", {name: grid.rows[name] for name in ("base", "8 bits")}
    options = Namespace(test=False, output=output, source=[], work=grid.work, seeds=[1], articles=None, captions=20)
    ablations.run(options, ["stsb"], rows)
    found = read_results(output / "dev.csv")
    assert [(row.system, row.seeds, row.spread) for row in found] == [("base", 1, None), ("8 bits", 1, None)]

    kept = {path: path.stat().st_mtime_ns for path in grid.work.glob("*/**/*") if path.is_file()}
    options.seeds = [1, 2]
    ablations.run(options, ["stsb"], rows)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert [(row.system, row.seeds) for row in read_results(output / "dev.csv")] == [("base", 2), ("8 bits", 2)]
    assert [row.system for row in read_results(output / "differences.csv")] == ["8 bits - base"]
    comment = (output / "dev.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "python -m measurements.ablations FROM; 24 articles and 20 captions, seeds 1 2; " in comment
    assert not (output / "test.csv").exists()
