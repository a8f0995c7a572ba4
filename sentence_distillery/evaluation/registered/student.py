"""The student of the run."""

from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.registration import Registered, Run
from sentence_distillery.evaluation.systems import StudentSystem


def load(run: Run) -> StudentSystem:
    """Load the model."""
    return StudentSystem(StaticEncoder.load(run.models["student"]))


SYSTEM = Registered(
    name="student",
    about=("the static encoder that this project distils: a mean of token vectors trained on the teacher’s embeddings"),
    cost=6,
    load=load,
)
