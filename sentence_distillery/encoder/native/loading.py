"""Load the native core of the encoder, if it was compiled; docs/explanation/native-core.md describes it.

SENTENCE_DISTILLERY_NATIVE=0 leaves it out, so that all goes the simple way.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

SWITCH: Final = "SENTENCE_DISTILLERY_NATIVE"


def core() -> ModuleType | None:
    """Return the compiled module; None if there is none, which a warning says once, or if it is switched off."""
    return None if os.environ.get(SWITCH) == "0" else _imported()


@cache
def _imported() -> ModuleType | None:
    try:
        return import_module("sentence_distillery.encoder.native._core")
    except ImportError as error:
        warnings.warn(
            f"The native core of sentence-distillery is not there ({error}): encoding gives the same vectors, some "
            "fifty times slower. Install a wheel that has it, or install from source on a machine with a C compiler. "
            f"{SWITCH}=0 silences this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
