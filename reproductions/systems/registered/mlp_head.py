"""The student with an MLP head."""

from reproductions.systems.registration import Registered, Run, load_variant
from reproductions.systems.systems import StudentSystem
from sentence_distillery.io.unavailable import Unavailable

NAME = "student, MLP head"


def load(run: Run) -> StudentSystem | Unavailable:
    """Load the model, or say why its stage made none."""
    return load_variant(NAME, run.models["mlp_head"])


SYSTEM = Registered(
    name=NAME,
    about="the student with a hidden layer after the sum of its token vectors, trained on the same soft labels",
    cost=7,
    load=load,
)
