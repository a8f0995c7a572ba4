"""Train the released encoder further: `make continued FROM="<directory> ..."`, after `make release` and `make signs`.

    text         news and captions, as those of `make ablations`; and tweets, abstracts, reviews, manuals, docstrings,
                 changes, as `python -m measurements.release.texts` collects them
    words        the most frequent words and terms of each of these kinds that the encoder cuts into pieces; they
                 take the place of words that the text lacks
    teachers     both of the release, multilingual-e5-small, and the encoder itself, which keeps it where it is good
    rate         a fifth of that of a new student, for the same reason

`texts FROM` writes what e5 has to embed, with `--more` for `compare`, too. `train FROM` reads the vectors that
`e5_vectors.py` made of them, and writes models/released, unless that is worse on a kind of task. `compare FROM`
measures what each part of the recipe adds, without a test split (reproductions/docs/levers.md). An interrupted call
goes on, from data/checkpoints/continued.
"""

import argparse
import hashlib
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from measurements import command
from measurements.ablations import Grid
from measurements.equal_bytes import write_comparison
from measurements.release.sign_rows import extended, tokens_of
from measurements.release.signs import LENGTH, PRECISION, TEACHERS, sentences
from measurements.release.student import cleaned, refuse_worse, write_release
from measurements.release.texts import LICENCES
from measurements.sets import SUITE_SETS, collected
from measurements.trained_peers import read_corpus
from reproductions.systems.similarity import scores
from sentence_distillery.corpus.fingerprints import fingerprints, ranks
from sentence_distillery.corpus.tables.reading import Reading
from sentence_distillery.distillation.corpus_files import CLEAN, write_sentences
from sentence_distillery.distillation.distill import HERE, as_teacher
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.distillation.options import SoftLabels, StudentOptions
from sentence_distillery.distillation.soft_labels import WORDS as WORDS_FILE
from sentence_distillery.distillation.soft_labels import LabelDirectories, label
from sentence_distillery.distillation.student import LabelledCorpus, train_static
from sentence_distillery.distillation.vocabulary import choose_terms, count_terms, count_words, with_terms
from sentence_distillery.encoder.compression import compress, principal_directions, token_counts, with_fewer_words
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import is_emoji, is_term, static_tokenizer
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import InputError, atomic_directory, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import unit_rows
from stages import paths

WORK = Path("data/checkpoints/continued")
ARTICLES, CAPTIONS = 4_000, 30_000
SENTENCES = {  # of each kind
    "tweets": 20_000,
    "abstracts": 30_000,
    "reviews": 2_000,
    "manuals": 1_000,
    "docstrings": 1_000,
    "changes": 500,
}
MORE = {  # of some kinds, by the name that `compare` has for it
    "": {},
    "technical": {"manuals": 10_000, "docstrings": 10_000, "changes": 5_000},
    "tweets": {"tweets": 83_000},
}
WORDS = {  # the most that get a vector of each kind, in this order
    "abstracts": 2_700,
    "tweets": 1_500,
    "manuals": 1_300,
    "docstrings": 1_100,
    "changes": 300,
    "reviews": 200,
}
TOKENS = 55_600  # so many fit in 16 MB
OFTEN = 5  # a word has to occur in its kind
DIMENSION, EPOCHS, RELATIONAL, SEED = 256, 10, 0.3, 1
EVERY = 3_000  # sentences of each kind that document frequencies of new words are counted in
TEXT = pa.schema([("text", pa.string())])

log = logging.getLogger("continued")


@dataclass(frozen=True)
class Recipe:
    """How the encoder is trained further."""

    e5: bool = True  # whether multilingual-e5-small is one of the teachers
    itself: bool = True  # whether the former encoder is one, too
    kinds: bool = True  # whether text of other kinds than news and captions is among the text
    words: bool = True  # whether frequent words of these kinds get a vector
    rate: float = 0.0006  # of learning
    more: str = ""  # what it has more sentences of: a key of MORE


RECIPES = {
    "the release": Recipe(),
    "without e5": Recipe(e5=False),
    "without itself as a teacher": Recipe(itself=False),
    "news and captions alone": Recipe(kinds=False),
    "without further words": Recipe(words=False),
    "with 22,500 more technical sentences": Recipe(more="technical"),
    "with 63,000 more tweets": Recipe(more="tweets"),
    "the rate of a new student, 0.003": Recipe(rate=0.003),
}


@dataclass(frozen=True)
class Text:
    """What is there to train on: sentences of news and captions, those of each kind, and the words of these kinds."""

    general: list[str]
    kinds: Mapping[str, list[str]]
    words: list[str]

    @property
    def drawn(self) -> list[str]:
        """All sentences that are trained on."""
        return [*self.general, *drawn(self.kinds, SENTENCES)]

    @property
    def counted(self) -> list[str]:
        """Sentences that document frequencies of further words are counted in."""
        return [text for each in self.kinds.values() for text in each[:: max(1, len(each) // EVERY)]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Train the released encoder further.")
    steps = ("texts", "train", "compare")
    parser.add_argument("step", choices=steps, help="what e5 embeds; the release; other recipes")
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help="directories of the sets and the text")
    parser.add_argument("--from", dest="former", default=str(paths.RELEASED), help="the encoder (models/released)")
    parser.add_argument("--output", type=Path, help="directory to write (models/released; reports/runs/levers)")
    parser.add_argument(
        "--more", action="store_true", help="texts: also those that only `compare` needs, twice as many"
    )
    options = command.parsed(parser, arguments, "%(message)s")
    with command.refusals("continued"):
        former = StaticEncoder.load(options.former)
        if "continued" in former.made_from:
            raise InputError(f"{options.former} was trained further already; run `make release` before.")
        data = collected(SUITE_SETS, options.source, WORK / "sets")
        kinds = {name: sentences(name, data.fingerprints()) for name in LICENCES}
        text = Text(general(options.source, data), kinds, further_words(kinds, former))
        print(f"{len(text.drawn):,} sentences; {len(text.words):,} words, such as {' '.join(text.words[::400])}")
        if options.step == "texts":
            mixtures = MORE.values() if options.more else [MORE[""]]
            sampled = [text for each in mixtures for text in drawn(kinds, SENTENCES | each)]
            wanted = list(dict.fromkeys([*text.general, *sampled, *text.words]))
            write_table(WORK / "texts.parquet", pa.table({"text": wanted}, TEXT))
        elif options.step == "train":
            release(options.former, text, data, options.output or paths.RELEASED)
        else:
            options.output = options.output or Path("reports/runs/levers")
            found = {name: made(recipe, text, options.former) for name, recipe in RECIPES.items()}
            about = f"python -m measurements.release.continued compare FROM, {EPOCHS} epochs, seed {SEED}"
            write_comparison("continued", found, "released", options, about, former)


def release(former: str, text: Text, data: BenchmarkData, target: Path) -> None:
    """Write the encoder with its card; raises InputError if it is worse than the former one on a kind of task."""
    encoder, before = made(RECIPES["the release"], text, former), StaticEncoder.load(former)
    refuse_worse(before, encoder, data, target)
    tokens, former_tokens = (each.tokenizer.get_vocab().keys() for each in (encoder, before))
    about = {
        "tokens": len(tokens - former_tokens),
        "tokens_left_out": len(former_tokens - tokens),
        "sentences": len(text.drawn),
        "epochs": EPOCHS,
        "teacher": "multilingual-e5-small",
        "of": LICENCES,
    }
    figures = {name: round(value, 5) for name, value in scores(encoder.encode, data).items()}
    write_release(encoder, {**before.made_from, "figures": figures, "continued": about}, data, target)
    for name, value in figures.items():
        print(f"{name:24} {100 * value:6.2f}")


def made(recipe: Recipe, text: Text, former: str) -> StaticEncoder:
    """Train by a recipe, or read the encoder of an earlier call."""
    target = WORK / "students" / f"{recipe}"
    if not target.exists():
        log.info("%s", recipe)
        words = text.words if recipe.words else []
        options = StudentOptions(
            start_from=former,
            dimension=DIMENSION,
            epochs=EPOCHS,
            learning_rate=recipe.rate,
            relational_weight=RELATIONAL,
            seed=SEED,
        )
        encoder = StaticEncoder.load(former)
        corpus = labelled(recipe, text, words, encoder)
        student = train_static(options, corpus, Counters("sentences"), WORK / "student.safetensors").encoder
        with_rows(encoder, student, words, text).save_pretrained(target)
    return StaticEncoder.load(target)


def labelled(recipe: Recipe, text: Text, words: Sequence[str], former: StaticEncoder) -> LabelledCorpus:
    """Label the sentences of a recipe; of the corpus' words only `words` are left, since the encoder has the others."""
    sentences, soft_labels = WORK / "labelled" / "sentences", WORK / "labelled" / "soft_labels"
    kinds = drawn(text.kinds, SENTENCES | MORE[recipe.more])
    texts = [*text.general, *(kinds if recipe.kinds else ())]
    write_sentences(texts, Reading(), None, None, sentences, Counters("sentences"))
    teachers = [as_teacher(teacher, None, LENGTH) for teacher in TEACHERS]
    if recipe.e5:
        teachers.append(as_teacher(centred_vectors(text.drawn), None, None))
    if recipe.itself:
        teachers.append(as_teacher(former.encode, hashlib.sha256(former.stored.tobytes()).hexdigest(), None))
    settings = SoftLabels(minimum_count=len(texts) + 1, precision=PRECISION)
    with atomic_directory(soft_labels) as partial:
        directories = LabelDirectories(sentences, partial, WORK / "labelled" / "kept")
        label(teachers, settings, HERE, directories, Counters("sentences"), words)
        table = pq.read_table(partial / WORDS_FILE)
        pq.write_table(table.filter(pc.is_in(table["word"], pa.array(words, pa.string()))), partial / WORDS_FILE)
    return LabelledCorpus(sentences, soft_labels)


def general(sources: Sequence[Path], data: BenchmarkData) -> list[str]:
    """Return the sentences of news and captions, those that `make ablations` draws with ARTICLES and CAPTIONS."""

    def texts() -> Iterator[str]:
        grid = Grid(read_corpus(sources, data), data, WORK, ARTICLES, CAPTIONS)
        yield from grid.texts("news and captions")

    return cleaned(texts(), data.fingerprints(), WORK / "general" / "sentences")


def drawn(kinds: Mapping[str, Sequence[str]], most: Mapping[str, int]) -> Iterator[str]:
    """Yield the sentences of each kind with the lowest hashes, at most so many."""
    for name, texts in kinds.items():
        distinct = list(dict.fromkeys(texts))
        order = np.argsort(ranks(fingerprints(distinct), SEED), kind="stable")
        yield from (distinct[row] for row in order[: most[name]])


def further_words(kinds: Mapping[str, Sequence[str]], encoder: StaticEncoder) -> list[str]:
    """List the frequent words and terms of each kind that the encoder has no token for; numbers are left out."""
    known, found = encoder.tokenizer.get_vocab(), dict[str, None]()
    for name in (name for name in WORDS if name in kinds):
        counts = count_words(kinds[name])
        counts = Counter(with_terms(counts, choose_terms(count_terms(kinds[name]), counts, OFTEN)))
        ordered = sorted((-count, word) for word, count in counts.items() if count >= OFTEN)
        lacking = (word for _, word in ordered if word not in known and _is_named(word))
        found |= dict.fromkeys(islice(lacking, WORDS[name]))
    return list(found)


def _is_named(word: str) -> bool:
    """Tell whether a word has letters, and is neither one letter, nor a path or a Twitter name."""
    return len(word) > 1 and re.search(r"[^\W\d_]", word) is not None and not re.search(r"[/@]", word)


def centred_vectors(texts: Sequence[str]) -> Path:
    """Write the vectors of e5 less their mean over the texts, at unit length: its cosines are all near 0.8."""
    target = WORK / "e5.parquet"
    table = pa.concat_tables(pq.read_table(part) for part in sorted((WORK / "vectors").glob("*.parquet")))
    vectors = unit_rows(np.array(table["vector"].combine_chunks().flatten()).reshape(len(table), -1))
    place = {text: row for row, text in enumerate(table["text"].to_pylist())}
    if lacking := len({*texts} - place.keys()):
        raise InputError(
            f"{WORK / 'vectors'} lacks {lacking:,} texts; run `make continued`, which embeds them, or `texts --more`."
        )
    centred = unit_rows(vectors - vectors[[place[text] for text in texts]].mean(axis=0))
    rows = pa.FixedSizeListArray.from_arrays(pa.array(centred.ravel()), centred.shape[1])
    pq.write_table(pa.table({"text": table["text"], "vector": rows}), target)
    return target


def with_rows(released: StaticEncoder, student: StaticEncoder, words: Sequence[str], text: Text) -> StaticEncoder:
    """Give the released encoder the student's vectors, and a row for each word, as far as there is room.

    Words that no sentence has make room, the last ones first; pieces and signs stay.
    """
    size = len(released.stored)
    tokens = [*tokens_of(released.tokenizer), *words]
    rows = student.tokenizer.get_vocab()
    wider = StaticEncoder(static_tokenizer(tokens), student.table[[rows[token] for token in tokens]])
    counts = token_counts(wider, text.drawn)
    table = wider.table @ principal_directions(wider.table, counts)
    counted = with_lexical_channel(wider, wider.token_ids(text.counted), 8, 0.0, CLEAN.language)
    full = StaticEncoder(
        wider.tokenizer,
        table,
        lexical=extended(released, counted, size),
        lexical_weight=released.lexical_weight,
        search_weight=released.search_weight,
    )
    signs = np.array([is_emoji(token) or is_term(token) for token in tokens])
    return compress(with_fewer_words(full, min(TOKENS, len(tokens)), counts + signs), precision="int8")


if __name__ == "__main__":
    main()
