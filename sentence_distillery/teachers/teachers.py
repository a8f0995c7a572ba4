"""Any teacher, loaded: a transformer, a function, or a file of vectors; in this process, or on a worker."""

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers.functions import FunctionEncoder, load_function_encoder
from sentence_distillery.teachers.options import AnyTeacher, FunctionTeacher, Teacher
from sentence_distillery.teachers.transformer import load_encoder
from sentence_distillery.teachers.transformer import refuse_unfit as refuse_unfit_transformer
from sentence_distillery.teachers.vectors import check_vectors, load_vectors

GivenTeacher = AnyTeacher | FunctionEncoder  # the last if a caller has the function itself

# A Dask worker may have several threads, but a tokenizer serves one at a time, and torch has its own threads.
_ONE_AT_A_TIME = threading.Lock()


class TextEncoder(Protocol):
    """The interface of a teacher for soft labels; `transformer.Encoder`, `FunctionEncoder`, `VectorTable` have it."""

    @property
    def reference(self) -> str:
        """How messages and model cards name it."""

    @property
    def sha256(self) -> str:
        """Of the weights, of the source, or of the file."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that changes a vector, the maximum length apart."""

    @property
    def dimension(self) -> int:
        """Of a vector."""

    @property
    def maximum_length(self) -> int | None:
        """Word pieces that are read, or None if only the teacher knows."""

    def vectors(self, texts: list[str], batch_tokens: int, precision: Precision) -> Floats:
        """Embed texts, (texts, dimension) float32; a text that has no vector is a zero row."""


def load_teacher(teacher: GivenTeacher) -> TextEncoder:
    """Load a teacher of any kind.

    Raises InputError if it cannot be read or gives no vectors, TeacherError if an option does not fit it.
    """
    if isinstance(teacher, FunctionEncoder):
        return teacher
    if isinstance(teacher, Teacher):
        return load_encoder(teacher)
    return load_function_encoder(teacher) if isinstance(teacher, FunctionTeacher) else load_vectors(teacher)


def refuse_unfit(teacher: GivenTeacher) -> None:
    """Raise the errors of `load_teacher` that show in seconds: it is not there, not known, or not the one pinned."""
    if isinstance(teacher, Teacher):
        refuse_unfit_transformer(teacher)
    elif isinstance(teacher, FunctionTeacher):
        load_function_encoder(teacher)
    elif not isinstance(teacher, FunctionEncoder):
        check_vectors(teacher)


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
