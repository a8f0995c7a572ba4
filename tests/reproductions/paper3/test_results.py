"""The results of paper 3's grid: figures, gains and their intervals, compared with NumPy and by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from reproductions.grid.axes import Place
from reproductions.grid.cell import SCHEMA, SOUP, TEST, Cell, TrainedRun, table_of
from reproductions.paper3 import results as focus
from reproductions.paper3 import section as paper_3
from reproductions.paper3.claims import claims
from reproductions.paper3.component_focus.cells import Inputs
from reproductions.paper3.component_focus.options import ComponentFocus
from reproductions.paper3.gains import UNTRAINED, verdict
from reproductions.paper3.results import cell_figures, gains
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import PAIRS, PROVENANCE, BenchmarkData, PairSet
from sentence_distillery.io.artifacts import write_json, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable
from tests.workspace import demo_params

RATINGS = np.random.default_rng(0).random(200, dtype=np.float32)


def outcome(weight: float | str, noise: float, seeds: int = 2, right: float = 0.5) -> Cell:
    """Make cosines that follow the human ratings up to `noise`; the first share of the labels is right."""
    made = np.random.default_rng(7)
    labels = np.where(np.arange(len(RATINGS)) < right * len(RATINGS), "A", "B").tolist()
    known = {"rating": RATINGS, "label": ["A"] * len(RATINGS), "predicted": labels}
    noises = [noise * made.standard_normal(len(RATINGS)).astype(np.float32) for _ in range(seeds)]
    tables = [table_of(seed, {TEST: {**known, "score": RATINGS + each}}) for seed, each in enumerate(noises)]
    place = Place(encoder="tiny", task="sick", weight=weight)
    return Cell(place, [TrainedRun(seed) for seed in range(seeds)], pa.concat_tables(tables))


def test_each_draw_is_scored_as_numpy_scores_it() -> None:
    found = outcome(0.2, 0.3).column("score")[0]
    counts = bootstrap.counts(len(RATINGS), 3)
    expected = [np.corrcoef(np.repeat(found, row), np.repeat(RATINGS, row))[0, 1] for row in counts.astype(int)]
    assert bootstrap.pearson(found, RATINGS, counts) == pytest.approx(expected, abs=1e-6)
    assert counts.sum(axis=1).tolist() == [len(RATINGS)] * 3


def test_a_gain_that_is_real_and_one_that_is_none() -> None:
    counts = bootstrap.counts(len(RATINGS), 400)
    pearson, accuracy = gains(outcome(0.0, 0.5), outcome(0.2, 0.1, right=0.75), counts)
    direct = [
        np.corrcoef(outcome(0.0, noise).column("score")[s], RATINGS)[0, 1] for noise in (0.5, 0.1) for s in (0, 1)
    ]
    assert pearson.value == pytest.approx(np.mean(direct[2:]) - np.mean(direct[:2]), abs=1e-6)
    assert pearson.low is not None and pearson.high is not None and pearson.number is not None
    assert pearson.low < pearson.number < pearson.high
    assert (verdict(pearson), pearson.n, pearson.seeds) == ("better", 200, 2)
    assert (pearson.metric, accuracy.metric) == ("pearson gain", "accuracy gain")
    assert accuracy.value == pytest.approx(0.25)
    assert verdict(accuracy) == "better"
    same = gains(outcome(0.0, 0.5), outcome(0.2, 0.5), counts)[0]
    assert same.value == pytest.approx(0, abs=1e-9)
    assert verdict(same) == "no difference to be seen"
    assert verdict(gains(outcome(0.0, 0.1), outcome(5.0, 0.5), counts)[0]) == "worse"


def test_gains_on_the_seeds_that_both_have() -> None:
    """Cells are compared on the seeds that both have; the order of the seeds does not matter."""
    base, cell, counts = outcome(0.0, 0.5, seeds=3), outcome(0.2, 0.1, seeds=3), bootstrap.counts(200, 100)
    assert gains(base, cell.of([2, 0]), counts) == gains(base.of([0, 2]), cell, counts)
    assert gains(base, cell.of([1]), counts)[0].seeds == 1
    assert gains(base.of([0]), cell.of([1]), counts) == []


def test_the_mean_of_weights_is_not_compared_beside_its_seeds() -> None:
    cells = [outcome(0.0, 0.5), outcome(0.2, 0.1)]
    assert len(focus.gains_over_none(cells)) == 2
    assert focus.gains_over_none([replace(cell, runs=[TrainedRun(SOUP)]) for cell in cells]) == []


def test_figures_are_means_over_the_seeds() -> None:
    pearson, spearman, accuracy = cell_figures(outcome(0.2, 0.3))
    single = [np.corrcoef(row, RATINGS)[0, 1] for row in outcome(0.2, 0.3).column("score")]
    assert pearson.value == pytest.approx(np.mean(single), abs=1e-6)
    assert pearson.spread == pytest.approx(np.std(single, ddof=1), abs=1e-6)
    assert (pearson.system, pearson.table, pearson.seeds, pearson.n) == ("tiny, W_cf = 0.2", "5", 2, 200)
    assert spearman.metric == "spearman"
    assert (accuracy.value, accuracy.protocol, accuracy.table) == (0.5, "ten folds, penalty within, after pooling", "6")


def test_the_order_of_adding_and_pooling_keeps_series_apart() -> None:
    """A cell that does not say so, such as a function's, adds vectors of whole texts."""
    after = outcome(0.2, 0.3)
    before = replace(after, place=Place(after.place, order="before_pooling", pooling="max"))
    rows = [cell_figures(cell)[0] for cell in (after, before)]
    assert [row.protocol for row in rows] == ["component focus, after pooling", "component focus, before pooling"]
    assert [row.system for row in rows] == ["tiny, W_cf = 0.2", "tiny MAX, W_cf = 0.2"]
    assert [paper_3.series(row) for row in rows] == ["tiny, after pooling", "tiny MAX"]
    assert focus.series_of(after) != focus.series_of(before)


def test_components_of_another_kind_keep_series_apart() -> None:
    """Without prepositional objects: shown under a name of their own, and no claim counts them."""
    cells = [replace(cell, place=Place(cell.place, task="stsb")) for cell in (outcome(0.0, 0.5), outcome(0.2, 0.1))]
    direct = [focus.with_components(cell, prepositional_objects=False) for cell in cells]
    assert focus.series_of(direct[1]) != focus.series_of(cells[1])
    assert focus.series_of(focus.with_components(cells[1], prepositional_objects=True)) == focus.series_of(cells[1])
    rows = [*cell_figures(direct[1]), *focus.gains_over_none(direct)]
    assert {paper_3.series(row) for row in rows} == {"tiny, without prepositional objects, after pooling"}
    assert [row.protocol for row in rows[:3:2]] == [
        "component focus, without prepositional objects, after pooling",
        "ten folds, penalty within, without prepositional objects, after pooling",
    ]
    assert {claim.verdict for claim in claims(rows)} == {"not tested"}
    assert "reproduced" in {claim.verdict for claim in claims(focus.gains_over_none(cells))}


def test_a_learnt_weight_is_no_place_on_the_grid() -> None:
    cell = outcome("roles", 0.3)
    unlabelled = pa.nulls(cell.table.num_rows, pa.string())
    cell = replace(cell, table=cell.table.set_column(5, SCHEMA.field("predicted"), unlabelled))
    rows = cell_figures(cell)
    assert {figure.system for figure in rows} == {"tiny, W_cf learnt: roles"}
    learnt = replace(ROWS[0], weight="roles", value=0.7)
    assert paper_3.grid([learnt, *ROWS]) == paper_3.grid(ROWS)
    counts = bootstrap.counts(len(RATINGS), 100)
    (gain,) = gains(outcome(0.0, 0.5), cell, counts)
    assert (gain.weight, gain.metric, verdict(gain)) == ("roles", "pearson gain", "better")


def test_the_parts_of_a_cell() -> None:
    """Trained with seeds, the mean of their weights, and untrained; one that is absent has the reason."""
    seeds = [None, 1, 2, SOUP]
    known: dict[str, list[Any]] = {"rating": [0.0, 0.5, 1.0], "score": [0.1, 0.3, 0.2]}
    known |= {"label": ["A"] * 3, "predicted": ["A", "B", "A"]}
    table = pa.concat_tables([table_of(seed, {TEST: known}) for seed in seeds])
    parts = Cell(Place(encoder="tiny", task="sick", weight=0.2), list(map(TrainedRun, seeds)), table).parts()
    names = [cell_figures(each)[0].system for each in parts]
    assert names == ["tiny, W_cf = 0.2", "tiny, model soup, W_cf = 0.2", "tiny, untrained, W_cf = 0.2"]
    assert parts[0].column("score").tolist() == [pytest.approx([0.1, 0.3, 0.2])] * 2
    assert parts[2].right.tolist() == [[True, False, True]]
    reason = Unavailable("weights not available here")
    absent = Cell(Place(encoder="tiny", task="sick", weight=0.3), reason)
    assert {row.value for row in cell_figures(absent)} == {reason}


def write_sick(directory: Path, pairs: PairSet) -> BenchmarkData:
    """A directory of benchmark sets with the test split of one."""
    columns = [["test"] * 3, pairs.sentences1, pairs.sentences2, pairs.scores, [None] * 3]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PAIRS, strict=True)]
    write_table(directory / "sick.parquet", pa.Table.from_arrays(arrays, schema=PAIRS))
    entry = {"kind": "pairs", "rows": {"test": 3}, "scale": [0.0, 1.0]}
    write_json(directory / PROVENANCE, {"sets": {"sick": entry}, "absent": {}, "pair_sets": ["sick"]})
    return BenchmarkData(directory)


def test_an_encoder_that_takes_the_component_at_inference_alone(tmp_path: Path) -> None:
    """Any function of texts; a sentence without a tree is its own component, so its direction does not change."""
    texts = ["Dogs bark today", "Dogs bark", "a", "b", "c", "d", "e"]
    known = dict(zip(texts, np.random.default_rng(3).standard_normal((7, 8)).astype(np.float32), strict=True))
    words, tags = texts[0].split(), ["NOUN", "VERB", "NOUN"]
    tree = Tree(words, words, tags, ["NNS", "VBP", "NN"], [2, 0, 2], ["nsubj", "root", "obl"])
    pairs = PairSet("sick", "test", [texts[0], "a", "b"], ["c", "d", "e"], RATINGS[:3], None, (0.0, 1.0))
    inputs = Inputs(write_sick(tmp_path, pairs), tmp_path / "augmented")
    changed = demo_params()["component_focus"] | {"tasks": ["sick"], "weights": [0.2, "one"]}
    section = ComponentFocus.model_validate(changed)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return np.stack([known[text] for text in texts])

    none, some = focus.at_inference("use", embed, focus.Frozen(inputs, {texts[0]: tree}, section), Counters("cells"))
    series = ("use", "sick", UNTRAINED, "False", "after pooling")
    assert [focus.series_of(each) for each in (none, some)] == [series] * 2
    assert [each.place["weight"] for each in (none, some)] == [0.0, 0.2]
    focused = known | {texts[0]: known[texts[0]] + 0.2 * known["Dogs bark"]}
    for found, vectors in ((none, known), (some, focused)):
        two = [[vectors[text] for text in side] for side in (pairs.sentences1, pairs.sentences2)]
        expected = [u @ v / np.sqrt((u @ u) * (v @ v)) for u, v in zip(*two, strict=True)]
        assert found.column("score")[0] == pytest.approx(expected, abs=1e-6)


def row(weight: float, metric: str, value: float, protocol: str = "ten folds") -> Result:
    where = (f"tiny, W_cf = {weight:g}", "sick", "test", protocol, metric)
    return Result(*where, value, 200, encoder="tiny", strategy="component focus", weight=weight)


ROWS = [row(weight, "pearson", 0.8 + weight / 10) for weight in (0.0, 0.2, 1.0)]


def test_the_papers_tables_stand_beside_ours() -> None:
    five, seven, spearman = paper_3.tables([*ROWS, row(0.0, "spearman", 0.7)])
    printed = dict(five.blocks[0][1])
    assert printed["CF-BERT-large, W_cf = 0.2"][0][0].text in ("89.29", "84.35")
    assert [name for name, _ in five.blocks[1][1]] == ["tiny, W_cf = 0", "tiny, W_cf = 0.2"]
    (_, paper), (_, ours) = seven.blocks[0][1]
    assert [cell[0].text for cell in paper if cell[0].text][2] == "89.29"
    assert [cell[0].text for cell in ours if cell[0].text] == ["80.00", "82.00", "90.00"]
    assert [cell[0].text for cell in ours if cell[0].best] == ["90.00"]
    assert [(name, cells[0][0].text) for name, cells in spearman.blocks[0][1]] == [("SICK, tiny", "70.00")]


def test_accuracies_of_different_protocols_stand_apart() -> None:
    """Not in one column of table 6, nor in one line of a grid."""
    rows = [row(weight, "accuracy", 0.8, "ten folds") for weight in (0.0, 1.0)]
    rows += [row(0.0, "accuracy", 0.7, "other folds")]
    six, grid = paper_3.tables(rows)
    assert [group for group, _ in six.groups] == ["SICK, ten folds", "SICK, other folds"]
    assert [[figure.text for cell in cells for figure in cell] for _, cells in six.blocks[1][1]] == [["80.00", "70.00"]]
    assert [name for name, _ in grid.blocks[0][1]] == ["SICK, ten folds, tiny", "SICK, other folds, tiny"]


def test_some_trees_are_shown() -> None:
    trees = {f"text {n}": Tree(["a"] * 6, ["a"] * 6, ["X"] * 6, ["X"] * 6, [0] * 6, ["root"] * 6) for n in range(40)}
    found = focus.shown(trees)
    assert len(found) == focus.SHOWN
    assert json.loads(json.dumps(found)) == found
    assert [drawing.component for drawing in paper_3.drawings({"trees": found})] == ["a a a a a a"] * focus.SHOWN


def test_figure_3_starts_at_nothing_gained() -> None:
    """Each gain over the cell at 0 with the same seeds; no gain of a learnt weight or of one above 1."""
    gain = replace(row(1.0, "pearson gain", 0.1), low=0.05, high=0.15)
    others = [replace(gain, weight=weight) for weight in (2.0, "roles")] + [replace(gain, metric="accuracy gain")]
    paper, ours = paper_3.figure_3([replace(gain, dataset="samples", weight=2.0), gain, *others])
    assert "CF-BERT-large" in paper.title
    assert "10 at 1" in ours.alt and "0 at 0" in ours.alt
