"""Weights of tokens and removed directions, by hand and compared with short NumPy references."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer

from reproductions.paper1.word_vectors.weighting import (
    Components,
    Floats,
    Weighting,
    components_kept,
    fit_components,
    frequencies,
    token_weights,
)
from sentence_distillery.io.artifacts import InputError, write_tensors
from sentence_distillery.io.ragged import TokenIds

CORPUS = TokenIds.from_lists([[0, 0, 1], [0, 2], [], [0, 1, 1, 1]])
FITTED = [Weighting.SIF, Weighting.DPCS, Weighting.DPCS_COMMON]
SQUARE = np.array([[3, 1], [-3, 1], [3, -1], [-3, -1]], dtype=np.float32)


def random_vectors(seed: int = 0) -> Floats:
    """200 sentence vectors of 8 dimensions with unequal variances and a mean that is not zero."""
    scales = np.array([5, 3, 2, 1, 0.5, 0.3, 0.2, 0.1])
    vectors: Floats = (np.random.default_rng(seed).normal(size=(200, 8)) * scales + 2).astype(np.float32)
    return vectors


def test_tf_idf_weights_are_those_of_scikit_learn() -> None:
    occurrences = np.array([[2, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [1, 3, 0, 0]])
    reference = TfidfTransformer().fit(occurrences).idf_
    np.testing.assert_allclose(token_weights(Weighting.TF_IDF, frequencies(CORPUS, 4)), reference, rtol=1e-6)


@pytest.mark.parametrize("weighting", FITTED)
def test_sif_weights_are_equation_7(weighting: Weighting) -> None:
    weights = token_weights(weighting, frequencies(CORPUS, 4), smoothing=1 / 9)
    assert weights == pytest.approx([1 / 5, 1 / 5, 1 / 2, 1])
    assert weights.dtype == np.float32


@pytest.mark.parametrize("weighting", Weighting)
@pytest.mark.fault(19)
def test_weights_from_an_empty_corpus(weighting: Weighting) -> None:
    """Without any text every token is unseen, and counts 1."""
    assert token_weights(weighting, frequencies(TokenIds.from_lists([]), 3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("weighting", [Weighting.MEAN, Weighting.TF_IDF])
def test_nothing_is_removed(weighting: Weighting) -> None:
    components = fit_components(weighting, SQUARE)
    assert components.kept == 2
    assert components.apply(SQUARE).tolist() == SQUARE.tolist()


def test_sif_removes_the_first_right_singular_vector() -> None:
    vectors = random_vectors()
    _, _, directions = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    first = directions[0]
    reference = vectors - np.outer(vectors @ first, first)
    np.testing.assert_allclose(fit_components(Weighting.SIF, vectors).apply(vectors), reference, atol=1e-4)


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.95, 0.999])
def test_dpcs_is_equations_9_to_12(threshold: float) -> None:
    vectors = random_vectors()
    eigenvalues, columns = np.linalg.eigh(np.cov(vectors.astype(np.float64).T))
    order = np.argsort(-eigenvalues)
    contributions = eigenvalues[order] / eigenvalues.sum()
    kept = next(k for k in range(1, 9) if contributions[:k].sum() >= threshold)
    reference = vectors.astype(np.float64)
    for j in order[kept:]:
        reference = reference - np.outer(vectors @ columns[:, j], columns[:, j])
    components = fit_components(Weighting.DPCS, vectors, threshold)
    assert components.kept == kept == PCA(threshold).fit(vectors).n_components_
    np.testing.assert_allclose(components.apply(vectors), reference, atol=1e-4)


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.999])
def test_dpcs_with_the_common_direction_is_dpcs_and_then_sif(threshold: float) -> None:
    vectors, others = random_vectors(), random_vectors(seed=1)
    dpcs = fit_components(Weighting.DPCS, vectors, threshold)
    sif = fit_components(Weighting.SIF, dpcs.apply(vectors))
    both = fit_components(Weighting.DPCS_COMMON, vectors, threshold)
    assert both.kept == dpcs.kept - 1
    np.testing.assert_allclose(both.apply(others), sif.apply(dpcs.apply(others)), atol=1e-4)


def test_components_kept_by_hand() -> None:
    eigenvalues = np.array([4.0, 3.0, 2.0, 1.0])
    thresholds = [0.1, 0.4, 0.41, 0.7, 0.95, 1.0]
    assert [components_kept(eigenvalues, threshold) for threshold in thresholds] == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize("weighting", FITTED)
@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        (np.full((4, 3), 0.1), "4 sentence vectors, none unlike"),
        (np.empty((0, 3)), "0 sentence vectors, none unlike"),
        (np.array([[1, 2], [3, np.nan]]), "some of 2 sentence vectors are not finite"),
    ],
    ids=["all alike", "none", "not finite"],
)
@pytest.mark.fault(19)
def test_vectors_without_a_principal_direction(weighting: Weighting, vectors: Floats, reason: str) -> None:
    """Vectors that do not differ, or are not finite, are refused with the reason, and give no NaN."""
    with pytest.raises(InputError, match=rf"{re.escape(weighting)} cannot be fitted: {reason}"):
        fit_components(weighting, vectors.astype(np.float32))


@pytest.mark.parametrize("weighting", FITTED)
@pytest.mark.fault(19)
def test_fewer_sentences_than_dimensions(weighting: Weighting) -> None:
    """A zero sentence stays zero, and two sentences are enough for finite vectors."""
    vectors = np.array([[1, 2, 3, 4], [4, 3, 2, 1], [0, 0, 0, 0]], dtype=np.float32)
    applied = fit_components(weighting, vectors[:2]).apply(vectors)
    assert np.isfinite(applied).all()
    assert applied[2].tolist() == [0, 0, 0, 0]


def test_apply_to_another_dimension() -> None:
    with pytest.raises(ValueError, match=r"shape \(4, 3\) do not fit components of dimension 2"):
        fit_components(Weighting.SIF, SQUARE).apply(np.ones((4, 3), dtype=np.float32))


@pytest.mark.parametrize("weighting", [Weighting.MEAN, Weighting.DPCS_COMMON])
def test_components_that_are_saved_come_back(weighting: Weighting, tmp_path: Path) -> None:
    components = fit_components(weighting, random_vectors())
    components.save(tmp_path / "components.safetensors")
    loaded = Components.load(tmp_path / "components.safetensors")
    np.testing.assert_array_equal(loaded.removed, components.removed)


@pytest.mark.parametrize("removed", [np.full((1, 3), np.nan), np.ones((2, 3)), np.full((1, 3), np.inf)])
@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.fault(22)
def test_components_that_were_altered(removed: Floats, tmp_path: Path) -> None:
    """Rows that are not orthonormal are refused."""
    path = tmp_path / "components.safetensors"
    write_tensors(path, {"removed": removed.astype(np.float32)})
    with pytest.raises(InputError, match=r"components.safetensors: the rows of 'removed' are not orthonormal"):
        Components.load(path)


@pytest.mark.fault(21)
def test_pickled_components(tmp_path: Path) -> None:
    """A pickle is refused."""
    path = tmp_path / "components.safetensors"
    path.write_bytes(pickle.dumps(SQUARE))
    with pytest.raises(InputError, match="Pickled models"):
        Components.load(path)
