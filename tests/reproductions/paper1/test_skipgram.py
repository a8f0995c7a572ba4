"""The corpus as words, and the skip-gram stage: the words, counts and vectors that it writes."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from gensim.models import Word2Vec

from reproductions.paper1.word_vectors import skipgram
from reproductions.paper1.word_vectors.corpus import read_documents, read_sentences
from reproductions.paper1.word_vectors.model import WordVectors
from sentence_distillery.io.artifacts import InputError
from stages.paper1 import skipgram as skipgram_stage
from stages.params import load_params
from stages.paths import SENTENCES, SKIPGRAM

from .conftest import write_corpus, write_params


def test_sentences_and_their_documents(workspace: Path) -> None:
    write_corpus(["The rain is over. It rained.", "Sun."], part=0)
    write_corpus(["A storm. And sun."], part=1)
    words = [["the", "rain", "is", "over"], ["it", "rained"], ["sun"], ["a", "storm"], ["and", "sun"]]
    assert list(read_sentences(SENTENCES, "all")) == words
    assert list(read_sentences(SENTENCES, "content")) == [["rain", "over"], ["rained"], ["sun"], ["storm"], ["sun"]]
    assert read_documents(SENTENCES).tolist() == [0, 0, 1, 0, 0]


def test_words_and_vectors_are_those_of_gensim(workspace: Path) -> None:
    """Counting the words ourselves and streaming the parts has the same result as gensim on the full corpus."""
    skipgram_stage.main()
    sentences = list(read_sentences(SENTENCES, "content"))
    reference = Word2Vec(
        sentences, sg=1, vector_size=50, window=5, min_count=2, negative=5, epochs=2, seed=1, workers=1
    )
    model = WordVectors.load(SKIPGRAM)
    assert model.words == reference.wv.index_to_key
    np.testing.assert_array_equal(model.vectors, reference.wv.vectors)
    counts = Counter(word for words in sentences for word in words)
    assert model.counts.tolist() == [counts[word] for word in model.words]
    summary = json.loads(Path("reports/counters/skipgram.json").read_text())
    assert (summary["unit"], summary["total"], summary["kept"]) == ("words", len(counts), len(model.words))
    assert summary["dropped"] == {"rare": len(counts) - len(model.words)}


def test_no_word_is_frequent_enough(workspace: Path) -> None:
    write_params(skipgram={"minimum_count": 100_000})
    with pytest.raises(SystemExit, match=r"none of them 100000 times; lower minimum_count"):
        skipgram_stage.main()
    assert not SKIPGRAM.exists()


@pytest.mark.fault(15)
def test_part_damaged_while_training(workspace: Path) -> None:
    """An error in gensim's reading thread ends the training instead of leaving it waiting."""
    params = load_params().skipgram
    counts = skipgram.count_words(read_sentences(SENTENCES, "content"))
    (SENTENCES / "part-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"part-00001\.parquet cannot be read"):
        skipgram.train(SENTENCES, params, counts)
