"""The recommended weight of the lexical channel."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sentence_distillery as sd
from sentence_distillery.cli import main
from sentence_distillery.domain.lexical_weight import ENOUGH, QUERY, REST, WEIGHTS, Parts, cut_query, weight_measures
from sentence_distillery.encoder.static_encoder import StaticEncoder

WHO = ("police", "government", "woman", "dog", "guitarist", "doctor", "pilot", "judge")
WHERE = ("harbour", "village", "market", "hospital", "stadium", "court", "airport", "school")
MONTHS = ("january", "february", "march", "april", "june", "july", "august", "october")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "sunday")
COLOURS = ("red", "blue", "green", "yellow", "orange")
TEXTS = [f"The {who} left the {place} in the storm." for who in WHO for place in WHERE]


@pytest.fixture(scope="module")
def released() -> StaticEncoder:
    return sd.load()


@pytest.mark.parametrize("loaded", [0.0, 0.5])
def test_parts_are_those_of_the_vectors(released: StaticEncoder, loaded: float) -> None:
    encoder = sd.load(lexical_weight=loaded)
    parts = Parts.of(encoder, TEXTS)
    for weight in (0.0, 0.5, 1.4):
        vectors = parts.weighed(weight)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        expected = sd.load(lexical_weight=weight).encode(TEXTS)
        np.testing.assert_allclose(vectors[:, : expected.shape[1]], expected, atol=1e-5)


def test_the_table_of_a_cut_vector() -> None:
    """It is what the cut leaves, though the channel alone is longer."""
    encoder = sd.load(lexical_weight=0.5, truncate_dim=160)
    np.testing.assert_allclose(Parts.of(encoder, TEXTS).table, encoder.encode(TEXTS), atol=1e-6)


def test_neighbours_follow_the_teacher(released: StaticEncoder) -> None:
    """A teacher that knows no words asks for no channel, and one that knows nothing else for the greatest weight."""
    parts = Parts.of(released, TEXTS)
    (without,) = weight_measures(released, TEXTS, parts.table)
    (alone,) = weight_measures(released, TEXTS, parts.channel)
    assert (without.protocol, without.metric, without.value, without.n) == (
        "weight for neighbours",
        "lexical_weight",
        0.0,
        len(TEXTS),
    )
    assert isinstance(alone.value, float) and alone.value >= 0.5


def test_a_search_needs_long_texts(released: StaticEncoder) -> None:
    """Months, days and colours are alike in meaning, but only the same ones ask for the same text."""
    rng = np.random.default_rng(1)
    other = [word for word in released.tokenizer.get_vocab() if word.isalpha() and len(word) > 6]
    texts = []
    for month, day, colour in sorted(product(MONTHS, DAYS, COLOURS)):
        filling = " ".join(rng.choice(other, REST))
        texts.append(f"In {month} on {day} the {colour} team met. {filling} {month} {day} {colour}")
    found = {each.protocol: each for each in weight_measures(released, texts, released.encode(texts))}
    search = found["weight for a search"]
    assert search.n == len(texts) >= ENOUGH
    assert isinstance(search.value, float) and search.value in WEIGHTS and search.value > 0
    few = texts[: ENOUGH - 1]
    assert [each.protocol for each in weight_measures(released, few, released.encode(few))] == ["weight for neighbours"]


def test_where_a_text_is_cut() -> None:
    words = [str(number) for number in range(QUERY + REST)]
    assert cut_query(" ".join(words[1:])) is None
    assert cut_query(" ".join(words)) == (" ".join(words[:QUERY]), " ".join(words[QUERY:]))


def test_only_encoders_with_a_channel(released: StaticEncoder) -> None:
    plain = StaticEncoder(released.tokenizer, released.stored)
    vectors = plain.encode(TEXTS)
    assert not list(weight_measures(plain, TEXTS, vectors))
    assert not list(weight_measures(object(), TEXTS, vectors))
    assert not list(weight_measures(released, TEXTS[:10], vectors[:10]))


def test_the_command(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS), encoding="utf-8")
    main(["evaluate", "--texts", str(texts), "--teacher", str(tiny)])
    name, metric, value, number = capsys.readouterr().out.splitlines()[-1].split("\t")
    assert (name, metric, number) == ("texts", "weight for neighbours lexical_weight", f"n = {len(TEXTS)}")
    assert float(value) in WEIGHTS
