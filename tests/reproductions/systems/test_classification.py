"""The SGD classifier on embeddings, compared with paper 1's figures."""

import numpy as np

from reproductions.paper1.published import with_published
from reproductions.systems.options import Evaluate
from reproductions.systems.scoring import sentiment_results
from reproductions.systems.systems import DOCUMENTS, StudentSystem, TeacherSystem, WordSystem, means, token_features
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.sets.data import DocumentSet
from sentence_distillery.io.unavailable import Unavailable
from tests.workspace import demo_params

PARAMS = Evaluate(**demo_params()["evaluate"])
LABELS = ["1", "0"] * 40


def documents(split: str = "train", name: str = "imdb") -> DocumentSet:
    """Good ones are of storms, bad ones of dogs."""
    texts = ["the storm closed the harbour" if label == "1" else "the dog plays" for label in LABELS]
    return DocumentSet(name, split, texts, LABELS)


def test_features_of_many_documents(words: WordSystem) -> None:
    """Chunks change nothing."""
    texts = ["the storm", "dog plays", "qwxz"] * (DOCUMENTS // 2)
    expected = words.pool(words.token_ids(texts[:3]), [None])[0]
    np.testing.assert_allclose(means(words, texts), np.tile(expected, (DOCUMENTS // 2, 1)), atol=1e-6)


def test_tokens_counted_by_hand(words: WordSystem, student: StudentSystem) -> None:
    """`the` twice and `dog` once, each times the length of its vector; a document without a known word is zero."""
    lengths = np.linalg.norm(words.model.vectors, axis=1)
    expected = np.zeros((2, 6))
    expected[0, [0, 4]] = 2 * lengths[0], lengths[4]
    expected[0] /= np.linalg.norm(expected[0])
    found = token_features(words, ["The dog, the", "qwxz"])
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-6)
    assert found.nnz == 2
    assert not token_features(student, ["qwxz"]).toarray().any()
    unsorted = token_features(student, ["dog the dog cat the", "the dog"])
    assert unsorted.has_canonical_format and unsorted.nnz >= 4


def test_a_linear_layer_changes_the_lengths(student: StudentSystem) -> None:
    """A token that the layer maps to zero has no weight."""
    weight = np.diag([1.0, 1.0, 1.0, 0.0]).astype(np.float32)
    table = student.encoder.table.copy()
    table[1, :3] = 0.0
    encoder = StaticEncoder(student.encoder.tokenizer, table, (weight, np.ones(4, np.float32)))
    lengths = StudentSystem(encoder).lengths
    np.testing.assert_allclose(lengths, np.linalg.norm(table[:, :3], axis=1), atol=1e-6)
    assert lengths[1] == 0.0 < lengths[2]


def test_rows_beside_paper_1(words: WordSystem) -> None:
    """Only IMDB has the paper's figures, and n is the number of test documents."""
    for name, table in (("imdb", "3"), ("samples_reviews", "")):
        splits = (documents("train", name), documents("test", name))
        rows = list(map(with_published, sentiment_results(words, splits, PARAMS)))
        assert [row.metric for row in rows] == ["precision", "recall", "f1"] * 2
        assert {(row.value, row.n) for row in rows} == {(1.0, 80)}
        assert [(row.protocol, row.table) for row in rows[::3]] == [("sgd", table), ("sgd+tokens", "")]
        assert [row.published for row in rows[:3]] == ([0.66, 0.02, 0.04] if table else [None] * 3)
        assert [row.published for row in rows[3:]] == [None] * 3


def test_transformers_have_a_limit_of_their_own(words: WordSystem, teacher: TeacherSystem) -> None:
    """A system that is left out has a reason."""
    params = PARAMS.model_copy(update={"transformer_documents": 0})
    splits = (documents(), documents("test"))
    values = {row.value for row in sentiment_results(teacher, splits, params)}
    assert values == {Unavailable("left out: evaluate.transformer_documents is 0")}
    assert {row.value for row in sentiment_results(words, splits, params)} == {1.0}
    some = PARAMS.model_copy(update={"transformer_documents": 30})
    assert {row.n for row in sentiment_results(teacher, splits, some)} == {30}
