"""The Dense modules of sentence-transformers, each a folder with config.json and model.safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sentence_distillery.encoder.layers import BIAS, WEIGHT, Shapes
from sentence_distillery.encoder.persistence.json_files import REMEDY, read_object
from sentence_distillery.encoder.persistence.layout import refuse_other_input
from sentence_distillery.encoder.persistence.names import CONFIG, DENSES, WEIGHTS
from sentence_distillery.encoder.persistence.table import check_finite
from sentence_distillery.encoder.persistence.tensor_file import Digests
from sentence_distillery.io.errors import InputError
from sentence_distillery.io.ragged import Floats


@dataclass
class DenseFolders:
    """Reads and writes the Dense modules of a model, by their number from 0; `folders` has one for each."""

    directory: Path
    folders: list[str]
    digests: Digests

    def read(self, number: int, shapes: Shapes, activation: str) -> dict[str, NDArray[Any]]:
        """Read the tensors of a module; raises InputError if its settings are not the student's."""
        folder = self.directory / self.folders[number]
        config = read_object(folder / CONFIG)
        actual = str(config.get("activation_function")).rpartition(".")[2]
        if actual != activation:
            raise InputError(f"{folder / CONFIG}: the activation is {actual}, a student has {activation}. {REMEDY}")
        refuse_other_input(folder / CONFIG, config)
        for name, value in (("use_residual", False), ("bias", BIAS in shapes)):
            if config.get(name, value) is not value:
                raise InputError(f"{folder / CONFIG}: {name} is {config[name]!r}, a student has {value}. {REMEDY}")

        # The settings fit, so the tensors are those of a layer.
        tensors = self.digests.open(folder / WEIGHTS).tensors(shapes)
        for name, array in tensors.items():
            check_finite(folder / WEIGHTS, name, array)
        return tensors

    def write(self, number: int, activation: str, weight: Floats, bias: Floats | None = None) -> None:
        """Write a module; `weight` (output, input), `bias` (output,)."""
        from sentence_distillery.io.artifacts import write_json

        folder = self.directory / DENSES[number]
        self.folders.append(DENSES[number])
        output, width = weight.shape
        config = {"in_features": width, "out_features": output, "bias": bias is not None}
        write_json(folder / CONFIG, {**config, "activation_function": f"torch.nn.modules.{activation}"})
        write_weights(folder, {WEIGHT: weight} | ({} if bias is None else {BIAS: bias}))

    def refuse(self, reason: str) -> InputError:
        """Make the error for modules that are no layer of a student."""
        return InputError(f"{self.directory}: {reason}. {REMEDY}")


def write_weights(directory: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write the weights with the file mode of config.json: safetensors makes files that only their owner can read."""
    from shutil import copymode  # models are loaded more often than saved

    from sentence_distillery.io.artifacts import write_tensors

    write_tensors(directory / WEIGHTS, dict(tensors))
    copymode(directory / CONFIG, directory / WEIGHTS)
