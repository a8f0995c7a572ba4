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
from sentence_distillery.io.artifacts import InputError
from stages.paper1 import fasttext as fasttext_stage
from stages.paths import FASTTEXT, SENTENCES
from tests.reproductions.paper1.conftest import write_params

ROOT = Path(__file__).parents[3]
BUCKETS = 500
UNKNOWN = ["governmental", "qwxz", "x"]


@pytest.fixture
def small(workspace: Path) -> Path:
    write_params(fasttext={"epochs": 2, "buckets": BUCKETS})
    return workspace


def run_in_a_process(hash_seed: int) -> dict[str, bytes]:
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "stages.paper1.fasttext"], env=environment, check=True)
    return {path.name: path.read_bytes() for path in FASTTEXT.iterdir()}


def test_words_and_counters(small: Path) -> None:
    fasttext_stage.main()
    counts = Counter(word for words in read_sentences(SENTENCES, "content") for word in words)
    frequent = {word: count for word, count in counts.items() if count >= 2}
    found = SubwordVectors.load(FASTTEXT)
    assert dict(zip(found.model.words, found.model.counts.tolist(), strict=True)) == frequent
    assert found.model.vectors.shape == (len(frequent), 50)
    assert found.ngrams.shape == (BUCKETS, 50)
    summary = json.loads(Path("reports/counters/fasttext.json").read_text())
    assert (summary["total"], summary["kept"]) == (len(counts), len(frequent))
    assert summary["dropped"] == {"rare": len(counts) - len(frequent)}


def test_vectors_are_those_of_gensim(small: Path) -> None:
    """Of known words and, composed of their n-grams, of unknown ones."""
    fasttext_stage.main()
    reference = FastText(
        list(read_sentences(SENTENCES, "content")),
        sg=1, vector_size=50, window=5, min_count=2, negative=5, epochs=2,
        min_n=3, max_n=6, bucket=BUCKETS, seed=1, workers=1,
    )  # fmt: skip
    model = SubwordVectors.load(FASTTEXT)
    assert not set(UNKNOWN) & set(model.model.index)
    extended = model.extended([*UNKNOWN, model.model.words[0], "qwxz"])
    assert extended.words == [*model.model.words, *UNKNOWN]
    for word in (*model.model.words[:50], *UNKNOWN):
        np.testing.assert_allclose(extended.vectors[extended.index[word]], reference.wv[word], atol=1e-6)


def test_a_word_too_short_for_an_n_gram_has_no_vector() -> None:
    """`<x>` has three characters, so no n-gram of four or more."""
    words = WordVectors(["storm"], np.ones(1, dtype=np.int64), np.ones((1, 2), dtype=np.float32))
    model = SubwordVectors(words, np.eye(4, 2, dtype=np.float32), minimum_n=4, maximum_n=6)
    assert model.extended(["x", "xy"]).words == ["storm", "xy"]


@pytest.mark.fault(27)
def test_the_same_bytes_in_different_processes(small: Path) -> None:
    """One seed and one worker give the same bytes, whatever the process's hash seed."""
    assert run_in_a_process(hash_seed=1) == run_in_a_process(hash_seed=2)


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
def test_damaged_n_grams(small: Path) -> None:
    """A model without its n-grams, or with other ones, is refused by name."""
    fasttext_stage.main()
    with pytest.raises(InputError, match=r"ngrams\.safetensors: tensor 'ngrams' has shape"):
        config = json.loads((FASTTEXT / "config.json").read_text())
        (FASTTEXT / "config.json").write_text(json.dumps(config | {"buckets": 7}))
        SubwordVectors.load(FASTTEXT)
    (FASTTEXT / NGRAMS).unlink()
    with pytest.raises(InputError, match=r"ngrams\.safetensors"):
        SubwordVectors.load(FASTTEXT)
