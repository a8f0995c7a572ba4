"""The teacher of the run."""

from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.evaluation.registration import Registered, Run
from sentence_distillery.evaluation.systems import TeacherSystem


def load(run: Run) -> TeacherSystem:
    """Load the transformer."""
    assert run.options.teacher
    return TeacherSystem(load_encoder(run.options.teacher), run.options.batch_tokens)


SYSTEM = Registered(
    name="teacher",
    about="the transformer that the student was distilled from; teacher L3 is a second one",
    cost=9,
    load=load,
    trained=False,
)
