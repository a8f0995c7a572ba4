"""The map of the texts: by hand, and what it keeps of real neighbours."""

import numpy as np
import pytest

from sentence_distillery.io.ragged import Floats
from sentence_distillery.serving.map import Map, draw


def groups(count: int, size: int, seed: int = 0) -> Floats:
    """Unit vectors in groups far from each other."""
    random = np.random.default_rng(seed)
    centres = np.repeat(np.eye(32, dtype=np.float32)[:count], size, axis=0)
    vectors = centres + random.normal(0, 0.05, centres.shape).astype(np.float32)
    found: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return found


def test_few_texts_by_hand() -> None:
    """Three unit vectors in two dimensions: distances stay, the widest direction first; a zero vector has no place."""
    half = np.sqrt(0.5)
    found = draw(np.array([[0, 1], [1, 0], [half, half], [0, 0]], np.float32))
    assert (found.method, found.drawn.tolist(), found.kept) == ("PCA", [0, 1, 2], None)
    assert np.abs(found.points).max() == pytest.approx(1)
    spread = found.points.var(axis=0)
    assert spread[0] > spread[1]
    distances = np.linalg.norm(found.points[0] - found.points[1]) / np.linalg.norm(found.points[0] - found.points[2])
    assert distances == pytest.approx(np.sqrt(2) / np.sqrt(2 - np.sqrt(2)), rel=1e-4)
    assert found.place(3) is None


@pytest.mark.parametrize("vectors", [[], [[0.0, 0.0]], [[1.0, 0.0]], [[1.0]], [[0.6, 0.8]] * 40])
def test_nothing_to_tell_apart(vectors: list[list[float]]) -> None:
    found = draw(np.array(vectors, np.float32).reshape(len(vectors), -1 if vectors else 2))
    assert found.points.shape == (len(found.drawn), 2)
    assert np.isfinite(found.points).all()


def test_groups_stay_together() -> None:
    """Each text is drawn nearer to its group than to any other; twice the same."""
    vectors = groups(5, 30)
    found = draw(vectors)
    assert found.method == "t-SNE"
    points = found.points.reshape(5, 30, 2)
    middles = points.mean(axis=1)
    distances = np.linalg.norm(found.points[:, None] - middles[None], axis=2)
    assert (distances.argmin(axis=1) == np.repeat(np.arange(5), 30)).all()
    np.testing.assert_array_equal(draw(vectors).points, found.points)


def test_a_text_that_is_not_drawn_is_amid_its_nearest() -> None:
    vectors = groups(4, 25)
    found = draw(vectors, 50)
    assert found.drawn.tolist() == sorted(set(np.linspace(0, 99, 50).astype(int).tolist()))
    left_out = next(index for index in range(100) if index not in set(found.drawn.tolist()))
    place = found.place(left_out)
    same = found.points[found.drawn // 25 == left_out // 25]
    assert place is not None
    assert np.linalg.norm(place - same.mean(axis=0)) < np.abs(found.points).max() / 2


def test_the_share_of_neighbours_that_it_keeps() -> None:
    """Compared with a count by hand; a map whose points are the vectors keeps all."""
    random = np.random.default_rng(1)
    angles = np.sort(random.uniform(0, 2 * np.pi, 60))
    circle = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    assert Map(circle, np.arange(60), circle, "PCA").kept == 1
    shuffled = Map(circle, np.arange(60), circle[random.permutation(60)], "PCA")
    kept = 0
    for index in range(60):
        near, shown = (
            set(np.argsort(np.linalg.norm(points - points[index], axis=1))[1:11].tolist())
            for points in (circle, shuffled.points)
        )
        kept += len(near & shown)
    assert shuffled.kept == pytest.approx(kept / 600)
