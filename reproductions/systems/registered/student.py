"""The student of the run."""

from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import StudentSystem
from sentence_distillery.encoder.static_encoder import StaticEncoder


def load(run: Run) -> StudentSystem:
    """Load the model."""
    return StudentSystem(StaticEncoder.load(run.models["student"]))


SYSTEM = Registered(
    name="student",
    about=("the static encoder that this project distils: a mean of token vectors trained on the teacher’s embeddings"),
    cost=6,
    load=load,
)
