"""Sentence embeddings without training anything.

>>> from sentence_distillery import load
>>> model = load("released")
>>> storm, gale = model.encode(["The storm closed the port.", "The harbour was shut by the gale."])
>>> bool(storm @ gale > 0.5)
True
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_distillery.encoder.precision import quantize_embeddings
    from sentence_distillery.encoder.static_encoder import StaticEncoder


def load(directory: "Path | str" = "released", *, truncate_dim: int | None = None) -> "StaticEncoder":
    """Load the model that comes with the library, or one from a directory.

    Args:
        directory: "released", or a directory that this library, sentence-transformers or model2vec saved.
        truncate_dim: The dimensions to keep, the first ones; None keeps all.

    Returns:
        The encoder. Its `encode` takes texts and returns (texts, dimension) float32, rows of unit length: their
        products are cosines. A text without a known word is a zero row.

    Raises:
        InputError: If the directory or one of its files is missing or broken, or holds another kind of model.
        ValueError: If `truncate_dim` is out of its range.

    Example:
        >>> load("released").encode(["The storm closed the port.", "Shares fell."]).shape
        (2, 160)
    """
    from sentence_distillery.encoder.static_encoder import StaticEncoder

    return StaticEncoder.from_pretrained(directory, truncate_dim=truncate_dim)


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: `import sentence_distillery` alone costs nothing."""
    if name == "StaticEncoder":
        from sentence_distillery.encoder.static_encoder import StaticEncoder

        return StaticEncoder
    if name == "quantize_embeddings":
        from sentence_distillery.encoder.precision import quantize_embeddings

        return quantize_embeddings
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = ["StaticEncoder", "load", "quantize_embeddings"]
