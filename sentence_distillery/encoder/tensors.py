"""Convert NumPy arrays to torch tensors; torch is imported only then."""

from typing import Any

from numpy.typing import NDArray


def as_tensors(vectors: NDArray[Any], one: bool) -> Any:
    """Convert arrays to torch tensors on the CPU, which share their memory: all to one, or each text to one in a list.

    Raises ImportError if torch is not installed; the message says how to install it.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "Tensors need torch, which is not installed: pip install 'sentence-distillery[distill]'. Without it, leave "
            "convert_to_tensor=False and convert_to_numpy=True as they are."
        ) from error
    tensor = torch.from_numpy(vectors)
    return tensor if one or vectors.ndim == 1 else list(tensor)
