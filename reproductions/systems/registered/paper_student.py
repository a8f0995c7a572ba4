"""The student of paper 1."""

from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import StudentSystem
from sentence_distillery.encoder.static_encoder import StaticEncoder


def load(run: Run) -> StudentSystem:
    """Load the model."""
    return StudentSystem(StaticEncoder.load(run.models["paper_student"]), "paper student")


SYSTEM = Registered(
    name="paper student",
    about=(
        "paper 1’s student, which it calls MyModel: a linear layer over the mean of refined vectors, "
        "distilled from this run’s teacher"
    ),
    cost=5,
    load=load,
    paper="paper1",
)
