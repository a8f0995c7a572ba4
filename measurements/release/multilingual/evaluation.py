"""Measure an encoder by language: human ratings of similarity (STS-B), and finding translations (Tatoeba).

Both are measured in two parts. Choices are made on the first: STS-B dev, and one half of Tatoeba's sentences, drawn by
a seed. The second is for reporting: STS-B test, and the other half. A sentence of either half is compared with all
English sentences.

    STS-B    rank correlation of the cosines with the ratings
    Tatoeba  share of the sentences whose nearest English sentence is their translation
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from measurements.release.multilingual.languages import LANGUAGES, Language
from measurements.release.multilingual.vocabulary import split_words
from sentence_distillery.io.ragged import Floats, unit_rows

Encode = Callable[[list[str]], Floats]
Part = Literal["dev", "test"]
SEED: Final = 62  # of the halves of Tatoeba


@dataclass(frozen=True)
class Scores:
    """The figures of an encoder in a language, all × 100; None if there is no set of the language."""

    language: str  # ISO 639-1 code
    similarity: float | None  # Rank correlation with STS-B's ratings
    retrieval: float | None  # share of translations that are found
    known: float | None = None  # share of Tatoeba's words that are one token
    without: float | None = None  # share of Tatoeba's sentences without a vector


def similarity(encode: Encode, file: Path) -> float:
    """Correlate cosines with ratings, × 100; the file is a CSV without a header: two sentences and a rating."""
    from scipy.stats import spearmanr

    with file.open(newline="") as opened:
        rows = list(csv.reader(opened))
    first, second = (unit_rows(encode([row[place] for row in rows])) for place in (0, 1))
    return 100 * float(spearmanr(np.einsum("nd,nd->n", first, second), [float(row[2]) for row in rows])[0])


def half(count: int, part: Part) -> NDArray[np.int64]:
    """Draw half of the numbers below `count`; the two parts have no number in common."""
    order = np.random.default_rng(SEED).permutation(count)
    return np.sort(order[: count // 2] if part == "dev" else order[count // 2 :])


def retrieval(encode: Encode, texts: list[str], english: list[str], part: Part) -> float:
    """Compute the share of texts whose nearest English text is their translation, × 100."""
    rows = half(len(texts), part)
    cosines = unit_rows(encode([texts[row] for row in rows])) @ unit_rows(encode(english)).T
    return 100 * float(np.mean(cosines.argmax(axis=1) == rows))


def measure(
    encode: Encode,
    sets: Path,
    part: Part,
    vocabulary: frozenset[str] = frozenset(),
    languages: Sequence[Language] = LANGUAGES,
) -> Iterator[Scores]:
    """Measure an encoder in each language that has a set.

    `sets` has `stsb/stsb-de-dev.csv` and `tatoeba/tatoeba.deu-eng.deu`; `vocabulary` is for the share of known words.
    """
    for language in languages:
        rated = sets / f"stsb/stsb-{language.code}-{part}.csv"
        sides = tatoeba(sets, language)
        if not rated.exists() and not sides:
            continue
        known = without = None
        if sides and vocabulary:
            words = list(chain.from_iterable(split_words(sides[0])))
            known = 100 * sum(word in vocabulary for word in words) / max(len(words), 1)
            without = 100 * float(np.mean(~encode(sides[0]).any(axis=1)))
        rank = similarity(encode, rated) if rated.exists() else None
        found = retrieval(encode, *sides, part) if sides else None
        yield Scores(language.code, rank, found, known, without)


def tatoeba(sets: Path, language: Language) -> tuple[list[str], list[str]] | None:
    """Read the sentences of a language and their English translations, None if there are none."""
    name = f"tatoeba.{language.dictionary}-eng"
    own, english = (sets / "tatoeba" / f"{name}.{side}" for side in (language.dictionary, "eng"))
    return (own.read_text().splitlines(), english.read_text().splitlines()) if own.exists() else None


def barred_texts(sets: Path) -> Iterator[str]:
    """Yield all texts of the sets, which must not be trained on."""
    for file in sorted(sets.glob("tatoeba/*")):
        yield from file.read_text().splitlines()
    for file in sorted(sets.glob("stsb/*.csv")):
        with file.open(newline="") as opened:
            for row in csv.reader(opened):
                yield from row[:2]
