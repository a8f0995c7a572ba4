"""Passages: consecutive sentences of a document, as long as the texts that a search finds.

A student that has seen single sentences alone keeps less of its teacher on longer texts. So a part of the corpus is
embedded once more, in passages of 60 words and more.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa

from sentence_distillery.io.artifacts import read_table

READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])
WORDS = 60  # a passage ends with the sentence that reaches so many
FEWEST = 30  # words of the last one of a document
SEED = 1


def passages(parts: Sequence[Path], most: int) -> list[str]:
    """Join consecutive sentences of each document.

    Args:
        parts: Parquet files of the corpus, with the columns document, position and text, in their order.
        most: The number of passages; if there are more, they are drawn by chance, always the same ones.

    Returns:
        At most `most` passages, in the order of the corpus.

    Example:
        >>> passages([Path("data/corpus/sentences/part-00000.parquet")], most=1000)  # doctest: +SKIP
    """
    if not most:
        return []
    found = [passage for part in parts for passage in _of_part(part)]
    if len(found) <= most:
        return found
    chosen = np.random.default_rng(SEED).choice(len(found), most, replace=False)
    return [found[row] for row in np.sort(chosen)]


def _of_part(part: Path) -> Iterator[str]:
    table = read_table(part, READ)
    rows = zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True)
    for _, group in groupby(rows, key=lambda row: row[0]):
        yield from joined([text for _, text in group])


def joined(sentences: Sequence[str]) -> Iterator[str]:
    """Yield passages of WORDS words and more; the rest of the sentences is one, too, if it has FEWEST.

    Example:
        >>> [len(passage.split()) for passage in joined(["one two three four five"] * 20)]
        [60, 40]
    """
    current: list[str] = []
    words = 0
    for sentence in sentences:
        current.append(sentence)
        words += len(sentence.split())
        if words >= WORDS:
            yield " ".join(current)
            current, words = [], 0
    if words >= FEWEST:
        yield " ".join(current)
