"""Recall of the teacher's neighbours: by hand, with ties, and against a reference of ten lines."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols import neighbours
from sentence_distillery.evaluation.protocols.neighbours import memberships, nearest, recalls
from sentence_distillery.io.ragged import Floats


def vectors(seed: int, texts: int = 60, dimension: int = 8) -> Floats:
    return np.random.default_rng(seed).normal(size=(texts, dimension)).astype(np.float32)


def reference(own: Floats, teacher: Floats, k: int) -> NDArray[np.float64]:
    """The recall of each text if no two cosines are equal."""
    found = []
    for row in range(len(own)):
        sets = []
        for each in (own, teacher):
            cosines = each @ each[row] / np.linalg.norm(each, axis=1) / np.linalg.norm(each[row])
            order = [int(other) for other in np.argsort(-cosines) if other != row]
            sets.append(set(order[:k]))
        found.append(len(sets[0] & sets[1]) / k)
    return np.array(found)


@pytest.mark.parametrize("block", [neighbours.BLOCK, 200, 1])
def test_recall_is_that_of_the_reference(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK", block)
    own, teacher = vectors(1), vectors(1) @ vectors(2, 8, 5)
    found = recalls(own, teacher, [1, 10, 59])
    for k, values in found.items():
        np.testing.assert_allclose(values, reference(own, teacher, k))
    assert 0.2 < found[10].mean() < 0.9
    assert found[59].tolist() == [1.0] * 60


def test_equal_cosines_share_the_places_that_are_left() -> None:
    cosines = np.array([[0.9, 0.5, 0.5, 0.1, -np.inf], [0.3, 0.3, 0.3, 0.3, -np.inf]], np.float32)
    np.testing.assert_allclose(memberships(cosines, 2), np.array([[1, 0.5, 0.5, 0, 0], [0.5, 0.5, 0.5, 0.5, 0]]))
    np.testing.assert_allclose(memberships(cosines, 3), np.array([[1, 1, 1, 0, 0], [0.75, 0.75, 0.75, 0.75, 0]]))


def test_texts_without_a_known_word_find_what_chance_finds() -> None:
    """All their cosines are 0, whatever the order of the texts: k of the n - 1 others."""
    teacher = vectors(4, texts=11)
    found = recalls(np.zeros((11, 3), np.float32), teacher, [1, 5])
    np.testing.assert_allclose(found[1], 0.1)
    np.testing.assert_allclose(found[5], 0.5)


def test_nearest() -> None:
    angles = np.radians([0, 10, 25, 90])
    line = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert nearest(line, 3).tolist() == [[1, 2, 3], [0, 2, 3], [1, 0, 3], [2, 1, 0]]
    assert nearest(line * np.array([[1], [5], [0.2], [9]], np.float32), 1).tolist() == [[1], [0], [1], [2]]


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_are_those_of_a_stable_sort(seed: int) -> None:
    """Also with many equal cosines, zeros of either sign, texts that are no neighbours, and what is no number."""
    rng = np.random.default_rng(seed)
    cosines = (rng.integers(-3, 4, (7, 30)) / 3).astype(np.float32)
    cosines[rng.random(cosines.shape) < 0.1] *= -1
    cosines[rng.random(cosines.shape) < 0.1] = -np.inf
    if seed % 5 == 0:
        cosines[0, 0] = np.nan
    for count in (1, 5, 30):
        expected = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        np.testing.assert_array_equal(neighbours.descending(cosines, count), expected)
