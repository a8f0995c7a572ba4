"""The FastText stage: its files, and words composed of their n-grams."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText

from reproductions.paper1.word_vectors.corpus import read_sentences
from reproductions.paper1.word_vectors.fasttext import NGRAMS, SubwordVectors
from reproductions.paper1.word_vectors.model import WordVectors
from sentence_distillery.io.artifacts import InputError, write_tensors
from stages.paper1 import fasttext as fasttext_stage
from stages.paths import FASTTEXT, SENTENCES
from tests.reproductions.paper1.conftest import write_params
from tests.sentence_distillery.distillation.conftest import files
from tests.workspace import ROOT

BUCKETS = 500
UNKNOWN = ["governmental", "qwxz", "x"]


@pytest.fixture
def small(workspace: Path) -> Path:
    """Other settings than those of skip-gram."""
    write_params(fasttext={"epochs": 2, "buckets": BUCKETS, "minimum_count": 3})
    return workspace


def test_words_and_vectors_are_those_of_gensim(small: Path) -> None:
    """Of known words and, composed of their n-grams, of unknown ones."""
    fasttext_stage.main()
    sentences = list(read_sentences(SENTENCES, "content"))
    reference = FastText(
        sentences,
        sg=1, vector_size=50, window=5, min_count=3, negative=5, epochs=2,
        min_n=3, max_n=6, bucket=BUCKETS, seed=1, workers=1,
    )  # fmt: skip
    found = SubwordVectors.load(FASTTEXT)
    known = found.model.words
    assert known == reference.wv.index_to_key
    counts = Counter(word for words in sentences for word in words)
    assert found.model.counts.tolist() == [counts[word] for word in known]
    extended = found.extended([*UNKNOWN, known[0], "qwxz"])
    assert extended.words == [*known, *UNKNOWN]
    for word in (*known[:50], *UNKNOWN):
        np.testing.assert_allclose(extended.vectors[extended.index[word]], reference.wv[word], atol=1e-6)
    summary = json.loads(Path("reports/counters/fasttext.json").read_text())
    assert (summary["total"], summary["kept"]) == (len(counts), len(known))
    assert summary["dropped"] == {"rare": len(counts) - len(known)}


def storm(minimum_n: int) -> SubwordVectors:
    """One word and four n-grams, in two dimensions."""
    words = WordVectors(["storm"], np.ones(1, dtype=np.int64), np.ones((1, 2), dtype=np.float32))
    return SubwordVectors(words, np.eye(4, 2, dtype=np.float32), minimum_n, maximum_n=6)


def test_a_word_too_short_for_an_n_gram_has_no_vector() -> None:
    """`<x>` has three characters, so no n-gram of four or more."""
    assert storm(minimum_n=4).extended(["x", "xy"]).words == ["storm", "xy"]


@pytest.mark.fault(27)
def test_the_same_bytes_in_different_processes(small: Path) -> None:
    """One seed and one worker give the same bytes, whatever the process's hash seed."""
    fasttext_stage.main()
    here = files(FASTTEXT)
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    assert hash("storm") != int(
        subprocess.check_output([sys.executable, "-c", "print(hash('storm'))"], env=environment)
    )
    subprocess.run([sys.executable, "-m", "stages.paper1.fasttext"], env=environment, check=True)
    assert files(FASTTEXT) == here


def test_no_word_is_frequent_enough(small: Path) -> None:
    write_params(fasttext={"minimum_count": 100_000})
    with pytest.raises(SystemExit, match=r"none of them 100000 times; lower minimum_count"):
        fasttext_stage.main()
    assert not FASTTEXT.exists()


@pytest.mark.fault(13)
def test_lengths_that_exclude_each_other(small: Path) -> None:
    """No n-gram is as long as 5 and as short as 4."""
    write_params(fasttext={"minimum_n": 5, "maximum_n": 4})
    with pytest.raises(SystemExit, match=r"fasttext: minimum_n = 5 is above maximum_n = 4"):
        fasttext_stage.main()


@pytest.mark.fault(15)
def test_damaged_n_grams(tmp_path: Path) -> None:
    """A model without its n-grams, or with other ones, is refused by name."""
    found, config = storm(minimum_n=3), {"buckets": 4, "minimum_n": 3, "maximum_n": 6}
    found.model.save(tmp_path / "model", config, {NGRAMS: {"ngrams": found.ngrams}})
    file = tmp_path / "model" / NGRAMS
    assert SubwordVectors.load(file.parent).ngrams.tolist() == found.ngrams.tolist()
    write_tensors(file, {"ngrams": found.ngrams[:3]})
    with pytest.raises(InputError, match=r"ngrams\.safetensors: tensor 'ngrams' has shape"):
        SubwordVectors.load(file.parent)
    file.unlink()
    with pytest.raises(InputError, match=r"ngrams\.safetensors"):
        SubwordVectors.load(file.parent)
