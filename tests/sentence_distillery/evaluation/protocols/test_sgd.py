"""The SGD classifier on embeddings: figures by hand, labels that are missing, and a sample of documents."""

import numpy as np
import pytest

from sentence_distillery.evaluation.present import sample
from sentence_distillery.evaluation.protocols.sgd import classify
from sentence_distillery.evaluation.sets.data import DocumentSet
from sentence_distillery.io.unavailable import Unavailable

LABELS = ["1", "0"] * 40


def blobs(seed: int) -> np.ndarray:
    """The positive class around (3, 0), the other around (-3, 0)."""
    centres = np.array([[3.0, 0.0] if label == "1" else [-3.0, 0.0] for label in LABELS])
    return (centres + np.random.default_rng(seed).normal(size=centres.shape)).astype(np.float32)


def test_figures_by_hand() -> None:
    """Of 4 positive documents 3 look so, and 1 of 2 negative ones: precision 3/4, recall 3/4."""
    test = np.array([[3, 0], [3, 0], [3, 0], [-3, 0], [3, 0], [-3, 0]], dtype=np.float32)
    found = classify(blobs(1), LABELS, test, ["1", "1", "1", "1", "0", "0"], seed=1)
    assert found == {"precision": 0.75, "recall": 0.75, "f1": 0.75}


def test_swapped_labels_are_all_wrong() -> None:
    """No positive document is found: 0 and no warning, not a missing figure."""
    swapped = ["0" if label == "1" else "1" for label in LABELS]
    assert classify(blobs(1), LABELS, blobs(2), swapped, seed=1) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


@pytest.mark.parametrize("split", ["training", "test"])
@pytest.mark.fault(20)
def test_one_class(split: str) -> None:
    """Without two classes there is nothing to classify, and a reason replaces the figure."""
    train, test = (["1"] * 80 if split == name else LABELS for name in ("training", "test"))
    found = classify(blobs(1), train, blobs(2), test, seed=1)
    assert set(found.values()) == {Unavailable(f"all {split} documents have one label")}


def test_sample_keeps_texts_with_their_labels() -> None:
    whole = DocumentSet("imdb", "train", [f"{row} {label}" for row, label in enumerate(LABELS)], LABELS)
    few = sample(whole, 20, seed=1)
    assert len(set(few.texts)) == len(few.labels) == 20
    assert [text.split()[1] for text in few.texts] == few.labels
    assert few == sample(whole, 20, seed=1) != sample(whole, 20, seed=2)
    assert sample(whole, 1_000, seed=1) == whole
