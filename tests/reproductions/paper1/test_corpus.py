"""Sentences of unequal length in two flat arrays."""

from pathlib import Path

import pytest

from reproductions.paper1.word_vectors.corpus import read_documents, read_sentences
from sentence_distillery.io.artifacts import InputError
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


def test_documents_go_with_the_sentences(workspace: Path) -> None:
    write_corpus(["The rain is over. It rained.", "Sun."], part=0)
    write_corpus(["A storm. And sun."], part=1)
    assert read_documents(SENTENCES).tolist() == [0, 0, 1, 0, 0]
    assert len(list(read_sentences(SENTENCES, "all"))) == 5
