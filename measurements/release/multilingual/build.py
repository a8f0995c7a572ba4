"""Build the multilingual encoder, step by step; a step whose result is there is not repeated.

download      catalogues, descriptions, dictionaries, word lists       debian/ descriptions/ pypi/ npm/
pairs         texts and their translations                             pairs.parquet
vocabulary    the tokens                                               vocabulary.txt
labels        the teacher's vectors, by shards of 2,000 texts          labels/
training      the token vectors, saved after each epoch                training.safetensors
settling      the same once more, with targets by the student          settling.safetensors
model         the table in int8, with its card                         languages.csv and models/multilingual
"""

import gzip
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

import sentence_distillery
from measurements.command import write_rows
from measurements.release.multilingual import sources, training, vocabulary
from measurements.release.multilingual.card import card
from measurements.release.multilingual.corpus import (
    SEED,
    Share,
    Sizes,
    Targets,
    assemble,
    bare_text,
    of_language,
    pair_table,
    shares,
)
from measurements.release.multilingual.evaluation import barred_texts
from measurements.release.multilingual.labels import Embed, label
from measurements.release.multilingual.languages import LANGUAGES
from measurements.release.multilingual.licences import Origin
from measurements.release.multilingual.parallel import english_examples
from measurements.release.multilingual.training import Options
from measurements.release.sign_rows import tokens_of
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.persistence.writing import save_model
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import CONTINUATION, UNKNOWN, static_tokenizer
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.teachers.use import embed

log = logging.getLogger(__name__)

COUNTS: Final = "languages.csv"


@dataclass(frozen=True)
class Plan:
    """What is built, and where."""

    place: Path  # the working directory; some 3 GB
    output: Path  # the directory of the encoder
    tokens: int = 210_000  # in the vocabulary
    dimension: int = 160  # of the vectors, at most the English encoder's
    sizes: Sizes = field(default_factory=Sizes)  # how many texts
    training: Options = field(default_factory=Options)  # how to train
    # how to train the second time, with the student's vectors of translations as targets
    settling: Options = field(default_factory=lambda: Options(epochs=2, learning_rate=0.002))
    sets: Path | None = None  # the directory of the test sets, whose texts are left out; None leaves none out


def build(plan: Plan) -> StaticEncoder:
    """Build the encoder, and write it to `plan.output`; steps that are done are not repeated.

    Raises InputError if a download fails, the teacher is not installed, or a file of a step is of another plan.
    """
    sources.download(plan.place)
    table, origins = pairs(plan.place), sources.origins(plan.place)
    words = {language.code: vocabulary.general_words(plan.place / "pypi", language.code) for language in LANGUAGES}
    return build_from(plan, table, words, examples(plan.place), embed, origins)


def pairs(place: Path) -> pa.Table:
    """Read the table of pairs, or make it from the downloads."""
    file = place / "pairs.parquet"
    if not file.exists():
        log.info("Reading translations: some five minutes")
        with atomic_file(file) as partial:
            pq.write_table(pair_table(sources.read_pairs(place)), partial)
    return pq.read_table(file)


def examples(place: Path) -> list[str]:
    """Read the English sentences of the dictionaries."""
    file = place / "debian/dict-freedict-eng-hin/usr/share/dictd/freedict-eng-hin.dict.dz"
    return list(dict.fromkeys(english_examples(gzip.decompress(file.read_bytes()).decode().splitlines())))


def build_from(
    plan: Plan,
    table: pa.Table,
    words: Mapping[str, Mapping[str, float]],
    sentences: Sequence[str],
    teacher: Embed,
    origins: Mapping[str, Origin],
) -> StaticEncoder:
    """Build the encoder from pairs, the frequencies of words by language, and English sentences.

    `origins` are those of the texts, by package, for the model card.
    """
    english = sentence_distillery.load()
    known = tokens_of(english.tokenizer)[1:]  # without the unknown one
    tokens = _vocabulary(plan, table, words, known)
    targets = fitted_targets(plan, english, teacher, sentences)
    own = [token for token in known if not token.startswith(CONTINUATION)][: plan.sizes.english]
    barred = frozenset(map(bare_text, barred_texts(plan.sets))) if plan.sets else frozenset[str]()
    corpus = assemble(table, words, own, sentences, targets, plan.sizes, barred)
    tokenizer = static_tokenizer(tokens)
    ids, made = training.tokens_of(tokenizer, corpus.texts), np.concatenate(corpus.targets)
    start = training.start_table(_known(english, tokens, plan.dimension), ids, made)
    trained = training.train(start, ids, made, plan.training, plan.place / "training.safetensors")
    made = corpus.settled(StaticEncoder(tokenizer, trained).encode)
    trained = training.train(trained.copy(), ids, made, plan.settling, plan.place / "settling.safetensors")
    encoder = compress(StaticEncoder(*without_untrained(tokens, trained)), precision="int8")
    plan.output.parent.mkdir(parents=True, exist_ok=True)
    counted = shares(corpus, ids)
    rows = [{"language": code, **share._asdict()} for code, share in counted.items()]
    write_rows(plan.place / COUNTS, rows, ["language", *Share._fields])
    save_model(encoder, plan.output, card(plan.dimension, len(encoder.stored), counted, origins))
    return encoder


def without_untrained(tokens: Sequence[str], table: Floats) -> tuple[Tokenizer, Floats]:
    """Leave out the words and pieces that no text had: zero rows. Others take their place.

    Single characters stay, since a word with an unknown character would be unknown as a whole.

    >>> tokenizer, table = without_untrained(["[UNK]", "sea", "seaside", "##side"], np.array([[0], [1], [0], [1]]))
    >>> tokenizer.encode("seaside").tokens, len(table)
    (['sea', '##side'], 3)
    """
    single = (token == UNKNOWN or len(token.removeprefix(CONTINUATION)) == 1 for token in tokens)
    kept = np.flatnonzero(np.asarray(table.any(axis=1)) | np.fromiter(single, bool)).tolist()
    return static_tokenizer([tokens[place] for place in kept]), table[kept]


def _vocabulary(
    plan: Plan, table: pa.Table, words: Mapping[str, Mapping[str, float]], english: Sequence[str]
) -> list[str]:
    """Read the vocabulary, or choose it."""
    file = plan.place / "vocabulary.txt"
    if not file.exists():
        scores = {}
        for language in LANGUAGES:
            texts = of_language(table, language.code)["text"].to_pylist()
            drawn = sorted(np.random.default_rng(SEED).permutation(len(texts))[: plan.sizes.pairs])
            scored = vocabulary.word_scores(words.get(language.code, {}), [texts[place] for place in drawn])
            scores[language.code] = scored
            log.info("%s: %s words", language.name, f"{len(scored):,}")
        chosen = vocabulary.choose(english, scores, plan.tokens)
        with atomic_file(file) as partial:
            partial.write_text("\n".join(chosen) + "\n")
    tokens = file.read_text().split("\n")[:-1]
    if len(tokens) > plan.tokens:
        raise InputError(f"{file} has {len(tokens):,} tokens, not {plan.tokens:,}; delete it to choose again.")
    return tokens


def fitted_targets(plan: Plan, english: StaticEncoder, teacher: Embed, sentences: Sequence[str]) -> Targets:
    """Fit the map from the teacher's space to the English encoder's on English sentences."""
    labels = plan.place / "labels"

    def vectors(texts: list[str]) -> Floats:
        return unit_rows(english.encode(texts)[:, : plan.dimension])

    fitted = list(sentences)
    taught = label(fitted, labels / "en-examples", teacher).astype(np.float32)
    return Targets(vectors, teacher, labels, training.mapping(taught, vectors(fitted)))


def _known(english: StaticEncoder, tokens: Sequence[str], dimension: int) -> Floats:
    """Return the English encoder's vectors of its tokens, and zeros for the others."""
    numbers, vectors = english.tokenizer.get_vocab(), english.table[:, :dimension]
    known = np.zeros((len(tokens), dimension), dtype=np.float32)
    for place, token in enumerate(tokens[1:], start=1):
        if token in numbers:
            known[place] = vectors[numbers[token]]
    return known
