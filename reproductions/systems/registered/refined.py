"""Skip-gram word vectors, refined."""

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import WordSystem


def load(run: Run) -> WordSystem:
    """Load the vectors."""
    assert run.options.skipgram
    return WordSystem("refined", WordVectors.load(run.models["refined"]), run.options.skipgram.tokens == "content")


SYSTEM = Registered(
    name="refined",
    about="the same vectors, refined by Kullback-Leibler divergence (paper 1, section 3.1)",
    cost=2,
    load=load,
    paper="paper1",
)
