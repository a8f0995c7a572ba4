"""The encoders that a run compares: its student, the teacher, and the references that params.yaml names."""

import logging
from functools import partial
from pathlib import Path

from sentence_distillery.domain.options import Evaluate, Reference
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder, Function
from sentence_distillery.evaluation.scoring import System
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import AnyTeacher, VectorTeacher
from sentence_distillery.teachers.teachers import TextEncoder, load_teacher
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError

STUDENT, TEACHER = "student", "teacher"
ABOUT = {
    STUDENT: "the static encoder that this project distils: a mean of token vectors trained on the teacher’s "
    "embeddings",
    TEACHER: "the transformer that the student was distilled from; teacher L3 is a second one",
}

log = logging.getLogger(__name__)


def systems(student: Path, given: AnyTeacher, options: Evaluate, batch_tokens: int) -> list[System]:
    """Return the systems of a run, the cheapest first; each is loaded when it is scored.

    `student` is the directory of the student, `given` the teacher; `batch_tokens` word pieces are read at a time.
    """
    slow = (options.transformer_documents, "evaluate.transformer_documents")
    return [
        System(STUDENT, partial(load_student, student), options.documents, "evaluate.documents"),
        System(TEACHER, partial(load_embedder, given, batch_tokens), *slow),
        *(System(each.name, partial(load_reference, each, batch_tokens), *slow) for each in options.references),
    ]


def load_student(directory: Path) -> Encoder:
    """Load the student as it is scored: vectors that are not scaled to unit length, which the SGD classifier reads."""
    encoder = StaticEncoder.load(directory)
    return Function(lambda texts: encoder.pool(encoder.token_ids(texts)))


def load_embedder(given: AnyTeacher, batch_tokens: int) -> Encoder | Unavailable:
    """Load a teacher as an encoder; a file of vectors has none of the texts of a set."""
    if isinstance(given, VectorTeacher):
        return Unavailable("the teacher is a file of vectors, which has none of the set's texts")
    return _encoder(load_teacher(given), batch_tokens)


def load_reference(reference: Reference, batch_tokens: int) -> Encoder | Unavailable:
    """Load a transformer to compare with; raises InputError if its weights are not those that are pinned."""
    try:
        return _encoder(load_teacher(reference), batch_tokens)
    except AbsentModelError as error:
        log.warning("%s is left out: %s", reference.name, error)
        return NO_WEIGHTS


def _encoder(loaded: TextEncoder, batch_tokens: int) -> Encoder:
    return Function(lambda texts: loaded.vectors(texts, batch_tokens, "float32"))
