"""The fine-tuned student."""

from reproductions.systems.registration import Registered, Run, load_variant
from reproductions.systems.systems import StudentSystem
from sentence_distillery.io.unavailable import Unavailable

NAME = "student, fine-tuned"


def load(run: Run) -> StudentSystem | Unavailable:
    """Load the model, or say why its stage made none."""
    return load_variant(NAME, run.models["fine_tuned_student"])


SYSTEM = Registered(
    name=NAME,
    about=(
        "a student with an MLP head; its teachers, and then the student itself, were fine-tuned on the "
        "human ratings of STS-B train. It is the only system trained on human ratings."
    ),
    cost=8,
    load=load,
)
