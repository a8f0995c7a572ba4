"""What students are compared with: made if the packages are there, else with the reason why not."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain import peers
from sentence_distillery.domain.options import PeerName
from sentence_distillery.domain.peers import PEERS, Comparison
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import NO_WEIGHTS
from stages import paths
from tests.reproductions.paper1.conftest import write_corpus
from tests.sentence_distillery.distillation.conftest import DIMENSION, DOCUMENTS, write_soft_labels
from tests.tiny_bert import write_tiny_bert

CORPUS = LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS)


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


WITH_MODEL2VEC = pytest.mark.skipif(not installed("skeletoken"), reason="skeletoken is not installed")
WITH_TOKENLEARN = pytest.mark.skipif(not installed("tokenlearn"), reason="tokenlearn is not installed")


@pytest.fixture
def comparison(on_one_thread: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    monkeypatch.setenv("DISTILLERY_CACHE", str(tmp_path / "cache"))
    write_corpus(DOCUMENTS[:4], part=0)
    write_corpus(DOCUMENTS[4:], part=1)
    write_soft_labels()
    write_tiny_bert(Path("tiny"))
    teacher = Teacher(reference="./tiny", revision=None, sha256=None, maximum_length=32)
    return Comparison("released", teacher, 8, CORPUS, 1)


@pytest.mark.parametrize(
    ("name", "module", "command"),
    [("model2vec", "model2vec.distill", peers.MODEL2VEC), ("tokenlearn", "tokenlearn.train", peers.TOKENLEARN)],
)
def test_a_package_that_is_not_installed(
    name: PeerName, module: str, command: str, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert PEERS[name](comparison) == Unavailable(f"it needs a package: run `{command}`")


def test_an_import_that_fails_in_this_library() -> None:
    with pytest.raises(ImportError):
        peers.missing(ImportError("broken", name="sentence_distillery.gone"), "x")


@WITH_MODEL2VEC
@pytest.mark.filterwarnings("default")  # model2vec's own
def test_model2vec(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made once: the second time its transformer is not run."""
    made = PEERS["model2vec"](comparison)
    assert not isinstance(made, Unavailable)
    vectors = np.asarray(made.encode(["The storm.", "A guitar."]))
    assert vectors.shape == (2, 8)
    import model2vec.distill

    monkeypatch.delattr(model2vec.distill, "distill_from_model")
    monkeypatch.setattr(model2vec.distill, "distill_from_model", None, raising=False)
    again = peers.distilled(comparison.teacher, 8)
    assert not isinstance(again, Unavailable)
    np.testing.assert_array_equal(np.asarray(again.encode(["The storm.", "A guitar."])), vectors)


@WITH_MODEL2VEC
@pytest.mark.filterwarnings("default")
def test_a_teacher_that_is_not_here(comparison: Comparison) -> None:
    assert isinstance(comparison.teacher, Teacher)
    absent = comparison.teacher.model_copy(update={"reference": "./nowhere"})
    assert peers.distilled(absent, 8) == NO_WEIGHTS


@WITH_MODEL2VEC
@WITH_TOKENLEARN
@pytest.mark.filterwarnings("default")
def test_tokenlearn(comparison: Comparison) -> None:
    """Its training changes the vectors, and a seed decides how."""
    start, trained = (PEERS[name](comparison) for name in ("model2vec", "tokenlearn"))
    again = PEERS["tokenlearn"](comparison)
    assert not isinstance(start, Unavailable) and not isinstance(trained, Unavailable)
    assert not isinstance(again, Unavailable)
    before, after, repeated = (np.asarray(each.encode(DOCUMENTS[:2])) for each in (start, trained, again))
    assert before.shape == after.shape == (2, 8) and DIMENSION >= 8
    assert np.abs(before - after).max() > 1e-3
    np.testing.assert_allclose(after, repeated)
