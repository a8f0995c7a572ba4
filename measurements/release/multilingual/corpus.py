"""Choose the texts to learn from, and make their targets.

    a text and its translation, of each language        english(translation), and teacher(text) if it is labelled
    English texts and examples of usage                 english(text), and the teacher's vector of it or its translation
    words of the taught languages                       teacher(word)
    words of the English encoder                        english(word), and teacher(word)

Texts of the test sets are left out, in either language.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from measurements.release.multilingual.labels import Embed, label
from measurements.release.multilingual.languages import ENGLISH, LANGUAGES, Language
from measurements.release.multilingual.parallel import FEWEST_BLANKS, Pair
from measurements.release.multilingual.training import joined
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows

log = logging.getLogger(__name__)

SEED: Final = 7
WITHOUT_BLANKS: Final = ("ja", "th", "zh")
FEWEST_CHARACTERS: Final = 10  # of a sentence in these
LONGEST_LABELLED: Final = 160  # characters


@dataclass(frozen=True)
class Sizes:
    """How many texts are taken, of each language."""

    pairs: int = 60_000
    sentences: int = 16_000  # of the pairs, those that the teacher labels, or else their translations
    words: int = 10_000  # of general text
    examples: int = 30_000  # German sentences of a dictionary, with their translations
    english: int = 60_000  # whole words of the English encoder, the first ones


@dataclass
class Corpus:
    """Texts to learn from, with the ISO 639-1 code of each."""

    texts: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    targets: list[NDArray[np.float16]] = field(default_factory=list)  # in the English encoder's space
    translations: list[str] = field(default_factory=list)  # of each text whose target comes from that alone, else ""

    def add(
        self,
        texts: Sequence[str],
        language: str,
        targets: NDArray[np.float16],
        barred: frozenset[str],
        translations: Sequence[str] = (),
    ) -> None:
        """Add texts of a language but those whose bare form is barred, and those without a target."""
        kept = np.array([bare_text(text) not in barred for text in texts], dtype=bool) & targets.any(axis=1)
        self.texts.extend(text for text, keep in zip(texts, kept, strict=True) if keep)
        self.languages.extend([language] * int(kept.sum()))
        self.targets.append(targets[kept])
        given = translations or [""] * len(texts)
        self.translations.extend(text for text, keep in zip(given, kept, strict=True) if keep)

    def settled(self, encode: Embed) -> NDArray[np.float16]:
        """Return all targets, those from translations alone made by another encoder of English, such as the student."""
        targets = np.concatenate(self.targets)
        rows = np.array([place for place, text in enumerate(self.translations) if text], dtype=np.int64)
        if len(rows):
            made = unit_rows(encode([self.translations[row] for row in rows])[:, : targets.shape[1]])
            targets[rows[made.any(axis=1)]] = made[made.any(axis=1)]
        return targets


class Share(NamedTuple):
    """What a language has: its texts, those of them with a say of the teacher, and their different tokens."""

    texts: int
    taught: int
    tokens: int


def shares(corpus: Corpus, ids: TokenIds) -> dict[str, Share]:
    """Count the texts of each language, given the tokens of all texts."""
    codes, alone = np.array(corpus.languages), np.array([bool(text) for text in corpus.translations])
    found = {}
    for code in sorted(set(corpus.languages)):
        rows = np.flatnonzero(codes == code)
        tokens = len(np.unique(ids.take(rows).ids))
        found[code] = Share(len(rows), len(rows) - int(alone[rows].sum()), tokens)
    return found


def bare_text(text: str) -> str:
    """Return the words of a text in lower case, in the order of the alphabet: near copies have the same."""
    return " ".join(sorted(re.findall(r"\w+", text.lower())))


def pair_table(pairs: Iterable[Pair]) -> pa.Table:
    """Put pairs into a table of text, english, language and source; of those that differ in capitals the first.

    >>> pair_table([Pair("Haus", "house", "de", "a"), Pair("HAUS", "House", "de", "b")]).num_rows
    1
    """
    different: dict[tuple[str, str, str], Pair] = {}
    for pair in pairs:
        different.setdefault((pair.text.lower(), pair.english.lower(), pair.language), pair)
    return pa.table(
        {name: pa.array([getattr(pair, name) for pair in different.values()], pa.string()) for name in Pair._fields}
    )


def of_language(table: pa.Table, code: str) -> pa.Table:
    """Select the pairs of a language, in their order."""
    return table.filter(pc.equal(table["language"], code))


def in_order(table: pa.Table, language: Language, sizes: Sizes) -> tuple[pa.Table, int]:
    """Draw the pairs of a language, first its sentences to be labelled, and return how many of them these are."""
    texts = table["text"].to_pylist()
    emoji = np.array(pc.equal(table["source"], "emoji").to_pylist(), dtype=bool)
    fit = np.array([_is_sentence(text, language.code) for text in texts], dtype=bool) & ~emoji
    random = np.random.default_rng(SEED)
    first = random.permutation(np.flatnonzero(fit))[: sizes.sentences]
    others = random.permutation(np.setdiff1d(np.arange(len(texts)), first))[: max(sizes.pairs - len(first), 0)]
    return table.take(np.concatenate([first, others])), len(first)


def _is_sentence(text: str, code: str) -> bool:
    long_enough = text.count(" ") >= FEWEST_BLANKS or (code in WITHOUT_BLANKS and len(text) >= FEWEST_CHARACTERS)
    return long_enough and len(text) <= LONGEST_LABELLED


@dataclass(frozen=True)
class Targets:
    """Makes targets: the English encoder's vectors, the teacher's, and the map between them."""

    english: Embed  # from texts to (texts, dimension) vectors of unit length, by the English encoder
    embed: Embed  # from texts to the teacher's vectors
    labels: Path  # the directory of the teacher's vectors
    mapping: Floats  # (teacher's dimension, dimension)

    def taught(self, texts: Sequence[str], name: str) -> Floats:
        """Return the teacher's vectors of texts in the English encoder's space; `name` is that of their shards."""
        if not texts:
            return np.zeros((0, self.mapping.shape[1]), dtype=np.float32)
        return label(texts, self.labels / name, self.embed).astype(np.float32) @ self.mapping


def assemble(
    table: pa.Table,
    words: Mapping[str, Iterable[str]],
    english_words: Sequence[str],
    examples: Sequence[str],
    targets: Targets,
    sizes: Sizes,
    barred: frozenset[str],
) -> Corpus:
    """Make the texts and targets of all languages from pairs, frequent words, and English words and sentences.

    `barred` are the bare texts of the test sets. Words of a language that the teacher does not know are not used.
    """
    corpus = Corpus()
    for language in LANGUAGES:
        pairs, count = in_order(of_language(table, language.code), language, sizes)
        labelled = pairs["text" if language.taught else "english"].to_pylist()[:count]
        _add_pairs(corpus, language.code, pairs, targets.taught(labelled, language.code), targets, barred)
        listed = list(words.get(language.code, ()))[: sizes.words] if language.taught else []
        if listed:
            corpus.add(listed, language.code, joined(targets.taught(listed, f"{language.code}-words")), barred)
        log.info(f"{language.name}: {len(pairs):,} pairs, {count:,} of them labelled, {len(listed):,} words")
    german = german_examples(of_language(table, "de"), sizes.examples)
    _add_pairs(corpus, "de", german, targets.taught(german["english"].to_pylist(), "de-examples"), targets, barred)
    for name, texts in (("en-examples", examples), ("en-words", english_words)):
        corpus.add(texts, ENGLISH, joined(targets.english(list(texts)), targets.taught(texts, name)), barred)
    return corpus


def german_examples(table: pa.Table, most: int) -> pa.Table:
    """Draw the German pairs of a dictionary that are sentences."""
    both = zip(table["source"].to_pylist(), table["english"].to_pylist(), strict=True)
    fit = [
        place
        for place, (source, text) in enumerate(both)
        if source == "dictionaries" and text[0].isupper() and _is_sentence(text, "de")
    ]
    return table.take(np.random.default_rng(SEED).permutation(np.array(fit, dtype=np.int64))[:most])


def _add_pairs(
    corpus: Corpus, language: str, pairs: pa.Table, taught: Floats, targets: Targets, barred: frozenset[str]
) -> None:
    """Add pairs of a language, of which the first are labelled, and the English sides of these."""
    texts, english = pairs["text"].to_pylist(), pairs["english"].to_pylist()
    made, shown = targets.english(english), len(taught)
    made[:shown] = joined(made[:shown], taught)
    fit = np.array([bare_text(text) not in barred for text in english], dtype=bool)
    corpus.add(texts, language, joined(made * fit[:, None]), barred, [""] * shown + english[shown:])
    corpus.add(english[:shown], ENGLISH, joined(made[:shown]), barred)
