"""Sentence embeddings without training anything.

>>> from sentence_distillery import load
>>> storm, gale = load().encode(["The storm closed the port.", "The harbour was shut by the gale."])
>>> bool(storm @ gale > 0.5)
True
"""

from pathlib import Path

from sentence_distillery.encoder.static_encoder import StaticEncoder

RELEASED = Path(__file__).parent / "released"  # a link to models/released; the files themselves in a wheel


def load(directory: Path | str = RELEASED) -> StaticEncoder:
    """The released student, or another one; raises InputError where it is missing or broken.

    Its `encode` takes sentences and returns (sentences, dimension) float32, rows of unit length: their
    products are cosines. A sentence without a known word is a zero row.
    """
    return StaticEncoder.load(Path(directory))


__all__ = ["StaticEncoder", "load"]
