"""FastText word vectors."""

from reproductions.systems.registration import Registered, Run
from reproductions.systems.systems import WordSystem


def load(run: Run) -> WordSystem:
    """Load the vectors, with those of the run's other words, composed of their character n-grams."""
    from reproductions.paper1.word_vectors.fasttext import SubwordVectors  # takes two seconds, needed only by paper 1

    assert run.options.fasttext
    vectors = SubwordVectors.load(run.models["fasttext"]).extended(run.words())
    return WordSystem("FastText", vectors, run.options.fasttext.tokens == "content")


SYSTEM = Registered(
    name="FastText",
    about=("word vectors trained on the corpus with character n-grams, which also represent out-of-vocabulary words"),
    cost=4,
    load=load,
    paper="paper1",
)
