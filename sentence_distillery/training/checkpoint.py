"""The state of a training on disk, so that a killed run can resume.

A checkpoint holds the tensors of the model and of its optimizer, and notes (the losses so far, say), under a key that
names everything the result depends on: one made from other data or parameters is ignored, and so is, with a warning,
one that is damaged.
"""

import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer, SparseAdam

from sentence_distillery.io.artifacts import InputError, atomic_file, check_kind

log = logging.getLogger(__name__)

Notes = list[Any]


def key_of(*parts: object) -> str:
    """Hash all that the result of a training depends on, as 64 hexadecimal digits: data, parameters, the model."""
    digest = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode()
        digest.update(f"{len(content)} ".encode() + content)
    return digest.hexdigest()


@dataclass(frozen=True)
class Checkpoint:
    """The file of a training of `model` by `optimizer`; a file with another key, by `key_of`, is ignored.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> model = nn.Linear(1, 1)
        >>> sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> with TemporaryDirectory() as directory:
        ...     checkpoint = Checkpoint(Path(directory) / "state.safetensors", key_of("pairs", 1), model, sgd)
        ...     checkpoint.save([{"loss": 0.5}])
        ...     checkpoint.resume()
        [{'loss': 0.5}]
    """

    path: Path
    key: str
    model: nn.Module
    optimizer: Optimizer

    def save(self, notes: Notes) -> None:
        """Write the state atomically, with a note for each step or epoch that is done."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}

        # Copies, since tensors of a model may share their memory, which safetensors refuses.
        tensors = {name: tensor.detach().clone().contiguous().cpu() for name, tensor in tensors.items()}
        _write(self.path, self.key, tensors, json.dumps(notes))

    def resume(self) -> Notes:
        """Restore the state and return its notes; without a checkpoint of this key, change nothing and return none."""
        found = _read(self.path, self.key)
        if found is None:
            return []
        tensors, notes = found
        self.model.load_state_dict({name[6:]: t for name, t in tensors.items() if name.startswith("model.")})

        # The optimiser's tensors have names of the form optimizer.<parameter>.<field>.
        state: dict[int, dict[str, Tensor | int]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, index, field = name.split(".", 2)
                counted = field == "step" and isinstance(self.optimizer, SparseAdam)  # which has an int, Adam a tensor
                state.setdefault(int(index), {})[field] = int(tensor) if counted else tensor
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})
        log.info("resumed after %d of %s", len(notes), self.path.stem)
        return notes


def save_weights(path: Path, key: str, model: nn.Module) -> None:
    """Write only the weights of a model, those of the best epoch so far."""
    _write(path, key, {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}, "[]")


def has_weights(path: Path, key: str) -> bool:
    """Tell whether `path` has complete weights of the training `key`; without them its checkpoint is useless."""
    return _read(path, key) is not None


def _write(path: Path, key: str, tensors: Mapping[str, Tensor], notes: str) -> None:
    with atomic_file(path) as partial:  # in one piece, since `save_file` leaves a file of its own if it is killed
        about = {"key": key, "notes": notes, "sha256": _sha256(tensors, notes)}
        partial.write_bytes(save(dict(tensors), about))


def refuse_other_weights(path: Path) -> None:
    """Raise InputError if a path that a checkpoint is written to has weights that are none."""
    with suppress(OSError, SafetensorError), safe_open(path, framework="pt") as file:
        if "key" not in (file.metadata() or {}):
            raise InputError(f"{path} is no checkpoint of a training, and would be replaced; name another directory.")


def _read(path: Path, key: str) -> tuple[dict[str, Tensor], Notes] | None:
    """Read the tensors and notes of this key; None if there are none, with a warning if they are damaged."""
    check_kind(path)
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if about.get("key") != key:
                return None  # made from other data or parameters
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)

        # A file that was cut off or flipped would resume a training that nobody can repeat.
        if about.get("sha256") != _sha256(tensors, about.get("notes", "")):
            raise SafetensorError("its bytes have changed since it was written")
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError) as error:
        log.warning("%s is damaged (%s): training starts again from the beginning", path, error)
        return None
    return tensors, json.loads(about["notes"])


def _sha256(tensors: Mapping[str, Tensor], notes: str) -> str:
    digest = hashlib.sha256(notes.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
