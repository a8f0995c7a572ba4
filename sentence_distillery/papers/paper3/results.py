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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.benchmarks import bootstrap
from sentence_distillery.benchmarks.data import PairSet
from sentence_distillery.benchmarks.metrics import Figure, correlations, cosines
from sentence_distillery.component_focus.cells import (
    CELL,
    LEARNT,
    PREDICTIONS,
    SCHEMA,
    SOUP_ROW,
    CellKey,
    Inputs,
    benchmarks_of,
    components_of,
    entailment,
)
from sentence_distillery.component_focus.frozen_weights import Kind, Learnt, learn_all
from sentence_distillery.component_focus.options import ComponentFocus
from sentence_distillery.encoders.functions import Embed
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.io.artifacts import read_json, read_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.papers.paper3.gains import GAIN, TRAINED, UNTRAINED
from sentence_distillery.syntax.trees import Tree

SHOWN = 6  # trees in the report
NO_LABELS = np.zeros((0, 0), dtype=bool)
NOTHING = np.zeros(0, dtype=np.float32)
SHORT = 14  # words of a tree that fits on the page

Seed = int | str | None  # the model soup has a name; None: nothing was trained


@dataclass(frozen=True)
class CellPredictions:
    """The test predictions of a cell by seed; `right` marks correct labels of SICK-E, (0, 0) without labels."""

    encoder: str
    task: str
    weight: float | Kind  # W_cf, or how it was learnt
    ratings: NDArray[np.float32]  # (pairs,) human ratings
    cosines: Floats  # (seeds, pairs)
    right: NDArray[np.bool_]  # (seeds, pairs)
    unavailable: Unavailable | None = None
    seeds: tuple[Seed, ...] = (None,)

    def of(self, seeds: Sequence[Seed]) -> "CellPredictions":
        """Select the predictions of these seeds, in their order."""
        rows = [self.seeds.index(seed) for seed in seeds]
        right = self.right[rows] if self.right.size else NO_LABELS
        return replace(self, cosines=self.cosines[rows], right=right, seeds=tuple(seeds))

    @property
    def strategy(self) -> str:
        """Whether it was trained."""
        return UNTRAINED if self.seeds == (None,) and not self.unavailable else TRAINED

    @property
    def soup(self) -> bool:
        """Whether it is the model soup of the seeds."""
        return self.seeds == (MODEL_SOUP,)

    @property
    def series(self) -> tuple[str, ...]:
        """What it has in common with the cells of other weights."""
        return self.encoder, self.task, self.strategy, str(self.soup)

    def result(self, metric: str, values: Sequence[Figure]) -> Result:
        """Make a row of the table of results: the mean of one value for each seed, and their spread."""
        known = [value for value in values if not isinstance(value, Unavailable)]
        missing = next((value for value in values if isinstance(value, Unavailable)), None)
        learnt = isinstance(self.weight, str)
        kind = [MODEL_SOUP] if self.soup else [UNTRAINED] if self.strategy == UNTRAINED else []
        weight = f"W_cf {f'learnt: {self.weight}' if learnt else f'= {self.weight:g}'}"
        return Result(
            system=", ".join([self.encoder, *kind, weight]),
            dataset=self.task,
            split="test",
            protocol="ten folds, penalty within" if metric.startswith("accuracy") else "component focus",
            metric=metric,
            value=missing or float(np.mean(known)),
            n=len(self.ratings),
            paper="3",
            table="6" if metric.startswith("accuracy") else "5",
            seeds=len(values),
            spread=float(np.std(known, ddof=1)) if len(known) > 1 and not missing else None,
            encoder=self.encoder,
            strategy=self.strategy,
            weight=self.weight,
            seed=MODEL_SOUP if self.soup else None,
        )


def read_predictions(key: CellKey, cells: Path) -> list[CellPredictions]:
    """Read one cell: trained; the model soup of its seeds; before any training, if W_cf is a number."""
    encoder, task, weight = key.encoder, key.task, key.weight
    directory = cells / str(key)
    if unavailable := read_unavailable(directory / CELL):
        return [CellPredictions(encoder, task, weight, NOTHING, NOTHING[None, :], NO_LABELS, unavailable)]
    table = read_table(directory / PREDICTIONS, SCHEMA)
    table = table.filter(pc.equal(table["split"], "test"))
    seeds = table["seed"]
    kinds = [pc.not_equal(seeds, SOUP_ROW), pc.equal(seeds, SOUP_ROW), pc.is_null(seeds)]
    return [_predictions_of(key, rows) for kind in kinds if (rows := table.filter(kind)).num_rows]


def _predictions_of(key: CellKey, table: pa.Table) -> CellPredictions:
    seeds: list[Seed] = list(dict.fromkeys(table["seed"].to_pylist()))
    ratings, cosine, labels, predicted = (
        table[column].to_numpy().reshape(len(seeds), -1) for column in ("score", "cosine", "label", "predicted")
    )
    right = labels == predicted if table["predicted"].null_count == 0 else NO_LABELS
    named = tuple(MODEL_SOUP if seed == SOUP_ROW else seed for seed in seeds)
    return CellPredictions(key.encoder, key.task, key.weight, ratings[0], cosine, right, seeds=named)


def cell_figures(cell: CellPredictions) -> list[Result]:
    """Compute Pearson, Spearman and, for SICK, the accuracy of SICK-E: the mean over the seeds, and their spread."""
    if cell.unavailable:
        return [cell.result(name, [cell.unavailable]) for name in ("pearson", "spearman")]
    by_seed = [correlations(row, cell.ratings) for row in cell.cosines]
    rows = [cell.result(name, [figures[name] for figures in by_seed]) for name in ("pearson", "spearman")]
    if cell.right.size:
        rows.append(cell.result("accuracy", [float(row.mean()) for row in cell.right]))
    return rows


def gains(base: CellPredictions, cell: CellPredictions, counts: Floats) -> list[Result]:
    """Compute the gain of `cell` over `base`, which has W_cf = 0, with its interval, on the seeds that both have."""
    both = [seed for seed in cell.seeds if seed in base.seeds]
    if not both:
        return []
    base, cell = base.of(both), cell.of(both)
    every = np.ones((1, len(base.ratings)), dtype=np.float32)
    differences = {
        "pearson": np.mean(
            [
                bootstrap.pearson(new, base.ratings, np.concatenate([every, counts]))
                - bootstrap.pearson(old, base.ratings, np.concatenate([every, counts]))
                for old, new in zip(base.cosines, cell.cosines, strict=True)
            ],
            axis=0,
        )
    }
    if base.right.size and cell.right.size:
        better = cell.right.mean(axis=0) - base.right.mean(axis=0)
        differences["accuracy"] = bootstrap.means(better, np.concatenate([every, counts]))
    measured = []
    for name, values in differences.items():
        low, high = bootstrap.interval(values[1:])
        row = cell.result(GAIN.format(name), [float(values[0])])
        measured.append(replace(row, low=low, high=high, seeds=len(base.cosines)))
    return measured


def gains_over_none(cells: Sequence[CellPredictions]) -> list[Result]:
    """Compute the gain of each weight of a series over 0; nothing if the cell of 0 is not available.

    The model soup has no separate gain: its seeds are compared.
    """
    there = [cell for cell in cells if not cell.unavailable and not cell.soup]
    base = next((cell for cell in there if cell.weight == 0), None)
    if base is None:
        return []
    counts = bootstrap.counts(len(base.ratings))
    return [gain for cell in there if cell.weight for gain in gains(base, cell, counts)]


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


def at_inference(name: str, embed: Embed, frozen: Frozen, counters: Counters) -> list[CellPredictions]:
    """Score an encoder with the component only at inference: every weight, and 0, on the test split of each task."""
    cells = []
    for task in frozen.sets:
        test = frozen.inputs.benchmarks.pairs(task, "test")
        texts = list(dict.fromkeys(test.sentences1 + test.sentences2))
        place = {text: row for row, text in enumerate(texts)}
        rows = np.array([[place[text] for text in side] for side in (test.sentences1, test.sentences2)]).T
        basic, part = embed(texts), embed(components_of(texts, frozen.trees, counters))
        weights = sorted({0.0, *(weight for weight in frozen.focus.weights if isinstance(weight, float))})
        cells += [inference(name, test, weight, rows, basic + np.float32(weight) * part) for weight in weights]
    return cells


def inference(name: str, test: PairSet, weight: float, rows: NDArray[np.int64], vectors: Floats) -> CellPredictions:
    """Predict from an encoder's vectors (sentences, dimension); `rows` (pairs, 2) index them."""
    one, other = rows.T
    ratings = test.scores if test.scores is not None else NOTHING
    labels = entailment(vectors, rows, test.labels)
    right = NO_LABELS if labels is None else np.array([labels]) == np.array([test.labels])
    cosine = cosines(vectors[one], vectors[other])[None, :]
    return CellPredictions(name, test.name, weight, ratings, cosine, right)


def learnt_weights(
    functions: Mapping[str, Embed], frozen: Frozen, cells: Path, counters: Counters
) -> list[tuple[CellPredictions, Learnt]]:
    """Learn the weights for functions of texts, and read those of each encoder from the directory of cells."""
    learnt = {
        (name, task): learn_all(task, embed, frozen.trees, frozen.inputs, counters)
        for name, embed in functions.items()
        for task in frozen.sets
    }
    for name in frozen.focus.encoders:
        tasks: dict[str, list[dict[str, Any]]] = read_json(cells / f"{name}-learnt" / LEARNT)["learnt"]
        learnt |= {(name, task): [Learnt(**each) for each in tasks[task]] for task in tasks}
    return [(_learnt(name, task, each), each) for (name, task), every in learnt.items() for each in every]


def _learnt(name: str, task: str, learnt: Learnt) -> CellPredictions:
    ratings, cosine = np.array(learnt.gold, np.float32), np.array([learnt.cosines], np.float32)
    return CellPredictions(name, task, learnt.kind, ratings, cosine, NO_LABELS)


def shown(trees: dict[str, Tree]) -> list[dict[str, Any]]:
    """Choose some trees that fit on a page, spread over the run."""
    short = [text for text, tree in sorted(trees.items()) if 5 <= len(tree.tokens) <= SHORT]
    step = max(1, len(short) // SHOWN)
    return [{"text": text} | asdict(trees[text]) for text in short[::step][:SHOWN]]
