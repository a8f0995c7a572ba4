"""Aggregate the cells of paper 3's grid: figures, and whether W_cf > 0 helps.

A gain is the Pearson correlation (on SICK-E the accuracy) of a cell less that of the cell with W_cf = 0 on the same
pairs. Its interval comes from the paired bootstrap: the test pairs are drawn 2,000 times, with replacement. Both cells
are scored on each draw, seed by seed, and the middle 95% of the mean gains are the interval. A gain whose interval
holds 0 could be the luck of these test pairs.

The static student takes its component at inference alone, as the Universal Sentence Encoder does in the paper, and so
does every function of `component_focus.functions` (encoders/functions.py). Each encoder of the grid is also scored in
this way, before any training, and its weight is learnt while the encoder is frozen (component_focus/frozen_weights.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from reproductions.grid.axes import Place
from reproductions.grid.cell import TEST, Cell, TrainedRun, table_of
from reproductions.grid.results import over_runs
from reproductions.paper3.component_focus.cells import LEARNT, Inputs, benchmarks_of, components_of, entailment, indexed
from reproductions.paper3.component_focus.frozen_weights import Kind, Learnt, learn_all
from reproductions.paper3.component_focus.options import ComponentFocus, PoolingOrder
from reproductions.paper3.gains import DIRECT, GAIN, ORDERS, RATINGS, TRAINED, UNTRAINED, series_name
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.protocols.similarity import correlations, cosines
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.artifacts import read_json
from sentence_distillery.io.contents import Absent, Content, Cosine, Natural, Share
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable
from sentence_distillery.teachers.functions import Embed

SHOWN = 6  # trees in the report
SHORT = 14  # words of a tree that fits on the page
ALIKE = Unavailable("all predictions of a seed are alike")
FOLDS, TRAIN = "ten folds, penalty within", "trained on train"  # protocols


class LearntWeights(Content):
    """The content of learnt.json about one kind of weight."""

    kind: Kind
    weights: dict[str, float]
    step: Natural
    dev: float
    cosines: list[Cosine]
    gold: list[Share]

    @model_validator(mode="after")
    def _same_pairs(self) -> Self:
        if len(self.cosines) != len(self.gold):
            raise ValueError(f"{len(self.cosines)} cosines, but {len(self.gold)} human ratings")
        return self


class LearntFile(Absent):
    """The content of learnt.json: the weights by task."""

    learnt: dict[str, list[LearntWeights]]


def strategy_of(cell: Cell) -> str:
    """Say whether a cell was trained."""
    return UNTRAINED if cell.seeds == [None] else TRAINED


def order_of(cell: Cell) -> str:
    """Say how a cell adds the component; one without that entry has vectors of whole texts."""
    order: PoolingOrder = cell.place.get("order", "after_pooling")
    return ORDERS[order]


def how_added(cell: Cell) -> str:
    """Say which component a cell adds if it is not that of table 2, and in which order."""
    return ", ".join([DIRECT] * (not cell.place.get("prepositional_objects", True)) + [order_of(cell)])


def with_components(cell: Cell, prepositional_objects: bool) -> Cell:
    """Return the cell with its kind of components in its place."""
    return replace(cell, place=Place(cell.place | {"prepositional_objects": prepositional_objects}))


def series_of(cell: Cell) -> tuple[str, ...]:
    """Return the key that a cell shares with the cells of other weights."""
    return cell.place["encoder"], cell.place["task"], strategy_of(cell), str(cell.soup), how_added(cell)


def row_of(cell: Cell, metric: str, values: Sequence[Figure]) -> Result:
    """Make a row of the table of results: the mean of one value for each run, and their spread."""
    encoder, task, weight = (cell.place[name] for name in ("encoder", "task", "weight"))
    kind = [MODEL_SOUP] if cell.soup else [UNTRAINED] if strategy_of(cell) == UNTRAINED else []
    named = f"learnt: {weight}" if isinstance(weight, str) else f"= {weight:g}"
    pooling = cell.place.get("pooling", "")
    labels = metric.startswith("accuracy")
    row = Result(
        system=", ".join([series_name(encoder, pooling), *kind, f"W_cf {named}"]),
        dataset=task,
        split=TEST,
        protocol=f"{FOLDS if labels else RATINGS}, {how_added(cell)}",
        metric=metric,
        value=0.0,
        n=0 if cell.unavailable else cell.column("rating").shape[1],
        paper="3",
        table="6" if labels else "5",
        encoder=encoder,
        pooling=pooling,
        strategy=strategy_of(cell),
        weight=weight,
        seed=MODEL_SOUP if cell.soup else None,
    )
    return over_runs(row, values)


def cell_figures(cell: Cell) -> list[Result]:
    """Compute Pearson, Spearman and, for SICK, the accuracy of SICK-E: the mean over the seeds, and their spread."""
    metrics = ("pearson", "spearman")
    if cell.unavailable:
        return [row_of(cell, name, [cell.unavailable]) for name in metrics]
    by_seed = [correlations(*pairs) for pairs in zip(cell.column("score"), cell.column("rating"), strict=True)]
    rows = [row_of(cell, name, [figures[name] for figures in by_seed]) for name in metrics]
    if cell.right.size:
        rows.append(row_of(cell, "accuracy", cell.right.mean(axis=1).tolist()))
    return [*rows, *(_other(cell, name) for name in cell.there[0].figures)]


def _other(cell: Cell, name: str) -> Result:
    """Make the row of a figure that a cell has computed itself: by a distance, or of labels learnt from train."""
    metric, _, distance = name.partition(" by ")
    row = row_of(cell, metric, [run.figures[name] for run in cell.there])
    protocol = f"{RATINGS} by {distance}" if distance else TRAIN
    return replace(row, protocol=f"{protocol}, {how_added(cell)}")


def gains(base: Cell, cell: Cell, counts: Floats) -> list[Result]:
    """Compute the gain of `cell` over `base`, which has W_cf = 0, with its interval, on the seeds that both have."""
    both = [seed for seed in cell.seeds if seed in base.seeds]
    if not both:
        return []
    base, cell = base.of(both), cell.of(both)
    ratings = base.column("rating")[0]
    draws = np.concatenate([np.ones((1, len(ratings)), dtype=np.float32), counts])  # the first is of every pair once
    old, new = ([bootstrap.pearson(row, ratings, draws) for row in each.column("score")] for each in (base, cell))
    differences = {"pearson": np.mean(np.subtract(new, old), axis=0)}
    if base.right.size and cell.right.size:
        better = cell.right.mean(axis=0) - base.right.mean(axis=0)
        differences["accuracy"] = bootstrap.means(better, draws)
    measured = []
    for name, values in differences.items():
        low, high, left_out = bootstrap.interval(values[1:])
        gain = float(values[0]) if np.isfinite(values[0]) else ALIKE
        row = row_of(cell, GAIN.format(name), [gain])
        measured.append(replace(row, low=low, high=high, left_out=left_out, seeds=len(both)))
    return measured


def gains_over_none(cells: Sequence[Cell]) -> list[Result]:
    """Compute the gain of each weight of a series over 0; nothing if the cell of 0 is not available.

    The model soup has no separate gain: its seeds are compared.
    """
    there = [cell for cell in cells if not cell.unavailable and not cell.soup]
    base = next((cell for cell in there if cell.place["weight"] == 0), None)
    if base is None:
        return []
    counts = bootstrap.counts(base.column("rating").shape[1])
    return [gain for cell in there if cell.place["weight"] for gain in gains(base, cell, counts)]


@dataclass(frozen=True)
class Frozen:
    """The data for scoring frozen encoders: pairs, the tree of each sentence, the tasks and weights."""

    inputs: Inputs
    trees: dict[str, Tree]
    focus: ComponentFocus

    @property
    def sets(self) -> list[str]:
        """The benchmark sets of the tasks that are present."""
        return benchmarks_of(self.focus.tasks, self.inputs.benchmarks)


def at_inference(
    name: str, embed: Embed, frozen: Frozen, counters: Counters, labelled: Sequence[float] | None = None
) -> list[Cell]:
    """Score an encoder with the component only at inference: every weight, and 0, on the test split of each task.

    SICK-E, which takes a minute for each weight, is scored for those in `labelled`; None for all.
    """
    cells = []
    for task in frozen.sets:
        test = frozen.inputs.benchmarks.pairs(task, "test")
        texts, rows = indexed({"test": test})
        basic, part = embed(texts), embed(components_of(texts, frozen.trees, counters))
        weights = sorted({0.0, *(weight for weight in frozen.focus.weights if isinstance(weight, float))})
        for weight in weights:
            known = test if labelled is None or weight in labelled else replace(test, labels=None)
            cells.append(inference(name, known, weight, rows["test"], basic + np.float32(weight) * part))
    return cells


def inference(name: str, test: PairSet, weight: float, rows: NDArray[np.int64], vectors: Floats) -> Cell:
    """Predict from an encoder's vectors (sentences, dimension); `rows` (pairs, 2) index them."""
    one, other = rows.T
    labels = {"label": test.labels, "predicted": entailment(vectors, rows, test.labels)}
    score = cosines(vectors[one], vectors[other])
    return frozen_cell(name, test.name, weight, {"rating": test.unit_scores(), "score": score, **labels})


def frozen_cell(name: str, task: str, weight: float | str, predicted: Mapping[str, Any]) -> Cell:
    """Return a cell of an encoder that is not trained, given its predictions of the test pairs."""
    return Cell(Place(encoder=name, task=task, weight=weight), [TrainedRun(None)], table_of(None, {TEST: predicted}))


def learnt_weights(
    functions: Mapping[str, Embed], frozen: Frozen, cells: Path, counters: Counters
) -> list[tuple[Cell, Learnt]]:
    """Learn the weights for functions of texts, and read those of each encoder from the directory of cells."""
    learnt = {
        (name, task): learn_all(task, embed, frozen.trees, frozen.inputs, counters)
        for name, embed in functions.items()
        for task in frozen.sets
    }
    for name in frozen.focus.encoders:
        tasks: dict[str, list[dict[str, Any]]] = read_json(cells / f"{name}-learnt" / LEARNT, LearntFile)["learnt"]
        learnt |= {(name, task): [Learnt(**each) for each in tasks[task]] for task in tasks}
    return [
        (frozen_cell(name, task, each.kind, {"rating": each.gold, "score": each.cosines}), each)
        for (name, task), every in learnt.items()
        for each in every
    ]


def shown(trees: dict[str, Tree]) -> list[dict[str, Any]]:
    """Choose some trees that fit on a page, spread over the run."""
    short = [text for text, tree in sorted(trees.items()) if 5 <= len(tree.tokens) <= SHORT]
    step = max(1, len(short) // SHOWN)
    return [{"text": text} | asdict(trees[text]) for text in short[::step][:SHOWN]]
