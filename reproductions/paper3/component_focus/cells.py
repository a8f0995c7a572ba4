"""Inputs and outputs of the cells of paper 3's grid, and the components of sentences.

<encoder>-<task>-<W_cf>/
    a cell of an experiment (papers/grid/cell.py): the pairs of dev and test; the label that is predicted is that of
    logistic regression (SICK-E)
<encoder>-learnt/
    learnt.json            weights that were learnt, by task; why there are none, or null
<task>/
    pairs.parquet          sentence1, sentence2 and score on [0, 1] of the pairs that a task +augmented is trained on
    augmented.json         why there are none, or null; how many are which; losses and dev Spearman of the teachers
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from reproductions.grid.guard import guarded
from reproductions.paper3.syntax.components import component, without_obliques
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation.protocols.similarity import correlations
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet, Split
from sentence_distillery.io.artifacts import read_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

if TYPE_CHECKING:
    from sklearn.model_selection import GridSearchCV

LEARNT = "learnt.json"
AUGMENTED_TABLE = "pairs.parquet"
AUGMENTED_ABOUT = "augmented.json"
WITH_LABELS = "+labels"
WITH_AUGMENTED = "+augmented"
FOLDS = 10
INNER_FOLDS = 3
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
STRENGTHS = (1.0, 3.0, 10.0, 30.0)  # of logistic regression: the inverse of its penalty
TRAINING = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float32())])

Sets = Mapping[Split, PairSet]


@dataclass(frozen=True)
class Inputs:
    """The sources of a task's pairs: the benchmark sets, and the directory of augmented pairs, <task>/ each."""

    benchmarks: BenchmarkData
    augmented_pairs: Path


def benchmark_of(task: str) -> str:
    """Return the benchmark set of a task: that of `sick+labels` is SICK, that of `stsb+augmented` STS-B."""
    return task.partition("+")[0]


def benchmarks_of(tasks: Sequence[str], benchmarks: BenchmarkData) -> list[str]:
    """Return the sets of these tasks that are present, each once."""
    names = dict.fromkeys(map(benchmark_of, tasks))
    return [name for name in names if name in benchmarks.available("pairs")]


def task_pairs(task: str, inputs: Inputs, counters: Counters) -> Sets:
    """Read the splits of a task; a training pair that is in dev or test, in either order, is dropped and counted."""
    name = benchmark_of(task)
    train, dev, test = (inputs.benchmarks.pairs(name, split) for split in SPLITS)
    if WITH_AUGMENTED in task:
        left, right, scores = read_table(inputs.augmented_pairs / task / AUGMENTED_TABLE, TRAINING).columns
        train = PairSet(name, "train", left.to_pylist(), right.to_pylist(), scores.to_numpy(), None, (0.0, 1.0))
    train = guarded(train, {f"{name} dev": dev, f"{name} test": test}, counters)
    return {"train": train, "dev": dev, "test": test}


def indexed(sets: Sets) -> tuple[list[str], dict[Split, NDArray[np.int64]]]:
    """Return each text once, those of the first split first, and for each split their places as (pairs, 2)."""
    sides = {split: (pairs.sentences1, pairs.sentences2) for split, pairs in sets.items()}
    texts = list(dict.fromkeys(text for two in sides.values() for side in two for text in side))
    place = {text: row for row, text in enumerate(texts)}
    return texts, {split: np.array([[place[text] for text in side] for side in two]).T for split, two in sides.items()}


def spearman(predicted: Floats, ratings: NDArray[np.float32]) -> float:
    """Compute Spearman, to choose by; -1 if it is not available."""
    found = correlations(predicted, ratings)["spearman"]
    return -1.0 if isinstance(found, Unavailable) else found


def analysed(trees: dict[str, Tree], prepositional_objects: bool) -> dict[str, Tree]:
    """Return the trees from which components are taken: without prepositional objects if they are not wanted."""
    return trees if prepositional_objects else {text: without_obliques(tree) for text, tree in trees.items()}


def parts_of(tree: Tree, kind: str) -> dict[str, str]:
    """Return the parts of a sentence by name, each as a text: several for `tags` and `roles`, else its component."""
    if kind == "tags":
        return _grouped(tree.upos, tree.tokens)
    found = component(tree)
    return _grouped(found.roles, found.words) if kind == "roles" else {"component": found.text}


def _grouped(names: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    groups: dict[str, list[str]] = {}
    for name, word in zip(names, words, strict=True):
        groups.setdefault(name, []).append(word)
    return {name: " ".join(group) for name, group in groups.items()}


def components_of(texts: list[str], trees: dict[str, Tree], counters: Counters) -> list[str]:
    """Return the component of each text, or the text itself if it has no tree; count how each was found."""
    components = []
    for text in texts:
        tree = trees.get(text)
        part = component(tree) if tree else None
        name = f"components by {part.route}" if part else "sentences without a tree"
        counters.details[name] = int(counters.details.get(name, 0)) + 1
        components.append(part.text if part else text)
    return components


def entailment(vectors: Floats, rows: NDArray[np.int64], labels: list[str] | None) -> list[str] | None:
    """Predict the label of each pair by logistic regression on |u - v|, trained on the nine other folds.

    Three folds of those nine choose the penalty. The vectors are scaled to a mean length of 1, so that the same range
    of penalties suits all encoders. `rows` (pairs, 2) index the vectors (sentences, dimension). Returns None
    without labels.
    """
    if labels is None:
        return None
    from sklearn.model_selection import cross_val_predict  # takes a second, and few tasks have labels

    with threadpool_limits(1):  # threads cost more than such small problems take
        found = cross_val_predict(_regression(), _features(vectors, rows, rows), np.array(labels), cv=FOLDS)
    return list(map(str, found))


def entailment_of_train(vectors: Floats, rows: Mapping[Split, NDArray[np.int64]], labels: list[str]) -> list[str]:
    """Predict the label of each test pair like `entailment`, trained on the training pairs, which have `labels`."""
    scale_by = np.concatenate([rows["train"], rows["test"]])
    train, test = (_features(vectors, rows[split], scale_by) for split in ("train", "test"))
    with threadpool_limits(1):
        return list(map(str, _regression().fit(train, np.array(labels)).predict(test)))


def _features(vectors: Floats, rows: NDArray[np.int64], scale_by: NDArray[np.int64]) -> Floats:
    """Return |u - v| of pairs, relative to the mean length of the sentences of the pairs `scale_by`."""
    scale = np.linalg.norm(vectors[np.concatenate([scale_by[:, 0], scale_by[:, 1]])], axis=1).mean()
    features: Floats = np.abs(vectors[rows[:, 0]] - vectors[rows[:, 1]]) / scale
    return features


def _regression() -> "GridSearchCV":
    """Return logistic regression whose penalty is chosen in INNER_FOLDS folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(LogisticRegression(max_iter=1000), {"C": STRENGTHS}, cv=INNER_FOLDS)
