"""Terms: what a domain writes with signs. Which ones are kept, and that all libraries cut alike, whatever the text."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from sentence_distillery import StaticEncoder, load
from sentence_distillery.distillation.export import write_model
from sentence_distillery.distillation.vocabulary import count_words
from sentence_distillery.encoder.persistence.names import TOKENIZER
from sentence_distillery.encoder.tokenizer import UNKNOWN, UNKNOWN_ID, is_term, static_tokenizer
from sentence_distillery.io.artifacts import InputError
from tests.sentence_distillery.distillation.conftest import table
from tests.strings import SAMPLES, any_strings

pytestmark = pytest.mark.usefixtures("both_ways")  # native and simple

TERMS = [
    *("c#", "c++", ".net", "asp.net", "3.14", "1,000", "e-mail", "covid-19", "#metoo", "@who", "u.s", "a_b", "x/y"),
    *("a.b", "a.b.c", "b.c", "i-", "+", "il-2", "é-1", "naive-1", "#ing", "😀", "👍", "🏽", "🇩", "❤", "½-1"),
]
STRINGS = 20_000


def encoder() -> StaticEncoder:
    """A student with the words of the samples, single letters as words and as pieces, and the terms."""
    words = sorted(count_words(SAMPLES.split()))
    letters = "abcdefghijklmnopqrstuvwxyz0123456789éüñσ"
    pieces = [f"##{letter}" for letter in letters]
    vocabulary = list(dict.fromkeys([UNKNOWN, *words, *letters, *pieces, "##ing", "##s", *filter(is_term, TERMS)]))
    return StaticEncoder(static_tokenizer(vocabulary), table(len(vocabulary), 16))


def test_which_terms_there_are() -> None:
    assert {term for term in TERMS if not is_term(term)} == {"i-", "+", "é-1", "½-1"}  # not as texts are normalised


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("C# and (c#), C++!", ["c#", "c#", "c++"]),
        ("c#x xc# c+++", ["c++"]),
        (".NET ASP.NET asp.network", [".net", "asp.net"]),
        ("the e-mail, the-mail", ["e-mail"]),
        ("COVID-19's covid-190", ["covid-19"]),
        ("ｃ＃ Ｅ‑ｍａｉｌ 𝟑.𝟏𝟒", ["c#", "e-mail", "3.14"]),
        ("x😀😀 👍🏽❤️", ["😀", "😀", "👍", "🏽", "❤"]),
        ("##ing #ing ##metoo x#ing", ["#ing", "#ing", "#metoo"]),
    ],
)
def test_terms_by_hand(text: str, terms: list[str]) -> None:
    """In a text, among other tokens; a letter or a digit next to it, and it is no term."""
    student = encoder()
    found = [student.tokenizer.id_to_token(token) or "" for token in student.token_ids([text]).ids]
    assert [token for token in found if is_term(token)] == terms


def test_all_libraries_cut_alike(tmp_path: Path) -> None:
    """20,000 strings of all scripts: the same tokens in the same order, and the vectors of both other libraries."""
    student, texts = encoder(), any_strings(STRINGS)
    expected = [[token for token in e.ids if token != UNKNOWN_ID] for e in student.tokenizer.encode_batch(texts)]
    found = student.token_ids(texts).without(UNKNOWN_ID)
    assert found.ids.tolist() == [token for tokens in expected for token in tokens]
    assert found.lengths.tolist() == list(map(len, expected))
    assert {student.tokenizer.token_to_id(term) for term in filter(is_term, TERMS)} & set(found.ids.tolist())
    write_model(student, {}, tmp_path / "student")
    ours = load(tmp_path / "student").encode(texts)
    theirs = SentenceTransformer(str(tmp_path / "student"), device="cpu").encode(texts, batch_size=512)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(ours, StaticModel.from_pretrained(tmp_path / "student").encode(texts), atol=1e-5)


@given(
    st.lists(
        st.text(st.sampled_from("acCbBe.#+-_/,@ 19０'\u00a0é😀👍🏽\u200d\ufe0fmailnt#½\n\x00—")), min_size=1, max_size=6
    )
)
def test_text_near_the_terms(texts: list[str]) -> None:
    cut_as_by_its_tokenizer(texts)


def test_long_words() -> None:
    """A word of many characters may hold many terms; its ends are far from most of them."""
    many = "c++/" * 5_000
    cut_as_by_its_tokenizer([many, f"a {many} b", f"{'x' * 60}-c++ e-mail", f"c++-{'x' * 60}", "c++," * 20])


def cut_as_by_its_tokenizer(texts: list[str]) -> None:
    student = encoder()
    expected = [[token for token in e.ids if token != UNKNOWN_ID] for e in student.tokenizer.encode_batch(texts)]
    found = student.token_ids(texts).without(UNKNOWN_ID)
    assert [found.span(row, row + 1).ids.tolist() for row in range(len(texts))] == expected


def test_saved_pickled_and_damaged(tmp_path: Path) -> None:
    """The terms come back from the files; an added token that is no term is refused."""
    texts = any_strings(500)
    student = encoder()
    expected = student.encode(texts)
    student.save_pretrained(tmp_path / "student")
    again = load(tmp_path / "student")
    np.testing.assert_array_equal(again.encode(texts), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).encode(texts), expected)
    np.testing.assert_array_equal(again._copy().encode(texts), expected)
    path = tmp_path / "student" / TOKENIZER
    content = json.loads(path.read_text(encoding="utf-8"))
    content["added_tokens"][0]["content"] = "storm"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="has 1 added tokens that are not terms, such as 'storm'"):
        load(tmp_path / "student")


def test_a_model_of_before_is_read_as_it_was(tmp_path: Path) -> None:
    """Without NFKC in its normalizer, ½ stays one word, and so do its vectors."""
    vocabulary = [UNKNOWN, "storm", "½", "❤", "ﬁrm"]
    tokenizer = static_tokenizer(vocabulary)
    content = json.loads(tokenizer.to_str())
    content["normalizer"] = content["normalizer"]["normalizers"][-1]
    content["added_tokens"] = []
    student = StaticEncoder(json.dumps(content).encode(), table(len(vocabulary), 8))
    student.save_pretrained(tmp_path / "before")
    before = load(tmp_path / "before")
    assert before.token_ids(["½ storm", "ﬁrm storm❤"]).without(UNKNOWN_ID).ids.tolist() == [2, 1, 4]
    content["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFD"}, content["normalizer"]]}
    (tmp_path / "before" / TOKENIZER).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="its normalizer has other steps before BERT's"):
        load(tmp_path / "before")
