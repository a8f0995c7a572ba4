"""The corpus at a glance, for a report.

Documents, sentences and words by source and by time, the growth of the vocabulary, and texts to read: sentences that
were kept, sentences dropped for each reason, lines that repeat, documents next to those that they nearly repeat. The
texts are drawn at random with a fixed seed.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.corpus.articles import NO_DAY, Origins
from sentence_distillery.corpus.decisions import SENTENCE_REASONS, Decisions

KEPT_EXAMPLES = 12
DROPPED_EXAMPLES = 3
PAIRS = 5
LINES = 15
SOURCES = 20
PERIODS = 40
POINTS = 50
EXCERPT = 240  # characters
SEED = 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """One part: what was found, decided and written."""

    first: int  # document
    found: pa.Table  # all its sentences
    decisions: Decisions
    kept: pa.Table  # SENTENCES
    dropped: pa.Table  # DROPPED
    held_out: pa.Table  # HELD_OUT


class Overview:
    """Sums and examples, added up while the parts are written, in their order."""

    def __init__(self, origins: Origins, decisions: Decisions, parts: int) -> None:
        self._origins = origins
        self._kept_documents = decisions.documents == 0
        self._sentences = np.zeros(len(decisions.documents), np.int64)
        self._words = np.zeros(len(decisions.documents), np.int64)
        self._pieces = max(1, POINTS // parts)  # pieces of a part, for the growth of the vocabulary
        self._lengths: list[int] = []  # of each piece, and its different words
        self._different: list[pa.StringArray] = []
        self._lines: Counter[str] = Counter()

        # Examples are drawn before the parts are written, so that no text waits in memory.
        generator = np.random.default_rng(SEED)
        self._rows = _draw_sentences(decisions, generator)
        copies = np.flatnonzero(decisions.originals >= 0)
        copies = np.sort(generator.choice(copies, min(PAIRS, len(copies)), replace=False))
        self._pairs = {int(copy): int(decisions.originals[copy]) for copy in copies}
        self._sentence_texts: dict[int, str] = {}
        self._document_texts: dict[int, str] = {}

    def add(self, part: Written) -> None:
        """Add a part to the sums."""
        documents = part.kept["document"].to_numpy()
        tokens = part.kept["tokens"].combine_chunks()
        np.add.at(self._sentences, documents, 1)
        np.add.at(self._words, documents, tokens.value_lengths().to_numpy())
        self._grow(tokens.values)
        repeated = part.dropped.filter(pc.equal(part.dropped["reason"], "boilerplate: repeated line"))
        self._lines.update(repeated["text"].to_pylist())
        self._excerpt(part)

    def _grow(self, words: pa.DictionaryArray) -> None:
        size = max(1, -(-len(words) // self._pieces))
        for begin in range(0, len(words), size):
            piece = words.indices[begin : begin + size]
            self._lengths.append(len(piece))
            self._different.append(words.dictionary.take(pc.unique(piece)))

    def _growth(self) -> list[tuple[int, int]]:
        """List how many words, and how many different ones, there are after each piece."""
        codes = pa.chunked_array(self._different, pa.string()).dictionary_encode()  # by their first appearance
        known = np.maximum.accumulate([pc.max(chunk.indices).as_py() + 1 for chunk in codes.chunks])
        return [(0, 0), *zip(np.cumsum(self._lengths).tolist(), known.tolist(), strict=True)]

    def _excerpt(self, part: Written) -> None:
        starts, texts = part.decisions.starts, part.found["text"]
        for row in self._rows:
            if starts[0] <= row < starts[-1]:
                self._sentence_texts[row] = _shortened(texts[row - starts[0]].as_py())
        for document in {*self._pairs, *self._pairs.values()}:
            if part.first <= document < part.first + len(starts) - 1:
                begin, end = starts[document - part.first :][:2] - starts[0]
                self._document_texts[document] = _shortened(" ".join(texts[begin:end][:10].to_pylist()))

    def summary(self) -> Row:
        """Return the content of the report, ready for JSON."""
        return {
            "sources": self._by(self._origins.sources, self._origins.names.__getitem__, SOURCES),
            "times": self._by_time(),
            "growth": _thinned(self._growth()),
            "lines": [{"text": _shortened(text), "count": count} for text, count in self._lines.most_common(LINES)],
            "near_duplicates": [
                {"dropped": self._document_texts[copy], "kept": self._document_texts[original]}
                for copy, original in self._pairs.items()
            ],
            "sentences": [{"reason": reason, "text": self._sentence_texts[row]} for row, reason in self._rows.items()],
        }

    def _by(self, keys: NDArray[np.integer], name: Callable[[int], str | None], most: int) -> list[Row]:
        """Sum over the documents of each key, and keep the `most` keys with the most words."""
        distinct, groups = np.unique(keys, return_inverse=True)
        columns = {
            "documents": np.bincount(groups),
            "kept": np.bincount(groups, self._kept_documents),
            "sentences": np.bincount(groups, self._sentences),
            "words": np.bincount(groups, self._words),
        }

        # With the most words first; the others are in no row.
        order = np.argsort(-columns["words"], kind="stable")[:most]
        return [
            {"name": name(int(distinct[place]))} | {column: int(sums[place]) for column, sums in columns.items()}
            for place in order
        ]

    def _by_time(self) -> list[Row]:
        """Sum by day, month or year, whichever gives at most PERIODS rows; documents without a day come last."""
        distinct, inverse = np.unique(self._origins.days, return_inverse=True)
        texts = ["" if day == NO_DAY else str(np.datetime64(int(day), "D")) for day in distinct]
        length = next((length for length in (10, 7) if len({text[:length] for text in texts if text}) <= PERIODS), 4)
        labels = sorted({text[:length] for text in texts})
        codes = np.array([labels.index(text[:length]) for text in texts])[inverse]
        rows = self._by(codes, lambda code: labels[code] or None, len(labels))
        return sorted(rows, key=lambda row: row["name"] or "~")


def _draw_sentences(decisions: Decisions, generator: np.random.Generator) -> dict[int, str]:
    """Draw sentences to show, by row, with the reason for which each was dropped ("": it was kept)."""
    in_kept = decisions.in_kept
    drawn: dict[int, str] = {}
    for code, reason in enumerate(SENTENCE_REASONS):
        rows = np.flatnonzero(in_kept & (decisions.sentences == code))
        count = min(len(rows), DROPPED_EXAMPLES if reason else KEPT_EXAMPLES)
        drawn.update((int(row), reason) for row in np.sort(generator.choice(rows, count, replace=False)))
    return drawn


def _shortened(text: str) -> str:
    return text if len(text) <= EXCERPT else text[:EXCERPT].rsplit(" ", 1)[0] + " …"


def _thinned(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Take at most POINTS of the points, evenly spaced, with the first and the last."""
    places = np.unique(np.linspace(0, len(points) - 1, POINTS).astype(int))
    return [points[place] for place in places]
