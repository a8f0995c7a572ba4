"""The sentence pairs that paper 1 shows (tables 1 and 2), and their words one by one (figures 2 and 3).

reports/examples.json  cosines: {system: one for each pair, table 1's first}
                       words: {system: one for each pair of table 1: rows, columns, cosines of each two words or null}
"""

from typing import Any

import numpy as np

from reproductions.paper1.published import TABLE_1, TABLE_2
from reproductions.systems.systems import System, WordSystem
from sentence_distillery.corpus.text import tokenize
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.io.ragged import unit_rows

WORD_SYSTEMS = ("skip-gram", "refined")  # before and after


class Examples:
    """Collects the cosines of each system."""

    def __init__(self) -> None:
        self.cosines: dict[str, list[float | None]] = {}
        self.words: dict[str, list[dict[str, Any]]] = {}

    def add(self, system: System) -> None:
        pairs = [(row.sentence1, row.sentence2) for row in (*TABLE_1, *TABLE_2)]
        left, right = (system.pool(system.token_ids(list(side)), [None])[0] for side in zip(*pairs, strict=True))
        known = [
            bool(one.any() and other.any()) for one, other in zip(left, right, strict=True)
        ]  # no cosine if no word is known
        values = cosines(left, right)
        self.cosines[system.name] = [
            round(float(value), 4) if is_known else None for value, is_known in zip(values, known, strict=True)
        ]
        if isinstance(system, WordSystem) and system.name in WORD_SYSTEMS:
            self.words[system.name] = [word_cosines(system, row.sentence1, row.sentence2) for row in TABLE_1]

    def content(self) -> dict[str, Any]:
        return {"cosines": self.cosines, "words": self.words}


def word_cosines(system: WordSystem, sentence1: str, sentence2: str) -> dict[str, Any]:
    """Return the cosine of each word of one sentence with each of the other; None if one has no vector."""
    index, vectors = system.model.index, system.model.vectors
    sides = [tokenize(sentence) for sentence in (sentence1, sentence2)]
    rows, columns = (
        np.stack([vectors[index[word]] if word in index else np.full(vectors.shape[1], np.nan) for word in words])
        for words in sides
    )
    table = unit_rows(rows) @ unit_rows(columns).T
    return {
        "rows": sides[0],
        "columns": sides[1],
        "cosines": [[round(float(value), 4) if np.isfinite(value) else None for value in line] for line in table],
    }
