"""An encoder tuned by contrast."""

from reproductions.paper2.pairs.simcse import CONFIG
from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import TeacherSystem
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder

NAME = "SimCSE"


def load(run: Run) -> TeacherSystem | Unavailable:
    """Load the encoder that SimCSE tuned, or say why it tuned none."""
    directory, options = run.models["simcse"], run.options
    if unavailable := read_unavailable(directory / CONFIG):
        return unavailable
    assert options.simcse
    longest = options.simcse.maximum_length
    tuned = Teacher(reference=str(directory), revision=None, sha256=None, maximum_length=longest)
    return TeacherSystem(load_encoder(tuned), options.batch_tokens, NAME)


SYSTEM = Registered(
    name=NAME,
    about=(
        "an encoder fine-tuned here by contrastive learning: two dropout masks of one sentence make a "
        "positive pair (Gao et al. 2021)"
    ),
    cost=10,
    load=load,
    paper="paper1",
)
