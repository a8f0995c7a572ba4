"""The names of a model's files, and the 255 levels that a table in float16 may hold."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CONFIG: Final = "config.json"
MODULES: Final = "modules.json"  # sentence-transformers: which modules, in which order
SETTINGS: Final = "config_sentence_transformers.json"
TOKENIZER: Final = "tokenizer.json"
WEIGHTS: Final = "model.safetensors"
CARD: Final = "README.md"  # the model card
DENSE: Final = "1_Dense"
NARROW: Final = "2_Dense"
NESTED: Final = "0_StaticEmbedding"  # a folder in which other libraries may keep table and tokenizer

TABLE: Final = "embeddings"  # model2vec's name, which sentence-transformers knows too
TORCH_TABLE: Final = "embedding.weight"  # sentence-transformers' own name
FACTORS: Final = "weights"  # model2vec's factor of each token; sentence-transformers multiplies by it in float32
ROWS: Final = "mapping"  # model2vec's row of each token, if tokens share rows

STEMS: Final = "lexical.stems"  # the lexical channel: the hash of each token's stem,
IDF: Final = "lexical.idf"  # and its inverse document frequency

TEXT_RULES: Final = "text_rules"  # in config.json: how the library that made the model turns texts into tokens
SHA256: Final = "weights_sha256"  # in config.json, by file below the model's directory

LEVELS: Final = 127  # of int8, on either side of zero
NO_LEVEL: Final = -128

_VALUES = 2**16  # of float16


def as_levels(table: NDArray[np.float16], step: float) -> NDArray[np.int8]:
    """Divide a table by the step between its levels.

    Args:
        table: (tokens, dimension) float16.
        step: The step, above 0.

    Returns:
        (tokens, dimension) int8: k for each value k * step with |k| <= 127, and -128 for any other value.

    Example:
        >>> as_levels(np.array([[0.5, -1.0, 0.3]], np.float16), 0.5).tolist()
        [[1, -2, -128]]
    """
    with np.errstate(invalid="ignore"):  # float16 has few enough values to list them, and some are not numbers
        values = np.arange(_VALUES, dtype=np.uint16).view(np.float16).astype(np.float32) / np.float32(step)
    within = np.abs(values) <= LEVELS
    rounded = np.rint(np.where(within, values, 0.0))
    known = np.where(within & (rounded == values), rounded, NO_LEVEL).astype(np.int8)
    levels: NDArray[np.int8] = known[table.view(np.uint16)]
    return levels


def bytes_of(*arrays: NDArray[Any] | None) -> int:
    """Add up the bytes of arrays.

    Example:
        >>> bytes_of(np.zeros(3, np.int8), None, np.zeros((2, 2), np.float32))
        19
    """
    return sum(array.nbytes for array in arrays if array is not None)
