"""Stanza's models as safetensors: the weights in half precision, all else as JSON in the file's metadata.

Stanza keeps a model as a pickle that `torch.load(weights_only=True)` opens. Here it is packed for shipping, and
unpacked for Stanza's loader into a temporary directory of the process, which is removed once the pipeline is loaded.
"""

import base64
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sentence_distillery.io.artifacts import InputError, atomic_file, check_kind

BYTES = "base64:"


def pack(model: dict[str, Any], target: Path) -> None:
    """Write a model that Stanza saved as one safetensors file.

    Args:
        model: the result of `torch.load(weights_only=True)` for a model of Stanza.
        target: the file; it appears once it is whole.

    Raises:
        InputError: a value would not come back unchanged; the message has its path and its type.
    """
    tensors: dict[str, Tensor] = {}
    rest = json.dumps(_taken_out(model, "", tensors), ensure_ascii=False)
    with atomic_file(target) as partial:
        save_file(tensors, partial, metadata={"stanza": rest})


def _taken_out(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Convert `value` for JSON, and move each tensor in it to `tensors` under its path."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().to(torch.float16 if value.is_floating_point() else value.dtype).contiguous()
        return {"tensor": name}
    if isinstance(value, bytes):
        return BYTES + base64.b64encode(value).decode()
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return {"pairs": [[_taken_out(side, name, tensors) for side in pair] for pair in value.items()]}
        return {key: _taken_out(part, f"{name}/{key}" if name else key, tensors) for key, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [_taken_out(part, f"{name}/{place}", tensors) for place, part in enumerate(value)]
    if value is None or isinstance(value, str | int | float):
        return value
    raise InputError(f"{name} of a Stanza model is {type(value).__name__}, which is neither a tensor nor JSON.")


def unpack(path: Path) -> dict[str, Any]:
    """Read a model that `pack` wrote.

    Args:
        path: a file that `pack` wrote.

    Returns:
        The model, floating-point tensors as float32.

    Raises:
        InputError: the file is missing or damaged, or `pack` did not write it.
    """
    check_kind(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        model = _put_back(json.loads(metadata["stanza"]), tensors)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(
            f"{path} is not a packed Stanza model ({error}). Copy the file again, or pack a model of Stanza with "
            "reproductions.paper3.syntax.packed.pack."
        ) from error
    return dict(model)


def _put_back(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"tensor"}:
            tensor = tensors[value["tensor"]]
            return tensor.float() if tensor.is_floating_point() else tensor
        if set(value) == {"pairs"}:
            return {_key(_put_back(key, tensors)): _put_back(part, tensors) for key, part in value["pairs"]}
        return {key: _put_back(part, tensors) for key, part in value.items()}
    if isinstance(value, list):
        return [_put_back(part, tensors) for part in value]
    if isinstance(value, str) and value.startswith(BYTES):
        return base64.b64decode(value.removeprefix(BYTES))
    return value


def _key(value: Any) -> Any:
    """Convert a list back to a tuple, which it was as a key: JSON does not have tuples."""
    return tuple(value) if isinstance(value, list) else value
