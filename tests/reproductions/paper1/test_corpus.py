"""The corpus as sentences of words, and the article of each."""

from pathlib import Path

from reproductions.paper1.word_vectors.corpus import read_documents, read_sentences
from stages.paths import SENTENCES

from .conftest import write_corpus


def test_sentences_and_their_documents(workspace: Path) -> None:
    write_corpus(["The rain is over. It rained.", "Sun."], part=0)
    write_corpus(["A storm. And sun."], part=1)
    words = [["the", "rain", "is", "over"], ["it", "rained"], ["sun"], ["a", "storm"], ["and", "sun"]]
    assert list(read_sentences(SENTENCES, "all")) == words
    assert list(read_sentences(SENTENCES, "content")) == [["rain", "over"], ["rained"], ["sun"], ["storm"], ["sun"]]
    assert read_documents(SENTENCES).tolist() == [0, 0, 1, 0, 0]
