"""The figures of an encoder on texts without labels."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from sentence_distillery.domain.measures import METRICS, Reference, measures, tokenizer_of, unknown_texts, words_cut
from sentence_distillery.domain.options import Domain
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import static_tokenizer
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.results import Measure
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

OPTIONS = Domain(peers=[], neighbours=10, random_pairs=10, seed=1)
TOKENIZER = static_tokenizer(["[UNK]", "the", "storm", "port", "##s"])


def vectors(texts: int, seed: int = 1, dimension: int = 6) -> Floats:
    return np.random.default_rng(seed).normal(size=(texts, dimension)).astype(np.float32)


def reference(texts: int = 150) -> Reference:
    return Reference.of(["the storm"] * texts, vectors(texts), OPTIONS)


def measured(own: Floats, given: Reference) -> dict[tuple[str, str], Measure]:
    found = {(each.protocol, each.metric): each for each in measures(own, TOKENIZER, given)}
    assert tuple(found) == METRICS
    return found


def cosine(vectors: Floats, one: int, other: int) -> float:
    a, b = vectors[one].astype(float), vectors[other].astype(float)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_spearman_over_random_and_near_pairs() -> None:
    given = reference()
    own = given.vectors + vectors(150, seed=2)
    found = measured(own, given)
    assert not (given.random == np.arange(150)[:, None]).any()
    for protocol, others in (("random pairs", given.random), ("near pairs", given.near)):
        pairs = [(one, int(other)) for one, row in enumerate(others) for other in row]
        expected = spearmanr(*([cosine(each, *pair) for pair in pairs] for each in (own, given.vectors))).statistic
        measure = found[protocol, "spearman"]
        assert measure.interval and isinstance(measure.value, float)
        low, high, _ = measure.interval
        assert low is not None and high is not None
        assert measure.value == pytest.approx(expected, abs=1e-4)
        assert measure.n == 1500
        assert low < measure.value < high
        assert high - low < 0.3


def test_intervals_are_of_the_texts() -> None:
    """The bootstrap of groups is that of their pairs if each group has one pair."""
    drawn = bootstrap.counts(50)
    one, other = vectors(50, 3, 4), vectors(50, 4, 4)
    np.testing.assert_allclose(
        bootstrap.pearson(one[:, :1], other[:, :1], drawn), bootstrap.pearson(one[:, 0], other[:, 0], drawn)
    )
    rows = np.repeat(np.arange(50), drawn[0].astype(int))
    expected = np.corrcoef(one[rows].ravel(), other[rows].ravel())[0, 1]
    assert bootstrap.pearson(one, other, drawn[:1])[0] == pytest.approx(expected, abs=1e-5)


def test_too_few_texts_for_k_neighbours() -> None:
    given = reference(11)
    found = measured(given.vectors, given)
    assert found["neighbours", "recall_at_10"].value == 1.0
    assert found["neighbours", "recall_at_100"].value == Unavailable("11 texts, but recall@100 needs 101")
    assert found["neighbours", "recall_at_100"].interval is None
    assert found["near pairs", "spearman"].n == 110
    fewest = reference(3)
    assert measured(fewest.vectors, fewest)["neighbours", "recall_at_1"].value == 1.0


def test_vectors_that_cannot_be_compared() -> None:
    given = reference(20)
    alike = measured(np.ones((20, 2), np.float32), given)
    assert alike["random pairs", "spearman"].value == Unavailable("all predictions are alike")
    assert alike["neighbours", "recall_at_1"].value == pytest.approx(1 / 19)
    broken = given.vectors.copy()
    broken[3, 1] = np.nan
    assert {each.value for each in measured(broken, given).values()} == {Unavailable("some vectors are not finite")}


def test_words_that_are_cut_or_unknown() -> None:
    assert words_cut(TOKENIZER, ["The storms, the port!"]) == 0.25
    assert words_cut(TOKENIZER, ["The xylophone."]) == 0.5
    assert words_cut(TOKENIZER, ["?!", ""]) == Unavailable("the texts have no words")
    assert words_cut(None, ["The storm."]) == Unavailable("it has no tokenizer of the library tokenizers")


def test_words_of_a_tokenizer_that_keeps_blanks() -> None:
    """A word counts as whole if it is one token at the start of a text or after a blank."""
    vocabulary = {token: number for number, token in enumerate(["Ġ", "s", "t", "o", "st", "Ġst", "Ġsto"])}
    merges = [("s", "t"), ("Ġ", "st"), ("Ġst", "o")]
    tokenizer = Tokenizer(BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    assert words_cut(tokenizer, ["sto sto"]) == 0.0
    assert words_cut(tokenizer, ["st so"]) == 0.5


def test_texts_without_a_known_word() -> None:
    encoder = StaticEncoder(TOKENIZER, np.eye(5, dtype=np.float32) - np.eye(5, 1, dtype=np.float32) @ np.eye(1, 5))
    assert unknown_texts(encoder.encode(["The storm.", "Xylophone!", ""])) == pytest.approx(2 / 3)
    assert tokenizer_of(encoder) is TOKENIZER
    assert tokenizer_of(object()) is None
