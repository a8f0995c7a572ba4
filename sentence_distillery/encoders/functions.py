"""An encoder that is a Python function, such as the Universal Sentence Encoder of paper 3, which is TensorFlow's.

    component_focus:
      functions: {use: "use:embed"}        a function of use.py, beside params.yaml, or of a module that is installed

    import tensorflow_hub                  use.py
    embed = tensorflow_hub.load("https://tfhub.dev/google/universal-sentence-encoder/4")

It is given a list of texts, some hundreds at a time, and returns a row of numbers for each. DVC knows it by its name:
after a change of its code, `dvc repro --force --single-item focus`.
"""

import pkgutil
from collections.abc import Callable

import numpy as np

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

CHUNK = 512  # texts that a function is given at a time

Embed = Callable[[list[str]], Floats]  # texts to (texts, dimension)


def load_function(reference: str) -> Embed:
    """The function `module:name`, checked at every call: (texts, dimension) float32, finite, or InputError."""
    try:
        function = pkgutil.resolve_name(reference)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"component_focus.functions: {reference} is not to be had ({error}); put its module beside params.yaml, "
            "install it, or take the entry out."
        ) from error

    def rows(texts: list[str]) -> Floats:
        try:
            found = np.asarray(function(texts), dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise InputError(f"{reference} fails on {texts[0][:80]!r} and {len(texts) - 1} more: {error}") from error
        if found.ndim != 2 or len(found) != len(texts):
            raise InputError(f"{reference} returns an array of {found.shape} for {len(texts)} texts; a row for each.")
        if not (finite := np.isfinite(found).all(axis=1)).all():
            raise InputError(f"{reference} returns no finite numbers for {texts[int(finite.argmin())][:80]!r}.")
        return found

    def embed(texts: list[str]) -> Floats:
        if not texts:
            return rows(["-"])[:0]
        return np.concatenate([rows(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)])

    return embed
