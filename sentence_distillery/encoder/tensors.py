"""Convert NumPy arrays to torch tensors; torch is imported only then."""

from typing import Any

from numpy.typing import NDArray


def as_tensors(vectors: NDArray[Any], one: bool) -> Any:
    """Convert arrays to torch tensors on the CPU.

    Args:
        vectors: (dimension,) or (texts, dimension), of any type.
        one: Whether all of it becomes one tensor, or each text one in a list.

    Returns:
        A tensor that shares the memory of `vectors`, or a list of such.

    Raises:
        ImportError: If torch is not installed; the message says how to install it.

    Example:
        >>> import numpy as np
        >>> as_tensors(np.ones((2, 3), np.float32), one=True).shape
        torch.Size([2, 3])
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
