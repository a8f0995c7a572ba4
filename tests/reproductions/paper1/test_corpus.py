"""Sentences of unequal length in two flat arrays."""

from pathlib import Path

import pytest

from reproductions.paper1.word_vectors.corpus import read_documents, read_sentences
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import TokenIds
from stages.paths import SENTENCES

from .conftest import write_corpus


def test_tokens_and_content_tokens(workspace: Path) -> None:
    write_corpus(["The rain is over. It rained."], part=0)
    (SENTENCES / "part-00001.parquet").unlink()
    assert list(read_sentences(SENTENCES, "all")) == [["the", "rain", "is", "over"], ["it", "rained"]]
    assert list(read_sentences(SENTENCES, "content")) == [["rain", "over"], ["rained"]]


def test_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no part-\*\.parquet\. Restore or rebuild it\."):
        list(read_sentences(tmp_path, "all"))


def test_unknown_words_have_no_id() -> None:
    sentences = TokenIds.from_words([["sun", "and", "rain"], ["and"], ["rain"]], {"rain": 0, "sun": 1})
    assert sentences.ids.tolist() == [1, 0, 0]
    assert sentences.offsets.tolist() == [0, 2, 2, 3]
    assert sentences.lengths.tolist() == [2, 0, 1]
    assert sentences.owners.tolist() == [0, 0, 2]
    assert len(sentences) == 3


def test_take_keeps_the_order_asked_for() -> None:
    taken = TokenIds.from_lists([[7], [], [8, 9]]).take([2, 1])
    assert taken.ids.tolist() == [8, 9]
    assert taken.offsets.tolist() == [0, 2, 2]


def test_no_sentences() -> None:
    none = TokenIds.from_lists([])
    assert len(none) == 0
    assert none.ids.tolist() == []


def test_documents_go_with_the_sentences(workspace: Path) -> None:
    write_corpus(["The rain is over. It rained.", "Sun."], part=0)
    write_corpus(["A storm. And sun."], part=1)
    assert read_documents(SENTENCES).tolist() == [0, 0, 1, 0, 0]
    assert len(list(read_sentences(SENTENCES, "all"))) == 5
