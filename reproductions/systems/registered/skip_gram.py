"""Skip-gram word vectors."""

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import WordSystem


def load(run: Run) -> WordSystem:
    """Load the vectors."""
    assert run.options.skipgram
    return WordSystem("skip-gram", WordVectors.load(run.models["skipgram"]), run.options.skipgram.tokens == "content")


SYSTEM = Registered(
    name="skip-gram",
    about="the mean of word vectors trained on the corpus",
    cost=1,
    load=load,
    paper="paper1",
)
