"""An encoder that is a Python function, such as the Universal Sentence Encoder of paper 3, which is TensorFlow's.

    component_focus:
      functions: {use: "use:embed"}        a function of use.py, next to params.yaml, or of an installed module

    import tensorflow_hub                  use.py
    embed = tensorflow_hub.load("https://tfhub.dev/google/universal-sentence-encoder/4")

It gets a list of texts, some hundreds at a time, and returns a row of numbers for each. It is identified by its name
alone, so the pipeline does not notice a change of its code.
"""

import pkgutil
from collections.abc import Callable

import numpy as np

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

CHUNK = 512  # texts that a function gets at a time

Embed = Callable[[list[str]], Floats]  # texts to (texts, dimension)


def load_function(reference: str) -> Embed:
    """Load the function `module:name`.

    Args:
        reference: an installed module, or one in the working directory, and the name of a function in it.

    Returns:
        The function, checked at every call: texts to (texts, dimension) float32, finite.

    Raises:
        InputError: the function cannot be imported; later, at a call, it fails or its result is not such an array.
    """
    try:
        function = pkgutil.resolve_name(reference)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"The function {reference} cannot be imported ({error}); put its module in the working directory, install "
            "it, or name another one."
        ) from error

    def rows(texts: list[str]) -> Floats:
        try:
            vectors = np.asarray(function(texts), dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise InputError(f"{reference} fails on {texts[0][:80]!r} and {len(texts) - 1} more: {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InputError(f"{reference} returns an array of {vectors.shape} for {len(texts)} texts; a row for each.")
        if not (finite := np.isfinite(vectors).all(axis=1)).all():
            raise InputError(
                f"{reference} returns numbers that are not finite for {texts[int(finite.argmin())][:80]!r}."
            )
        return vectors

    def embed(texts: list[str]) -> Floats:
        if not texts:
            return rows(["-"])[:0]
        return np.concatenate([rows(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)])

    return embed
