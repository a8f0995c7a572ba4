"""Word vectors on disk: vectors.safetensors, vocabulary.parquet (word, count) and config.json in one directory.

Row i of the vectors belongs to row i of the vocabulary. `save` replaces the whole directory; `load` checks everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import (
    InputError,
    Tensors,
    atomic_directory,
    read_json,
    read_table,
    read_tensors,
    write_json,
    write_table,
    write_tensors,
)
from sentence_distillery.io.contents import Content
from sentence_distillery.io.options import Count

VECTORS = "vectors.safetensors"
VOCABULARY = "vocabulary.parquet"
CONFIG = "config.json"
SCHEMA = pa.schema([("word", pa.string()), ("count", pa.int64())])


class Shape(Content):
    """The fields of config.json that the readers need."""

    vocabulary: Count
    dimension: Count


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, most frequent first; counts (vocabulary,) int64 in the corpus; vectors (vocabulary, dimension) float32."""

    words: list[str]
    counts: NDArray[np.int64]
    vectors: NDArray[np.float32]

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def save(self, directory: Path, config: Mapping[str, object], others: Mapping[str, Tensors] | None = None) -> None:
        """Write the model, which replaces `directory`.

        Args:
            directory: The directory to write.
            config: the content of config.json, without the shape of the vectors.
            others: more files of tensors in the same directory, by name.

        Raises:
            InputError: `load` would refuse the model, or the directory cannot be written.
        """
        self._check(directory)
        shape = {"vocabulary": len(self.words), "dimension": self.dimension}
        with atomic_directory(directory) as partial:
            write_tensors(partial / VECTORS, {"vectors": self.vectors})
            for name, tensors in (others or {}).items():
                write_tensors(partial / name, tensors)
            write_table(partial / VOCABULARY, pa.table([self.words, self.counts], schema=SCHEMA))
            write_json(partial / CONFIG, shape | dict(config))

    @classmethod
    def load(cls, directory: Path) -> "WordVectors":
        """Read and check a model.

        Raises:
            InputError: a file is missing, damaged or a pickle, the shapes disagree, a value is not finite, or a word
                occurs twice.
        """
        vocabulary = read_table(directory / VOCABULARY, SCHEMA)
        if any(column.null_count for column in vocabulary.columns):
            raise InputError(f"{directory / VOCABULARY} has empty cells; {_remedy(directory)}")
        shape = (len(vocabulary), read_json(directory / CONFIG, Shape)["dimension"])
        vectors = read_tensors(directory / VECTORS, {"vectors": shape})["vectors"]
        if vectors.dtype != np.float32:
            raise InputError(f"{directory / VECTORS}: 'vectors' is {vectors.dtype}, not float32; {_remedy(directory)}")
        model = cls(vocabulary["word"].to_pylist(), vocabulary["count"].to_numpy(), vectors)
        model._check(directory)
        return model

    def _check(self, directory: Path) -> None:
        """Raise InputError that names the file in `directory` if the content does not make a model."""
        if self.vectors.ndim != 2 or not len(self.words) == len(self.counts) == len(self.vectors) > 0:
            raise InputError(
                f"{directory / VECTORS}: {len(self.words)} words, {len(self.counts)} counts and vectors of shape "
                f"{self.vectors.shape} do not fit together; {_remedy(directory)}"
            )
        if len(self.index) < len(self.words):
            twice = next(word for row, word in enumerate(self.words) if self.index[word] != row)
            raise InputError(f"{directory / VOCABULARY} has the word {twice!r} twice; {_remedy(directory)}")
        if self.counts.min() < 1:
            word = self.words[int(self.counts.argmin())]
            raise InputError(
                f"{directory / VOCABULARY}: {word!r} has the count {self.counts.min()}; {_remedy(directory)}"
            )
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            word = self.words[int(finite.argmin())]
            raise InputError(f"{directory / VECTORS}: the vector of {word!r} is not finite; {_remedy(directory)}")


def _remedy(directory: Path) -> str:
    return f"remove {directory} and train it again."
