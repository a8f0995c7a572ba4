"""Weighting schemes: fitted once on the corpus, saved, and reused unchanged for new text."""

from pathlib import Path

import numpy as np
import pytest

from reproductions.paper1.word_vectors.weighting import Weighting
from reproductions.systems.options import Evaluate
from reproductions.systems.systems import StudentSystem, System, TeacherSystem, WordSystem
from reproductions.systems.weighted import Scheme, embed, fit_schemes, save_schemes
from sentence_distillery.io.artifacts import read_tensors
from sentence_distillery.io.ragged import Floats, TokenIds
from tests.workspace import demo_params

PARAMS = Evaluate(**demo_params()["evaluate"] | {"variance_threshold": 0.8, "fit_sentences": 30})
CORPUS = [
    f"{first} {second} {third}."
    for first in ("the storm", "the dog")
    for second in ("closed", "plays", "closed the", "plays the")
    for third in ("harbour", "storm", "dog", "the harbour", "unheard")
]


def by_name(schemes: list[Scheme]) -> dict[Weighting, Scheme]:
    return {scheme.weighting: scheme for scheme in schemes}


def test_weights_by_hand(words: WordSystem) -> None:
    schemes = by_name(fit_schemes(words, CORPUS, PARAMS))
    text = " ".join(CORPUS).replace(".", "").split()
    counts = np.array([text.count(word) for word in words.model.words])
    sentences = np.array([sum(word in line.rstrip(".").split() for line in CORPUS) for word in words.model.words])
    tf_idf, sif = schemes[Weighting.TF_IDF].weights, schemes[Weighting.SIF].weights
    assert schemes[Weighting.MEAN].weights is None and tf_idf is not None and sif is not None
    np.testing.assert_allclose(tf_idf, np.log((1 + len(CORPUS)) / (1 + sentences)) + 1, rtol=1e-6)
    np.testing.assert_allclose(sif, 1e-3 / (1e-3 + counts / counts.sum()), rtol=1e-6)
    np.testing.assert_array_equal(sif, schemes[Weighting.DPCS].weights)


@pytest.mark.parametrize("kind", ["words", "student", "teacher"])
def test_fitted_once_and_reused(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence's vector does not depend on the others in the call: nothing is fitted on the text under test."""
    system: System = request.getfixturevalue(kind)
    pooled, pool = [], type(system).pool

    def counted(self: System, tokens: TokenIds, weights: list[Floats | None]) -> list[Floats]:
        pooled.append(len(tokens))
        return pool(self, tokens, weights)

    monkeypatch.setattr(type(system), "pool", counted)
    schemes = fit_schemes(system, CORPUS, PARAMS)
    new = ["The dog closed the harbour", "storm", "The storm plays", "unheard of"]
    together = embed(system, schemes, new)
    for row, sentence in enumerate(new):
        for alone, all_of_them in zip(embed(system, schemes, [sentence]), together, strict=True):
            np.testing.assert_allclose(alone[0], all_of_them[row], atol=1e-5)
    assert pooled == [PARAMS.fit_sentences, 4, 1, 1, 1, 1]


@pytest.mark.fault(27)
def test_the_sample_is_seeded(words: WordSystem) -> None:
    """The same seed draws the same sentences."""
    first, second = (by_name(fit_schemes(words, CORPUS, PARAMS)) for _ in range(2))
    other = by_name(fit_schemes(words, CORPUS, PARAMS.model_copy(update={"seed": 2})))
    removed = first[Weighting.SIF].components.removed
    np.testing.assert_array_equal(removed, second[Weighting.SIF].components.removed)
    assert not np.array_equal(removed, other[Weighting.SIF].components.removed)


def test_silent_tokens_count_in_the_mean_alone(student: StudentSystem, teacher: TeacherSystem) -> None:
    for system in (student, teacher):
        for scheme in fit_schemes(system, CORPUS, PARAMS):
            if scheme.weights is not None:
                assert not scheme.weights[list(system.silent)].any()
                assert scheme.weights.sum() > 0


def test_saved_files(words: WordSystem, tmp_path: Path) -> None:
    """NumPy computes the scheme's vectors from the saved weights and removed directions."""
    schemes = fit_schemes(words, CORPUS, PARAMS)
    save_schemes(words, schemes, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "skip-gram-dpcs+common.safetensors",
        "skip-gram-dpcs.safetensors",
        "skip-gram-sif.safetensors",
        "skip-gram-tf-idf.safetensors",
    ]
    tokens = words.token_ids(CORPUS)
    for scheme, expected in zip(schemes, embed(words, schemes, CORPUS), strict=True):
        if scheme.weights is None:
            continue
        path = tmp_path / f"skip-gram-{scheme.weighting}.safetensors"
        found = read_tensors(path, {"weights": (6,), "removed": (None, 4)})
        means = tokens.means(words.model.vectors, found["weights"])
        np.testing.assert_allclose(means - (means @ found["removed"].T) @ found["removed"], expected, atol=1e-6)
        assert len(found["removed"]) == {"tf-idf": 0, "sif": 1}.get(str(scheme.weighting), len(found["removed"]))
    assert len(read_tensors(tmp_path / "skip-gram-dpcs.safetensors", {"removed": (None, 4)})["removed"]) >= 1
