"""What the cells of paper 3's grid leave, and the components that they and their judge work with.

data/component_focus/<encoder>-<task>-<W_cf>/
    predictions.parquet    a row for each seed and pair of dev and test: score on [0, 1], cosine, label, and the label
                           that logistic regression gave it (SICK-E); without a seed: before any training
    cell.json              what it was; why it is absent, or null
data/component_focus/<encoder>-learnt/
    learnt.json            weights that were learnt, by task; why there are none, or null
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from stages.ragged import Floats
from stages.stage import Counters
from stages.syntax.components import component
from stages.syntax.trees import Tree

CELLS = Path("data/component_focus")
PREDICTIONS = "predictions.parquet"
CELL = "cell.json"
LEARNT = "learnt.json"
FOLDS = 10
SCHEMA = pa.schema(
    [
        ("seed", pa.int64()),
        ("split", pa.string()),
        ("score", pa.float32()),
        ("cosine", pa.float32()),
        ("label", pa.string()),
        ("predicted", pa.string()),
    ]
)


def components_of(texts: list[str], trees: dict[str, Tree], counters: Counters) -> list[str]:
    """The component of each text, as a text; the text itself where it has no tree. Counts how each was found."""
    found = []
    for text in texts:
        tree = trees.get(text)
        part = component(tree) if tree else None
        name = f"components by {part.route}" if part else "sentences without a tree"
        counters.details[name] = int(counters.details.get(name, 0)) + 1
        found.append(part.text if part else text)
    return found


def entailment(vectors: Floats, rows: NDArray[np.int64], labels: list[str]) -> list[str]:
    """The label that logistic regression on |u - v| gives each pair when trained on the nine other folds."""
    features = np.abs(vectors[rows[:, 0]] - vectors[rows[:, 1]])
    model = LogisticRegression(max_iter=1000)
    return list(map(str, cross_val_predict(model, features, np.array(labels), cv=FOLDS)))
