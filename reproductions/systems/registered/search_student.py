"""The student for search."""

from reproductions.systems.registration import Registered, Run, load_variant
from reproductions.systems.systems import StudentSystem
from sentence_distillery.io.unavailable import Unavailable

NAME = "student, for search"


def load(run: Run) -> StudentSystem | Unavailable:
    """Load the model, or say why its stage made none."""
    return load_variant(NAME, run.models["search_student"])


SYSTEM = Registered(
    name=NAME,
    about="the student trained further on sentences and passages, with dimensions that equal words share",
    cost=7,
    load=load,
)
