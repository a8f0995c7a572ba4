"""The teacher of the run."""

from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import TeacherSystem, TextSystem
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import Teacher, VectorTeacher
from sentence_distillery.teachers.teachers import load_teacher
from sentence_distillery.teachers.transformer import load_encoder


def load(run: Run) -> TeacherSystem | TextSystem | Unavailable:
    """Load the transformer or the function; a file of vectors has none of the texts of a benchmark."""
    teacher = run.options.teacher
    assert teacher
    if isinstance(teacher, VectorTeacher):
        return Unavailable("the teacher is a file of vectors, which has none of the set's texts")
    if isinstance(teacher, Teacher):
        return TeacherSystem(load_encoder(teacher), run.options.batch_tokens)
    return TextSystem(load_teacher(teacher), run.options.batch_tokens)


SYSTEM = Registered(
    name="teacher",
    about="the transformer that the student was distilled from; teacher L3 is a second one",
    cost=9,
    load=load,
    trained=False,
)
