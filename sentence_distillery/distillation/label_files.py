"""The columns of a corpus and of its soft labels, for their writers and readers; needs no teacher."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])  # of a corpus


def sentence_ids(document: pa.ChunkedArray, position: pa.ChunkedArray) -> pa.ChunkedArray:
    """Compute document * 2^20 + position, one int64 that names a sentence of the corpus."""
    return pc.add(pc.shift_left(document, 20), position.cast(pa.int64()))


def soft_label_schema(dimension: int) -> pa.Schema:
    return pa.schema([("sentence", pa.int64()), ("embedding", pa.list_(pa.float16(), dimension))])


def word_schema(dimension: int) -> pa.Schema:
    return pa.schema([("word", pa.string()), ("count", pa.int64()), ("embedding", pa.list_(pa.float16(), dimension))])


def embedding_column(vectors: NDArray[np.floating]) -> pa.FixedSizeListArray:
    """Turn (rows, dimension) numbers into a column of float16 lists."""
    return pa.FixedSizeListArray.from_arrays(vectors.astype(np.float16).ravel(), vectors.shape[1])


def embedding_array(column: pa.ChunkedArray) -> NDArray[np.float16]:
    """Turn a column of float16 lists into a (rows, dimension) array."""
    dimension = column.type.list_size
    chunks = [chunk.flatten().to_numpy(zero_copy_only=True).reshape(-1, dimension) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.zeros((0, dimension), dtype=np.float16)
