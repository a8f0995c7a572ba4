"""The start of a cell's training: a directory with an encoder and its vectors of every sentence.

start.json             `absent` says why there is no encoder, or null; `pooling`; `tuned`: as a cross-encoder
vectors.safetensors    the vectors of all sentences before any training of the cell
pairs.json and others  the encoder itself, if it was tuned (reproductions/paper2/pairs/export.py)
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper2.pairs.data import PairData
from reproductions.paper2.pairs.export import read_model
from sentence_distillery.io.artifacts import read_json, read_tensors, write_json, write_tensors
from sentence_distillery.io.contents import Absent
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable, read_unavailable, to_json
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder

START = "start.json"
VECTORS = "vectors.safetensors"


class About(Absent):
    """The content of start.json."""

    tuned: bool
    pooling: Literal["mean", "max", "cls"] = "mean"


@dataclass(frozen=True)
class Start:
    """A start in a directory; `teacher` names the encoder of one that was not tuned."""

    directory: Path
    teacher: Teacher

    def why_unavailable(self) -> Unavailable | None:
        """Say why there is no encoder, or return None if there is one."""
        return read_unavailable(self.directory / START)

    def unseen_splits(self) -> list[str]:
        """Return the splits, apart from test, that the encoder was not trained on."""
        return ["validation"] if read_json(self.directory / START, About)["tuned"] else ["train", "validation"]

    def encoder(self) -> PairEncoder:
        """Load the encoder: the tuned one of the directory, or the one that `teacher` names."""
        start = read_json(self.directory / START, About)
        if start["tuned"]:
            return read_model(self.directory)[0].encoder
        return PairEncoder(load_encoder(self.teacher), Pooling(start["pooling"]))

    def vectors(self, data: PairData) -> Floats:
        """Read the vectors of all sentences of `data`, (sentences, dimension) float32; raises InputError."""
        shape = (len(data.sentences), None)
        vectors = read_tensors(self.directory / VECTORS, {"vectors": shape})["vectors"]
        return np.asarray(vectors, dtype=np.float32)


def write_start(directory: Path, encoder: PairEncoder | Unavailable, sentences: list[str], tuned: bool) -> None:
    """Write a start: the vectors of all sentences, but not the weights of a tuned encoder; or why there is none."""
    if isinstance(encoder, Unavailable):
        write_json(directory / START, {**to_json(encoder), "tuned": tuned})
        return
    vectors = encoder.embed(encoder.tokens(sentences))
    write_tensors(directory / VECTORS, {"vectors": vectors})
    write_json(directory / START, {**to_json(None), "pooling": encoder.pooling.value, "tuned": tuned})
