"""Skip-gram word vectors."""

from sentence_distillery.evaluation.registration import Registered, Run
from sentence_distillery.evaluation.systems import WordSystem
from sentence_distillery.word_vectors.model import WordVectors


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
