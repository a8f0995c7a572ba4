"""A small encoder of six languages, from pairs to a directory, with the real teacher."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sentence_distillery
from measurements import multilingual
from measurements.multilingual import in_alphabet, kept
from measurements.release.multilingual.build import COUNTS, Plan, build_from
from measurements.release.multilingual.card import figures
from measurements.release.multilingual.corpus import Corpus, Sizes, bare_text, pair_table
from measurements.release.multilingual.evaluation import barred_texts, half, measure
from measurements.release.multilingual.labels import label
from measurements.release.multilingual.licences import Origin
from measurements.release.multilingual.parallel import Pair
from measurements.release.multilingual.training import Options
from sentence_distillery.encoder.persistence import finding
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.teachers.use import embed

WORDS = {
    "storm": {"de": "Sturm", "fr": "tempête", "hi": "तूफ़ान", "ja": "嵐", "ru": "буря", "th": "พายุ"},
    "house": {"de": "Haus", "fr": "maison", "hi": "घर", "ja": "家", "ru": "дом", "th": "บ้าน"},
    "money": {"de": "Geld", "fr": "argent", "hi": "पैसा", "ja": "お金", "ru": "деньги", "th": "เงิน"},
    "dog": {"de": "Hund", "fr": "chien", "hi": "कुत्ता", "ja": "犬", "ru": "собака", "th": "สุนัข"},
}
PAIRS = [Pair(text, english, code, "dictionaries") for english, texts in WORDS.items() for code, text in texts.items()]
SENTENCES = ["The storm closed the old port.", "My dog sleeps in the house.", "He lost all of his money."]
GENERAL = {code: dict.fromkeys((texts[code] for texts in WORDS.values()), 1.0) for code in WORDS["dog"]}
ORIGINS = {"words": Origin("words_1.0_all.deb", "0" * 64, "CC0")}
SMALL = Sizes(pairs=50, sentences=10, words=10, examples=10, english=50)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan of eight dimensions in a directory of its own, built once."""
    place = tmp_path_factory.mktemp("multilingual")
    small = Plan(place, place / "model", 60_000, 8, SMALL, Options(40, 16, 0.02), Options(2, 16, 0.002))
    build_from(small, pair_table(PAIRS), GENERAL, SENTENCES, embed, ORIGINS)
    return small


def test_translations_are_near(plan: Plan) -> None:
    encoder = sentence_distillery.load(plan.output)
    for english, texts in WORDS.items():
        for text in texts.values():
            cosines = encoder.encode([text]) @ encoder.encode(list(WORDS)).T
            assert list(WORDS)[int(cosines.argmax())] == english, text


def test_every_text_of_a_known_script_has_a_vector(plan: Plan) -> None:
    encoder = sentence_distillery.load(plan.output)
    assert encoder.encode(["嵐嵐", "घरघर", "буряда", "พายุบ้าน", "Sturmhund"]).any(axis=1).all()
    assert encoder.stored.dtype == np.int8


def test_english_words_stay(plan: Plan) -> None:
    new, released = sentence_distillery.load(plan.output), sentence_distillery.load(truncate_dim=8)
    texts = ["Shares fell in Tokyo.", "The bank lowered its rates."]
    assert np.einsum("nd,nd->n", new.encode(texts), released.encode(texts)).min() > 0.9


def test_the_card_has_what_each_language_was_trained_on(plan: Plan) -> None:
    with (plan.place / COUNTS).open(newline="") as opened:
        counted = {row["language"]: row for row in csv.DictReader(opened)}
    assert set(counted) == {"en", *WORDS["dog"]}
    # Four translations, and the words if the teacher knows the language, which Hindi is not one of.
    assert (counted["ru"]["texts"], counted["ru"]["taught"]) == ("8", "4")
    assert (counted["hi"]["texts"], counted["hi"]["taught"]) == ("4", "0")
    russian = counted["ru"]
    row = f"| Russian | 8 | 4 | {russian['tokens']} |"
    card = (plan.output / "README.md").read_text()
    assert row in card and "Thai" in card
    assert 4 <= int(russian["tokens"]) <= 30
    assert (plan.place / "labels/ru-words").exists() and not (plan.place / "labels/hi-words").exists()


def test_a_second_build_repeats_no_step(plan: Plan) -> None:
    before = (plan.output / "model.safetensors").read_bytes()

    def refuse(texts: list[str]) -> np.ndarray:
        raise AssertionError(f"embedded again: {texts[:3]}")

    build_from(plan, pair_table(PAIRS), GENERAL, SENTENCES, refuse, ORIGINS)
    assert (plan.output / "model.safetensors").read_bytes() == before


def test_a_vocabulary_of_another_plan_is_refused(plan: Plan) -> None:
    with pytest.raises(InputError, match=r"vocabulary\.txt has .* tokens, not 100; delete it"):
        build_from(replace(plan, tokens=100), pair_table(PAIRS), GENERAL, SENTENCES, embed, ORIGINS)


def test_labels_of_other_texts_are_refused(tmp_path: Path) -> None:
    label(["a", "b"], tmp_path, embed)
    with pytest.raises(InputError, match="has 2 vectors for 3 texts"):
        label(["a", "b", "c"], tmp_path, embed)


def test_test_sets_are_left_out() -> None:
    corpus = Corpus()
    corpus.add(["Wie geht es?", "Danke."], "de", np.ones((2, 3), np.float16), frozenset([bare_text("wie geht es")]))
    assert corpus.texts == ["Danke."]


def test_figures_by_language(tmp_path: Path) -> None:
    for folder in ("stsb", "tatoeba"):
        (tmp_path / folder).mkdir()
    with (tmp_path / "stsb/stsb-de-dev.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([["a", "a", 5], ["a", "b", 0], ["b", "b", 5], ["b", "a", 0]])
    (tmp_path / "tatoeba/tatoeba.deu-eng.deu").write_text("a\nb\n")
    (tmp_path / "tatoeba/tatoeba.deu-eng.eng").write_text("a\nb\n")

    def letters(texts: list[str]) -> np.ndarray:
        return np.array([[text == "a", text == "b"] for text in texts], np.float32)

    scores = list(measure(letters, tmp_path, "dev", frozenset(["a"])))
    assert [(score.language, round(score.similarity or 0), score.retrieval, score.known) for score in scores] == [
        ("de", 100, 100.0, 50.0)
    ]
    assert figures(scores, "dev").splitlines()[-1] == "| German | 100.0 | 100.0 | 50 |"
    assert sorted(set(barred_texts(tmp_path))) == ["a", "b"]
    assert set(half(10, "dev")).isdisjoint(half(10, "test"))


def test_model2vec_has_our_tokens_and_the_teachers_vectors(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """The teacher reads three of the tokens; all others take a minute."""
    words = ["Sturm", "буря", "собака"]
    read = dict(zip(map(str.lower, words), embed(words), strict=True))
    draw = np.random.default_rng(1)

    def few(texts: list[str]) -> np.ndarray:
        vectors = draw.normal(size=(len(texts), len(read["sturm"]))).astype(np.float32)
        return np.array([read.get(text, vector) for text, vector in zip(texts, unit_rows(vectors), strict=True)])

    monkeypatch.setattr(multilingual, "embed", few)
    encode = multilingual.model2vec(sentence_distillery.load(plan.output).tokenizer, plan.place)
    storm, same, dog = encode(words)
    assert storm @ same > storm @ dog
    rates = multilingual.speeds({"model2vec": lambda: encode}, ["Sturm"] * 1000, ["storm"])
    assert set(rates) == {"model2vec"} and rates["model2vec"] > 0


def test_the_teachers_vectors_of_a_set_are_kept(tmp_path: Path) -> None:
    texts = ["Der Hund beißt den Mann.", "Den Mann beißt der Hund."]
    first = kept(tmp_path)(texts)
    assert [path.name for path in tmp_path.rglob("*.npy")] == ["00000000.npy"]
    np.testing.assert_array_equal(kept(tmp_path)(texts), first)
    assert np.abs(first - embed(texts)).max() < 1e-3
    assert in_alphabet(texts[0]) == "Der Hund Mann. beißt den"


def test_what_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(finding._RELEASES, "released-multilingual", tmp_path / "none")
    with pytest.raises(InputError, match="Run `make multilingual` in a clone"):
        sentence_distillery.load("released-multilingual")
