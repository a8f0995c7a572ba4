"""Measure an encoder by language: human ratings of similarity (STS-B), and finding translations (Tatoeba).

Both are measured in two parts. Choices are made on the first: STS-B dev, and one half of Tatoeba's sentences, drawn by
a seed. The second is for reporting: STS-B test, and the other half. A sentence of either half is compared with all
English sentences.

    STS-B    rank correlation of the cosines with the ratings
    Tatoeba  share of the sentences whose nearest English sentence is their translation
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    """Correlate cosines with ratings, × 100.

    `encode`: from texts to vectors; `file`: a CSV without a header: two sentences and a rating.
    """
    from scipy.stats import spearmanr

    with file.open(newline="") as opened:
        rows = list(csv.reader(opened))
    first, second = (unit_rows(encode([row[place] for row in rows])) for place in (0, 1))
    return 100 * float(spearmanr(np.einsum("nd,nd->n", first, second), [float(row[2]) for row in rows])[0])


def half(count: int, part: Part) -> NDArray[np.int64]:
    """Draw half of the numbers below `count`; the two parts have no number in common.

    >>> sorted(int(row) for part in ("dev", "test") for row in half(4, part))
    [0, 1, 2, 3]
    """
    order = np.random.default_rng(SEED).permutation(count)
    return np.sort(order[: count // 2] if part == "dev" else order[count // 2 :])


def retrieval(encode: Encode, texts: list[str], english: list[str], part: Part) -> float:
    """Compute the share of texts whose nearest English text is their translation, × 100."""
    rows = half(len(texts), part)
    cosines = unit_rows(encode([texts[row] for row in rows])) @ unit_rows(encode(english)).T
    return 100 * float(np.mean(cosines.argmax(axis=1) == rows))


def measure(encode: Encode, sets: Path, part: Part, vocabulary: frozenset[str] = frozenset()) -> Iterator[Scores]:
    """Measure an encoder in each language that has a set.

    `encode`: from texts to vectors, of any length; `sets`: the directory with `stsb/stsb-de-dev.csv` and
    `tatoeba/tatoeba.deu-eng.deu`; `part`: "dev" for choices, "test" for reports; `vocabulary`: the tokens of the
    encoder, for the share of known words.
    """
    for language in LANGUAGES:
        rated = sets / f"stsb/stsb-{language.code}-{part}.csv"
        sides = _sides(sets, language)
        if not rated.exists() and not sides:
            continue
        known = without = None
        if sides and vocabulary:
            words = [word for found in split_words(sides[0]) for word in found]
            known = 100 * sum(word in vocabulary for word in words) / max(len(words), 1)
            without = 100 * float(np.mean(~encode(sides[0]).any(axis=1)))
        yield Scores(
            language.code,
            similarity(encode, rated) if rated.exists() else None,
            retrieval(encode, *sides, part) if sides else None,
            known,
            without,
        )


def _sides(sets: Path, language: Language) -> tuple[list[str], list[str]] | None:
    name = sets / f"tatoeba/tatoeba.{language.dictionary}-eng"
    files = [name.with_name(f"{name.name}.{side}") for side in (language.dictionary, "eng")]
    if not files[0].exists():
        return None
    return files[0].read_text().splitlines(), files[1].read_text().splitlines()


def barred_texts(sets: Path) -> Iterator[str]:
    """Yield all texts of the sets, which must not be trained on."""
    for file in sorted(sets.glob("tatoeba/*")):
        yield from file.read_text().splitlines()
    for file in sorted(sets.glob("stsb/*.csv")):
        with file.open(newline="") as opened:
            for row in csv.reader(opened):
                yield from row[:2]
