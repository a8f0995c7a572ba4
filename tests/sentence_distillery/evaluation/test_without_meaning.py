"""Figures of data that have little to say are numbers or reasons, and no file has NaN or infinity.

Vectors, ratings and labels are constant, nearly constant, tied, of one class, duplicated, zero, not finite, or very
few, in any combination.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measurements import corpus_quality
from reproductions.grid.axes import Place
from reproductions.grid.cell import TEST, Cell, TrainedRun, table_of
from reproductions.paper1.gains import SET, Cosines
from reproductions.paper2.pairs.thresholds import Folds, cross_validated, f1
from reproductions.paper3.results import cell_figures, gains_over_none
from reproductions.paper3.syntax.scoring import scores as parser_scores
from reproductions.systems.calibration import calibrated_error, calibration
from sentence_distillery.domain.measures import FEWEST, Reference, measures
from sentence_distillery.domain.options import Domain
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import evaluate, main_result
from sentence_distillery.evaluation.protocols.ranking import Judgements
from sentence_distillery.evaluation.protocols.similarity import similarity_figures
from sentence_distillery.evaluation.results import (
    Result,
    as_result,
    export_results,
    over_seeds,
    read_results,
    write_results,
)
from sentence_distillery.evaluation.sets.data import DocumentSet, PairSet, QuerySet
from sentence_distillery.evaluation.tasks import MAIN, TASKS, TaskSet
from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting.domain import domain_section
from sentence_distillery.reporting.intervals import spearman_interval

pytestmark = pytest.mark.fault(20)

SIZES = st.sampled_from([0, 1, 2, 3, 4, 9, 30])
NOT_A_NUMBER = re.compile(r"(?<![A-Za-z])(?:nan|inf|infinity)(?![A-Za-z])", re.IGNORECASE)
OPTIONS = Domain(peers=[], neighbours=10, random_pairs=10, seed=1)
EXAMPLES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def vectors(draw: st.DrawFn, rows: int) -> Floats:
    """(rows, 3) float32 of some form, now and then with a row that is zero or not finite."""
    seed, form = draw(st.integers(0, 3)), draw(st.sampled_from(["any", "equal", "nearly", "few", "zero"]))
    random = np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)
    found = {
        "any": random,
        "equal": np.ones((rows, 3), np.float32),
        "nearly": 1 + np.float32(1e-6) * random,
        "few": np.eye(3, dtype=np.float32)[np.arange(rows) % 2],
        "zero": np.zeros((rows, 3), np.float32),
    }[form]
    if rows and draw(st.integers(0, 3)) == 0:
        found[draw(st.integers(0, rows - 1))] = draw(st.sampled_from([0.0, np.nan, np.inf]))
    return found


def values(draw: st.DrawFn, rows: int, low: float = 1.0, high: float = 5.0) -> Floats:
    """(rows,) float32 from `low` to `high`: all equal, all but one, all but a tenth, nearly, tied, or any."""
    found = np.full(rows, high, np.float32)
    match draw(st.sampled_from(["equal", "one", "tenth", "nearly", "tied", "any"])):
        case "one":
            found[:1] = low
        case "tenth":
            found[: rows // 10] = low
        case "nearly":
            found[:1] = np.nextafter(np.float32(high), np.float32(low))
        case "tied":
            found[::2] = low
        case "any":
            found = np.linspace(low, high, rows, dtype=np.float32)
    return found


def labels(draw: st.DrawFn, rows: int, names: list[str]) -> list[str]:
    """One class, one text of another, two classes, or a class for each text."""
    kinds = [names[:1] * rows, [*names[1:2], *(names[:1] * rows)][:rows], [names[row % 2] for row in range(rows)]]
    return list(draw(st.sampled_from([*kinds, [names[row % len(names)] for row in range(rows)]])))


class Vectors:
    """An encoder of the texts "0", "1", ...; the vectors of equal words are equal."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows

    def encode(self, texts: list[str]) -> Floats:
        return self.rows[[int(text) for text in texts]]


def texts(start: int, stop: int) -> list[str]:
    return [str(row) for row in range(start, stop)]


def pairs(draw: st.DrawFn, rows: int, **columns: Any) -> PairSet:
    known = {"scores": None, "labels": None, "scale": None} | columns
    return PairSet("mine", "test", texts(0, rows), texts(rows, 2 * rows), **known)


def pair_task(draw: st.DrawFn, rows: int) -> tuple[TaskSet, int]:
    return TaskSet("pair_classification", pairs(draw, rows, labels=labels(draw, rows, ["0", "1"]))), 2 * rows


def rated_task(draw: st.DrawFn, rows: int) -> tuple[TaskSet, int]:
    return TaskSet("sts", pairs(draw, rows, scores=values(draw, rows), scale=(1.0, 5.0))), 2 * rows


def classes(draw: st.DrawFn, rows: int) -> tuple[TaskSet, int]:
    names = draw(st.sampled_from([["1", "0"], ["a", "b", "c"], [str(row) for row in range(30)]]))
    train = DocumentSet("mine", "train", texts(0, rows), labels(draw, rows, names))
    size = draw(SIZES)
    test = DocumentSet("mine", "test", texts(rows, rows + size), labels(draw, size, names))
    return TaskSet("classification", (train, test), ("few-shot", "full", "sgd")), rows + size


def groups(draw: st.DrawFn, rows: int) -> tuple[TaskSet, int]:
    names = [str(row) for row in range(30)]
    return TaskSet("clustering", DocumentSet("mine", "test", texts(0, rows), labels(draw, rows, names))), rows


def queries(draw: st.DrawFn, rows: int, kind: Any = "retrieval") -> tuple[TaskSet, int]:
    documents, judged = draw(st.sampled_from([1, 2, 9])), draw(SIZES) if rows else 0
    judgements = Judgements(
        np.arange(judged) % max(rows, 1),
        np.arange(judged) % (documents + 1) - 1,
        np.array(draw(st.lists(st.integers(-1, 2), min_size=judged, max_size=judged)), dtype=np.int64),
    )
    ids = texts(0, documents)
    found = QuerySet("mine", "test", texts(0, rows), texts(rows, rows + documents), ids, judgements)
    return TaskSet(kind, found), rows + documents


TASKS_OF: dict[str, Callable[[st.DrawFn, int], tuple[TaskSet, int]]] = {
    "sts": rated_task,
    "pair_classification": pair_task,
    "classification": classes,
    "clustering": groups,
    "retrieval": queries,
    "reranking": lambda draw, rows: queries(draw, rows, "reranking"),
}


@st.composite
def task_and_encoder(draw: st.DrawFn, kind: str) -> tuple[TaskSet, Vectors]:
    task, size = TASKS_OF[kind](draw, draw(SIZES))
    return task, Vectors(vectors(draw, size))


def check(rows: Sequence[Result], directory: Path) -> None:
    """Every figure is a number in its range or a reason, in both tables and on the page."""
    for row in rows:
        if isinstance(row.value, Unavailable):
            assert row.value.reason and (row.low, row.high, row.left_out) == (None, None, None)
            continue
        least, most = (
            (-1, 1) if row.metric in ("pearson", "spearman") else (0, 5 if row.metric.startswith("mae") else 1)
        )
        assert least - 1e-6 <= row.value <= most + 1e-6
        assert (row.low is None) == (row.high is None)
        assert row.low is None or row.high is None or least - 1e-6 <= row.low <= row.high <= most + 1e-6
        assert row.left_out is None or (row.left_out > bootstrap.DRAWS / 2) == (row.low is None)
    for write in (write_results, export_results):
        write(directory / "rows.csv", rows)
        assert not NOT_A_NUMBER.search((directory / "rows.csv").read_text())
        assert [row.metric for row in read_results(directory / "rows.csv", may_be_empty=True)] == [
            row.metric for row in rows
        ]
    if rows:
        assert not NOT_A_NUMBER.search(repr(domain_section(rows, [])))


def test_every_type_of_task_is_tried() -> None:
    assert TASKS_OF.keys() == TASKS.keys() == MAIN.keys()


@pytest.mark.parametrize("kind", TASKS_OF)
@given(data=st.data())
@EXAMPLES
def test_protocols(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    """Every protocol, as `evaluate`, the stage `evaluate` and the stage `domain` score it."""
    task, encoder = data.draw(task_and_encoder(kind))
    rows = evaluate(encoder, [task])
    assert [(row.protocol, row.metric) for row in rows] == task.columns
    own = main_result("mine", encoder, task)
    assert (own.protocol, own.metric) == MAIN[task.type]
    check([*rows, own], tmp_path)


@given(data=st.data())
@EXAMPLES
def test_agreement_with_a_teacher(data: st.DataObject, tmp_path: Path) -> None:
    """The figures of the stage `domain` on texts without labels."""
    size = data.draw(st.sampled_from([FEWEST, FEWEST + 1, 12, 40]))
    teacher, own = (data.draw(st.composite(vectors)(size)) for _ in range(2))
    reference = Reference.of(texts(0, size), teacher, OPTIONS)
    check([as_result("own", "texts", "", each) for each in measures(own, None, reference)], tmp_path)


@st.composite
def ratings_and_cosines(draw: st.DrawFn) -> tuple[Floats, list[Floats]]:
    rows = draw(SIZES)
    return values(draw, rows, 0.0, 1.0), [values(draw, rows, -1.0, 1.0) for _ in range(2)]


@given(drawn=ratings_and_cosines())
@EXAMPLES
def test_gains(drawn: tuple[Floats, list[Floats]], tmp_path: Path) -> None:
    """Paired comparisons: of systems and weightings of paper 1, of weights of paper 3, over seeds."""
    ratings, cosines = drawn
    stsb = PairSet(*SET, texts(0, len(ratings)), texts(0, len(ratings)), ratings, None, (0.0, 1.0))
    seen = Cosines()
    for weighting, each in zip(("mean", "sif"), cosines, strict=True):
        seen.see("student", weighting, stsb, each)
    write_json(tmp_path / "gains.json", seen.content())
    if not len(ratings):
        return
    cells = [
        Cell(
            Place(encoder="mini", task="stsb", weight=weight),
            [TrainedRun(seed) for seed in (1, 2)],
            pa.concat_tables([table_of(seed, {TEST: {"rating": ratings, "score": each}}) for seed in (1, 2)]),
        )
        for weight, each in zip((0.0, 0.2), cosines, strict=True)
    ]
    rows = [row for cell in cells for row in cell_figures(cell)]
    write_results(tmp_path / "cells.csv", [*rows, *gains_over_none(cells), *over_seeds(rows, [rows])])
    assert not NOT_A_NUMBER.search((tmp_path / "cells.csv").read_text())


@given(drawn=ratings_and_cosines(), data=st.data())
@EXAMPLES
def test_calibrations_and_thresholds(drawn: tuple[Floats, list[Floats]], data: st.DataObject, tmp_path: Path) -> None:
    """What is fitted on some pairs and scored on others, and precision, recall and F1 of counts."""
    ratings, (train, test) = drawn
    if len(train) and data.draw(st.booleans()):
        train[0] = np.nan
    figures = similarity_figures(test, ratings, (0.0, 1.0))
    fitted = calibration(train, 5 * ratings)
    figures["calibrated"] = calibrated_error(fitted, test, ratings, (0.0, 1.0), figures["mae"])
    known = {name: value for name, value in figures.items() if not isinstance(value, Unavailable)}
    found, expected = (data.draw(st.integers(0, 3)) for _ in range(2))
    shares = corpus_quality.figures(data.draw(st.integers(0, min(found, expected))), found, expected)
    assert all(shares[name] or shares["note"] for name in ("precision", "recall", "f1"))
    decided = (ratings > 0.5).astype(np.int8)
    with nullcontext() if len(test) else pytest.raises(InputError, match="no pair to choose a threshold on"):
        for rule in ("accuracy", "logistic"):
            chosen = cross_validated(test, decided, Folds(10, 1, rule))
            known |= {f"{rule} threshold": chosen.value, rule: chosen.accuracy, f"{rule} f1": f1(test, decided, 0.5)}
    interval = spearman_interval(data.draw(st.sampled_from([-1.0, 0.0, 0.999, 1.0])), len(ratings))
    write_json(tmp_path / "known.json", [known, shares, interval])


@given(words=st.lists(st.sampled_from(["PUNCT", "NOUN", "VERB"]), min_size=1, max_size=4), wrong=st.data())
@EXAMPLES
def test_parsers(words: list[str], wrong: st.DataObject, tmp_path: Path) -> None:
    """One word, punctuation alone, or all wrong: of each metric a figure from 0 to 100."""

    def tree(tags: list[str]) -> str:
        heads = ["0\troot", *["1\tdep"] * (len(tags) - 1)]
        rows = [
            f"{n}\tw\tw\t{tag}\t_\t_\t{head}\t_\t_" for n, (tag, head) in enumerate(zip(tags, heads, strict=True), 1)
        ]
        return "\n".join(["# text = " + " ".join("w" for _ in tags), *rows]) + "\n\n"

    parsed = [wrong.draw(st.sampled_from([tag, "X"])) for tag in words]
    found = parser_scores(tree(words), tree(parsed))
    assert all(0 <= value <= 100 for value in found.values())
    write_json(tmp_path / "parser.json", found)


@given(drawn=ratings_and_cosines())
@EXAMPLES
def test_draws(drawn: tuple[Floats, list[Floats]]) -> None:
    """A correlation of each draw is that of scipy on the drawn pairs, or it has none because a side is constant."""
    from scipy.stats import pearsonr, spearmanr

    ratings, (cosines, _) = drawn
    if not len(ratings):
        return
    counts = bootstrap.counts(len(ratings), 20)
    for name, reference in (("pearson", pearsonr), ("spearman", spearmanr)):
        figures = getattr(bootstrap, name)(cosines, ratings, counts)
        for count, figure in zip(counts.astype(int), figures, strict=True):
            sides = [np.repeat(side.astype(np.float64), count) for side in (cosines, ratings)]
            constant = any(np.ptp(side) == 0 for side in sides)
            assert np.isnan(figure) if constant else figure == pytest.approx(reference(*sides).statistic, abs=1e-5)


def test_not_finite_in_a_table() -> None:
    with pytest.raises(ValueError, match="student on mine: spearman has the high inf"):
        Result("student", "mine", "test", "mean", "spearman", 0.5, 3, low=0.1, high=float("inf"))


def test_most_ratings_equal() -> None:
    """45 of 50 pairs are rated 5: one draw in 200 has no other rating, and is left out."""
    scores = np.repeat(np.array([5, 1], np.float32), [45, 5])
    task = TaskSet("sts", PairSet("mine", "test", texts(0, 50), texts(50, 100), scores, None, (1.0, 5.0)))
    encoder = Vectors(np.random.default_rng(1).normal(size=(100, 3)).astype(np.float32))
    own = main_result("mine", encoder, task)
    counts = bootstrap.counts(50)
    assert own.left_out == (counts[:, 45:].sum(axis=1) == 0).sum() > 0
    assert own.low is not None and own.high is not None and -1 < own.low < own.high < 1
    assert next(row for row in evaluate(encoder, [task]) if row.metric == "spearman").left_out == own.left_out
    assert f"{own.left_out:,} draws of the interval are left out" in repr(domain_section([own], []))
