"""Embed a few texts at a time, in this process or on a worker that loads the same teacher."""

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.options import Precision
from sentence_distillery.teachers.teachers import GivenTeacher, TextEncoder, load_teacher

# A Dask worker may have several threads, but a tokenizer serves one at a time, and torch has its own threads.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Embedder:
    """An encoder that travels to another process as the name and the fingerprint of its teacher."""

    encoder: TextEncoder | None
    teacher: GivenTeacher
    fingerprint: str
    batch_tokens: int
    precision: Precision

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"encoder": None}

    def __call__(self, texts: list[str]) -> NDArray[np.float16]:
        """Embed some texts, (texts, dimension).

        Raises InputError if an embedding is not finite in float16, or the teacher here has other files.
        """
        with _ONE_AT_A_TIME:
            encoder = self.encoder or _same_encoder(self.teacher, self.fingerprint)
            vectors = encoder.vectors(texts, self.batch_tokens, self.precision)
        finite = (np.abs(vectors) <= np.finfo(np.float16).max).all(axis=1)  # NaN is not <= either
        if not finite.all():
            raise InputError(
                f"The teacher {encoder.reference} gives no finite float16 embedding of "
                f"{texts[int(finite.argmin())][:80]!r}; check its weights, or name another teacher."
            )
        return vectors.astype(np.float16)


@lru_cache(maxsize=1)
def _same_encoder(teacher: GivenTeacher, fingerprint: str) -> TextEncoder:
    """Load this worker's copy of the teacher, once; raises InputError if its files are not those of the caller."""
    encoder = load_teacher(teacher)
    if encoder.fingerprint != fingerprint:
        raise InputError(
            f"A worker has other files of the teacher {teacher.reference} than this machine; install the same files "
            "on both."
        )
    return encoder
