"""The pairs of tables 1 and 2, and the words of figures 2 and 3."""

import json

import numpy as np
import pytest

from reproductions.paper1.examples import Examples, word_cosines
from reproductions.paper1.published import TABLE_1, TABLE_2
from reproductions.paper1.word_vectors.glove import load_glove
from reproductions.systems.systems import StudentSystem, WordSystem


def test_cosines_of_words_by_hand(words: WordSystem) -> None:
    table, row = words.model.vectors, words.model.index
    found = word_cosines(words, "The storm, tiger!", "dog the")
    assert (found["rows"], found["columns"]) == (["the", "storm", "tiger"], ["dog", "the"])
    one, other = table[row["storm"]], table[row["dog"]]
    expected = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    assert found["cosines"][1][0] == pytest.approx(expected, abs=1e-4)
    assert found["cosines"][0][1] == pytest.approx(1.0, abs=1e-4)
    assert found["cosines"][2] == [None, None]


def test_a_pair_without_a_known_word_has_no_cosine(words: WordSystem, student: StudentSystem) -> None:
    """The small vocabularies know no word of table 1's first pair; that is not a cosine of 0."""
    examples = Examples()
    examples.add(words)
    examples.add(student)
    content = examples.content()
    assert set(content["cosines"]) == {"skip-gram", "student"}
    assert content["cosines"]["skip-gram"] == [None] * len((*TABLE_1, *TABLE_2))
    assert list(content["words"]) == ["skip-gram"]
    json.dumps(content, allow_nan=False)


def test_real_vectors() -> None:
    """GloVe scores the pair of table 2 with a human rating of 0.4 lowest of the four."""
    examples = Examples()
    examples.add(WordSystem("GloVe", load_glove(), content_only=True))
    values = examples.content()["cosines"]["GloVe"][len(TABLE_1) :]
    assert min(values) == values[2]
    assert all(0.5 < value <= 1 for value in values)
