"""The student for search: passages, document frequencies, its training, and when there is none."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sentence_distillery.distillation import passages as module
from sentence_distillery.distillation.lexical import inverse_document_frequencies, with_lexical_channel
from sentence_distillery.distillation.passages import joined, passages
from sentence_distillery.distillation.soft_labels import PASSAGES, embedding_column, passage_schema
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError, table_parts, write_table
from sentence_distillery.io.ragged import Floats, unit_rows
from stages.distillation import search_student, student
from stages.paths import SEARCH_STUDENT, SENTENCES, SOFT_LABELS, STUDENT
from tests.reproductions.paper1.conftest import write_params
from tests.sentence_distillery.distillation.conftest import (
    DIMENSION,
    DOCUMENTS,
    deep_encoder,
    files,
    student_params,
    texts,
    word_table,
)

SHORT = 10  # words of a passage in these tests; a sentence has six


@pytest.fixture
def short_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORDS", SHORT)
    monkeypatch.setattr(module, "FEWEST", SHORT - 1)


def taught(found: list[str]) -> Floats:
    words = word_table()
    return np.stack(
        [np.mean([words[word] for word in text.lower().replace(".", "").split()], axis=0) for text in found]
    )


def write_passages() -> None:
    found = passages(table_parts(SENTENCES), 1000)
    columns = [pa.array(found), embedding_column(taught(found))]
    write_table(SOFT_LABELS / PASSAGES, pa.table(columns, schema=passage_schema(DIMENSION)))


def params(precision: str | None = None, **changes: object) -> None:
    small = {"enabled": True, "epochs": 6, "batch_size": 64, "learning_rate": 0.02, "lexical_dimension": 16}
    trained = {"dimension": 6, "epochs": 1, "batch_size": 32, "learning_rate": 0.02}
    size = {"megabytes": None, "vocabulary": None, "precision": precision}
    write_params(student=trained, search_student=small | changes, size=size)


def test_passages_end_with_a_sentence() -> None:
    """Of 60 words and more; what is left of a document is one, too, from 30 words on."""
    sentence = "one two three four five six seven eight nine ten eleven"
    assert [len(passage.split()) for passage in joined([sentence] * 9)] == [66, 33]
    assert [len(passage.split()) for passage in joined([sentence] * 8)] == [66]
    assert list(joined([])) == []
    assert list(joined(["word " * 200])) == ["word " * 200]


def test_passages_stay_within_a_document(workspace: Path, short_passages: None) -> None:
    """Two sentences each, of one subject; fewer of them are the same ones each time, in their order."""
    found = passages(table_parts(SENTENCES), 1000)
    assert len(found) == len(DOCUMENTS) * len(texts()[0]) // 4 // 2
    assert all(len({text.split()[1] for text in passage.split("The ")[1:]}) == 1 for passage in found)
    some = passages(table_parts(SENTENCES), 20)
    assert some == passages(table_parts(SENTENCES), 20) == [each for each in found if each in some]
    assert len(some) == 20
    assert passages(table_parts(SENTENCES), 0) == []


def test_document_frequencies_count_a_text_once() -> None:
    """Three texts: stem 0 is in all of them, stem 1 in one, stem 2 in none."""
    found = inverse_document_frequencies(np.array([0, 0, 1, 0, 0]), np.array([0, 3, 4, 5]), 3)
    np.testing.assert_allclose(found, np.log([4 / 4, 4 / 2, 4 / 1]), atol=1e-6)


def test_texts_that_share_words_come_closer() -> None:
    """Orthogonal vectors of words: only the channel sees that storms and storm have one stem."""
    words = ["storm", "storms", "port", "gale", "bank"]
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, *words]), np.diag(np.array([0, 1, 1, 1, 1, 1], np.float32)))
    tokens = encoder.token_ids([*words, "storm port", "gale bank"])
    found = with_lexical_channel(encoder, tokens, 256, 1.0, "en")
    assert (found.dimension, found.token_dimension) == (6 + 256, 6)
    np.testing.assert_array_equal(found.table, encoder.table)
    storm, storms, port = found.encode(["storm", "storms", "port"])
    assert storm @ storms == pytest.approx(0.5) and abs(storm @ port) < 0.2
    assert not found.encode(["qzx"]).any()
    as_they_are = with_lexical_channel(encoder, tokens, 256, 1.0, "th")
    one, other = as_they_are.encode(["storm", "storms"])
    assert abs(one @ other) < 0.2


def test_what_no_channel_is_made_for() -> None:
    encoder = deep_encoder()
    tokens = encoder.token_ids(["storm"])
    with pytest.raises(InputError, match="has layers"):
        with_lexical_channel(encoder, tokens, 8, 1.0, "en")
    encoder = StaticEncoder(encoder.tokenizer, encoder.stored)
    with pytest.raises(InputError, match="a multiple of 8 dimensions, up to 65,536, but 12 are asked for"):
        with_lexical_channel(encoder, tokens, 12, 1.0, "en")
    with pytest.raises(InputError, match="No text has a known word"):
        with_lexical_channel(encoder, encoder.token_ids(["?!"]), 8, 1.0, "en")


def nearest(vectors: Floats) -> np.ndarray:
    similarity = unit_rows(vectors) @ unit_rows(vectors).T
    np.fill_diagonal(similarity, -1)
    return np.asarray(similarity.argmax(axis=1))


def test_it_finds_more_passages(workspace: Path, short_passages: None) -> None:
    """The teacher's nearest passage is the student's more often; and two runs write the same bytes."""
    student_params("static", epochs=1)
    student.main()
    write_passages()
    params(lexical_dimension=0)
    search_student.main()
    found = passages(table_parts(SENTENCES), 1000)
    right = nearest(taught(found))
    before, after = (
        float((nearest(StaticEncoder.load(place).encode(found)) == right).mean()) for place in (STUDENT, SEARCH_STUDENT)
    )
    assert after > before + 0.1
    params()
    search_student.main()
    encoder = StaticEncoder.load(SEARCH_STUDENT)
    assert encoder.dimension == 6 + 16
    config = json.loads((SEARCH_STUDENT / "config.json").read_text(encoding="utf-8"))
    assert config["for"] == "search" and config["epochs"] == 6
    counted = json.loads(Path("reports/counters/search_student.json").read_text(encoding="utf-8"))
    assert counted["kept"] == len(found) + sum(map(len, texts()))
    first = files(SEARCH_STUDENT)
    search_student.main()
    assert files(SEARCH_STUDENT) == first


def test_single_sentences_are_enough(workspace: Path) -> None:
    """A corpus of questions has no passages."""
    student_params("static", epochs=1)
    student.main()
    params()
    search_student.main()
    assert StaticEncoder.load(SEARCH_STUDENT).dimension == 22


def test_a_student_in_int8_is_trained_as_its_values(workspace: Path) -> None:
    """Levels up to 127 would hardly move at a learning rate for values below 2; in float16 they are such values."""
    found = []
    for precision in ("levels", "int8"):
        params(precision, epochs=2)
        student.main()
        search_student.main()
        found.append(StaticEncoder.load(SEARCH_STUDENT).table)
    in_levels, in_int8 = found
    np.testing.assert_array_equal(in_int8, in_levels)


def test_why_there_is_none(workspace: Path) -> None:
    params(enabled=False)
    search_student.main()
    content = json.loads((SEARCH_STUDENT / VARIANT).read_text(encoding="utf-8"))
    assert content == {"absent": "switched off in this run: search_student.enabled is false"}
