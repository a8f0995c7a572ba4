"""The corpus as the vectors room reads it: sentences of words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import read_table, table_parts

SENTENCES = Path("data/corpus/sentences")
COLUMNS = {"all": "tokens", "content": "content_tokens"}


def read_sentences(directory: Path, tokens: Literal["all", "content"]) -> Iterator[list[str]]:
    """The words of each sentence, one part in memory at a time; raises InputError where a part cannot be read."""
    column = COLUMNS[tokens]
    schema = pa.schema([(column, pa.list_(pa.string()))])
    for part in table_parts(directory):
        yield from read_table(part, schema)[column].to_pylist()


def read_documents(directory: Path) -> NDArray[np.int64]:
    """The number of each sentence's article, (sentences,), in the order of `read_sentences`, which see for errors."""
    schema = pa.schema([("document", pa.int64())])
    numbers = [read_table(part, schema)["document"].to_numpy() for part in table_parts(directory)]
    return np.concatenate(numbers).astype(np.int64)
