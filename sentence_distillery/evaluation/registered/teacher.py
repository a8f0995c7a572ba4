"""The teacher of the run."""

from sentence_distillery.encoders.options import Teacher, kind_of
from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.evaluation.registration import Registered, Run
from sentence_distillery.evaluation.systems import TeacherSystem
from sentence_distillery.io.unavailable import Unavailable


def load(run: Run) -> TeacherSystem | Unavailable:
    """Load the transformer."""
    teacher = run.options.teacher
    assert teacher
    if not isinstance(teacher, Teacher):
        return Unavailable(f"only a transformer is evaluated, but the teacher is {kind_of(teacher)}")
    return TeacherSystem(load_encoder(teacher), run.options.batch_tokens)


SYSTEM = Registered(
    name="teacher",
    about="the transformer that the student was distilled from; teacher L3 is a second one",
    cost=9,
    load=load,
    trained=False,
)
