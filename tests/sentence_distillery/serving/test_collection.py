"""Neighbours, the map, and how a student reads a query: by hand, in this process."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentence_distillery import load
from sentence_distillery.corpus.tables.reading import Reading
from sentence_distillery.distillation.soft_labels import TEACHER
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.serving.collection import SOFT_LABELS, Collection, Where
from sentence_distillery.serving.server import read_collection
from sentence_distillery.serving.words import Word, read_words

from .conftest import TEXTS

VOCABULARY = [UNKNOWN, "north", "east", "c#", "un", "##known"]
VECTORS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [2, 1]], np.float32)


def compass() -> StaticEncoder:
    return StaticEncoder(static_tokenizer(VOCABULARY), VECTORS)


def collection_of(encoder: StaticEncoder, texts: Iterable[str]) -> Collection:
    return Collection.of_rows(encoder, ((text, {}) for text in texts))


def test_neighbours_by_hand() -> None:
    """The cosines of north with north, both and east; equal ones in the order of the texts."""
    found = collection_of(compass(), ["East.", "North, east", " ", "north", "North!"])
    assert found.texts == ["East.", "North, east", "north", "North!"]
    neighbours = found.search("NORTH", 10)
    assert [(n.index, round(n.score, 4)) for n in neighbours] == [(2, 1.0), (3, 1.0), (1, 0.7071), (0, 0.0)]
    assert [n.index for n in found.search("north", 2)] == [2, 3]
    assert [n.index for n in found.alike(2, 2)] == [3, 1]
    assert found.search("?!", 3) == []
    assert found.alike_for_teacher(0, 3) is None
    assert collection_of(compass(), ["north"]).alike(0, 5) == []


def test_a_search_weighs_shared_words_as_in_a_search() -> None:
    """Short and long texts alike, and the query as they are."""
    encoder = load("released-search")
    found = collection_of(encoder, [*TEXTS, "storm " * 40])
    np.testing.assert_array_equal(found.vectors, encoder.encode_document(found.texts))
    best = found.search("closed ports", 1)[0]
    assert best.score == pytest.approx(
        float(found.vectors[best.index] @ encoder.encode_query("closed ports")), abs=1e-6
    )


def test_a_filter_and_groups_by_hand() -> None:
    """A column with few values takes one of them, one with many a part of a value; the same text is folded."""
    rows = [
        (text, {"n": number, "kind": kind})
        for number, (text, kind) in enumerate([("north", "a"), ("East", "b"), ("NORTH", "a")])
    ]
    found = Collection.of_rows(compass(), rows)
    assert found.columns == {"n": ["0", "1", "2"], "kind": ["a", "b", "a"]}
    assert found.choices == {"n": ["0", "1", "2"], "kind": ["a", "b"]}
    assert [n.index for n in found.search("east", 3, Where("kind", "a"))] == [0, 2]
    assert [n.index for n in found.alike(0, 3, Where("kind", "a"))] == [2]
    assert found.search("east", 3, Where("kind", "x")) == []
    assert [
        (group.first.index, [n.index for n in group.others]) for group in found.groups(found.search("north", 3), 2)
    ] == [
        (0, [2]),
        (1, []),
    ]
    many = Collection.of_rows(compass(), (("north", {"id": f"Order {number}", "none": None}) for number in range(60)))
    assert many.choices == {"id": []}
    found_rows = {n.index for n in many.search("north", 9, Where("id", "ORDER 5"))}
    assert len(found_rows) == 9 and found_rows < {5, *range(50, 60)}  # all are equally near


def test_examples_of_queries() -> None:
    """One of each third: the text closest to 60 characters that has a vector; no text twice."""
    long, short = "the storm closed the port of the town and then the road by the sea", "a storm"
    found = collection_of(load(), [short, long, "?" * 60, short, "rain", short, "rain", "rain", short])
    assert found.examples == [long, short]
    assert collection_of(compass(), ["?"]).examples == []


def test_how_words_are_read() -> None:
    assert read_words(compass(), "North, UNKNOWN C# qz?") == [
        Word("North", "known"),
        Word("UNKNOWN", "cut", ("un", "##known")),
        Word("C#", "known"),
        Word("qz", "unknown"),
    ]
    assert read_words(compass(), "") == read_words(compass(), "?! …") == []


def test_with_soft_labels(working_directory: Path) -> None:
    found = Collection.labelled(load(lexical_weight=0), working_directory)
    assert found.texts == TEXTS
    assert found.teacher is not None
    expected = found.vectors[0] @ found.vectors[1:].T  # turning dimensions changes no cosine
    neighbours = found.alike_for_teacher(0, 5)
    assert neighbours is not None
    assert [n.index for n in neighbours] == (1 + np.argsort(-expected)).tolist()
    np.testing.assert_allclose([n.score for n in neighbours], -np.sort(-expected), atol=1e-3)


@pytest.mark.parametrize("limit", [1, 4, 5])
def test_more_texts_than_the_limit(working_directory: Path, text_file: Path, limit: int) -> None:
    for place in (working_directory, text_file):
        found = read_collection(load(), [place], Reading(), limit)
        assert (list(found.texts), found.left_out) == (TEXTS[:limit], len(TEXTS) - limit)
    np.testing.assert_array_equal(found.vectors, load().encode_document(TEXTS[:limit]))


def test_what_cannot_be_explored(working_directory: Path, text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere does not exist"):
        read_collection(load(), [tmp_path / "nowhere"], Reading(), 5)
    with pytest.raises(InputError, match="The limit is 0"):
        read_collection(load(), [text_file], Reading(), 0)
    (tmp_path / "blank.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(InputError, match="There is no text to explore"):
        read_collection(load(), [tmp_path / "blank.txt"], Reading(), 5)


def test_soft_labels_of_other_sentences(working_directory: Path, tmp_path: Path) -> None:
    """A part under another number is noticed, and so is a dimension that does not fit."""
    for file in working_directory.rglob("*.*"):
        target = tmp_path / file.relative_to(working_directory)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(file.read_bytes())
    labels = tmp_path / SOFT_LABELS
    (labels / "part-00000.parquet").write_bytes((labels / "part-00001.parquet").read_bytes())
    with pytest.raises(InputError, match=r"part-00000\.parquet does not belong to these sentences"):
        Collection.labelled(load(), tmp_path)
    write_json(labels / TEACHER, read_json(labels / TEACHER, dict[str, Any]) | {"dimension": 7})
    with pytest.raises(InputError, match="column 'embedding' is"):
        Collection.labelled(load(), tmp_path)
