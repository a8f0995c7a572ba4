"""Any teacher, loaded: a transformer, a function, or a file of vectors."""

from typing import Protocol

from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers.functions import FunctionEncoder, load_function_encoder
from sentence_distillery.teachers.options import AnyTeacher, FunctionTeacher, Teacher
from sentence_distillery.teachers.transformer import load_encoder
from sentence_distillery.teachers.transformer import refuse_unfit as refuse_unfit_transformer
from sentence_distillery.teachers.vectors import check_vectors, load_vectors

GivenTeacher = AnyTeacher | FunctionEncoder  # the last if a caller has the function itself


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
