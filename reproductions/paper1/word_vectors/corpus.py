"""The corpus as sentences of words, from the `part-*.parquet` files that cleaning writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import read_table, table_parts

COLUMNS = {"all": "tokens", "content": "content_tokens"}


def read_sentences(directory: Path, tokens: Literal["all", "content"]) -> Iterator[list[str]]:
    """Yield the words of each sentence, one part in memory at a time.

    Args:
        directory: the cleaned corpus, `part-*.parquet`.
        tokens: all words, or the content words, which are those without stop words.

    Raises:
        InputError: the directory has no part, or a part cannot be read.
    """
    column = COLUMNS[tokens]
    schema = pa.schema([(column, pa.list_(pa.string()))])
    for part in table_parts(directory):
        yield from read_table(part, schema)[column].to_pylist()


def read_documents(directory: Path) -> NDArray[np.int64]:
    """Read the number of each sentence's article, (sentences,) int64, in the order of `read_sentences`.

    Raises:
        InputError: the directory has no part, or a part cannot be read.
    """
    schema = pa.schema([("document", pa.int64())])
    numbers = [read_table(part, schema)["document"].to_numpy() for part in table_parts(directory)]
    return np.concatenate(numbers).astype(np.int64)
