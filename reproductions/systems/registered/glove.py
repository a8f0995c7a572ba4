"""Published GloVe word vectors."""

from reproductions.paper1.word_vectors.glove import load_glove
from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import WordSystem


def load(run: Run) -> WordSystem:
    """Load the vectors of the package."""
    assert run.options.evaluate
    return WordSystem("GloVe", load_glove(), run.options.evaluate.glove_tokens == "content")


SYSTEM = Registered(
    name="GloVe",
    about="published word vectors of 50 dimensions, from a package (Pennington et al. 2014)",
    cost=3,
    load=load,
    paper="paper1",
    trained=False,
)
