"""Which modules a directory has, and which library saved it.

                    modules.json    table               further
    this library    yes             embeddings          config.json: how it was made; levels have their step there
    sentence-tr.    yes             embedding.weight    config_sentence_transformers.json may cut to `truncate_dim`
    model2vec       yes             embeddings          weights and mapping: a factor and a row for each token

Without modules.json config.json says which layers there are. What these files say and this library does not do is
refused, with the file and the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sentence_distillery.encoder.layers import KINDS, Layer
from sentence_distillery.encoder.model import Model
from sentence_distillery.encoder.persistence.json_files import REMEDY, read_json, read_object
from sentence_distillery.encoder.persistence.names import CONFIG, DENSES, MODULES, NESTED, SHA256, TEXT_RULES, WEIGHTS
from sentence_distillery.io.errors import InputError

_MODULES: Final = ("StaticEmbedding", "Dense", "Normalize")
_OWNER: Final = "sentence_transformers."  # of the types in modules.json; another package's may compute anything
_INPUT: Final = "sentence_embedding"  # of a module
_SHAPE: Final = ("kind", "dimension", "token_dimension")  # the entries of config.json that each of our models has
_OTHERS: Final = (
    "vocabulary",
    "embedding_dtype",
    "step",
    "units",
    "normalize",
    "max_length",
    "truncate_dim",
    "lexical",
)
_WRITTEN: Final = frozenset({*_SHAPE, *_OTHERS, SHA256, TEXT_RULES})
_LAYERS: Final = {0: None} | {kind.modules: kind for kind in KINDS}  # by the number of their Dense modules
_ORDERS: Final = [
    ["StaticEmbedding", *["Dense"] * denses, *normalize] for denses in _LAYERS for normalize in ([], ["Normalize"])
]


class Layout(NamedTuple):
    """What config.json and modules.json say.

    Attributes:
        directory: The model's directory.
        config: The content of config.json; empty if there is none.
        modules: The kind and the folder of each module; None without modules.json.
    """

    directory: Path
    config: Mapping[str, Any]
    modules: list[tuple[str, str]] | None

    @property
    def ours(self) -> bool:
        """Whether this library saved it; model2vec keeps our entries of config.json, but has a folder of its own."""
        return set(_SHAPE) <= set(self.config) and (not self.modules or self.modules[0][1] == "")

    @property
    def folder(self) -> Path:
        """The folder of table and tokenizer: modules.json names it; without that file, where model2vec looks."""
        named = self.directory / self.modules[0][1] if self.modules else self.directory
        nested = self.directory / NESTED
        return nested if nested.is_dir() and not (named / WEIGHTS).exists() else named

    @property
    def denses(self) -> list[str]:
        """The folders of the Dense modules."""
        if self.modules is None:
            named = {kind.kind: kind.modules for kind in KINDS}.get(str(self.config.get("kind")), 0)
            return list(DENSES[:named])
        return [folder for kind, folder in self.modules if kind == "Dense"]

    @property
    def layer(self) -> type[Layer] | None:
        """The layer after the sum."""
        return _LAYERS[len(self.denses)]

    @property
    def normalized(self) -> bool:
        """Whether another library brings vectors to unit length."""
        return any(kind == "Normalize" for kind, _ in self.modules or [])

    @property
    def made_from(self) -> dict[str, Any]:
        """What config.json says of the model's origin."""
        return {key: value for key, value in self.config.items() if key not in _WRITTEN}

    def check(self, model: Model) -> None:
        """Raise InputError if config.json, which this library wrote, describes another model than that of the files."""
        width, layer = model.table.dimension, model.layer
        channel = model.channel.dimension if model.channel and model.lexical_weight else 0
        expected = {
            "kind": "lexical" if channel else layer.kind if layer else "static",
            "dimension": layer.dimension if layer and layer.of_means else width + channel,
            "token_dimension": width,
            "vocabulary": len(model.table.stored),
        }
        for name, value in expected.items():
            given = self.config.get(name, value)
            if type(given) is not type(value) or given != value:
                raise self.refused(name, f"{given!r}, and the model has {value!r}")

        # Entries that are of use to nobody if they are of another type.
        step, units = self.config.get("step"), self.config.get("units", 0)
        if step is not None and (isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < np.inf):
            raise self.refused("step", f"{step!r}; it is a number above 0, or null")
        if isinstance(units, bool) or not isinstance(units, int):
            raise self.refused("units", f"{units!r}; it is a whole number")

    def refused(self, name: str, reason: str) -> InputError:
        """Make the error for an entry of config.json."""
        return InputError(f"{self.directory / CONFIG}: {name} is {reason}. {REMEDY}")


def read_layout(directory: Path) -> Layout:
    """Read config.json and modules.json.

    Raises:
        InputError: If one is damaged, or describes something else than a static model.
    """
    found = Layout(directory, _read_config(directory), _read_modules(directory))
    if found.modules is not None:
        _check_modules(directory, found.modules)
    return found


def _read_config(directory: Path) -> dict[str, Any]:
    """Read config.json, which sentence-transformers leaves out; model2vec's own has `normalize` and no shape."""
    path = directory / CONFIG
    if not path.exists() and (directory / MODULES).exists():
        return {}
    config = read_json(path)

    # A transformer has a config.json, too, and its users look for a reason.
    other = config.get("model_type") if isinstance(config, dict) else None
    known = isinstance(config, dict) and (set(_SHAPE) <= set(config) or "normalize" in config or other == "model2vec")
    if not known:
        transformer = f": it describes a transformer of type '{other}', which can be the teacher of `distill`."
        other_kind = f". This library loads only static models. {REMEDY}"
        raise InputError(f"{path} does not describe a student{transformer if other else other_kind}")
    found: dict[str, Any] = config
    return found


def _read_modules(directory: Path) -> list[tuple[str, str]] | None:
    """List the kind and the folder of each module; None if a hand or an old model2vec saved none of modules.json."""
    path = directory / MODULES
    if not path.exists():
        return None
    try:
        return [(_kind(str(module["type"])), _folder(module["path"])) for module in read_json(path)]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a list of modules ({error!r}). {REMEDY}") from error


def _kind(name: str) -> str:
    """Return the name of a module's class, with its package if another one uses the name of a known class."""
    kind = name.rpartition(".")[2]
    return name if kind in _MODULES and not name.startswith(_OWNER) else kind


def _folder(path: Any) -> str:
    """Return the folder of a module; raises ValueError if it is not a name of one in the model's directory."""
    if not isinstance(path, str) or Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f"{path!r} is not a folder of the model")
    return path


def _check_modules(directory: Path, modules: list[tuple[str, str]]) -> None:
    """Raise InputError for a module that a static model does not have, or another order."""
    kinds = [kind for kind, _ in modules]
    if kinds[:1] != ["StaticEmbedding"] or not set(kinds) <= set(_MODULES) or kinds.count("Dense") not in _LAYERS:
        raise InputError(
            f"{directory} is not a static model but one of {', '.join(kinds) or 'no modules'}. Load it with "
            "sentence-transformers; this library loads StaticEmbedding, alone or with its own Dense modules."
        )
    if kinds not in _ORDERS:
        raise InputError(
            f"{directory / MODULES} has the modules {', '.join(kinds)} in an order that this library does not compute; "
            "it has StaticEmbedding, then up to two Dense, then Normalize or nothing. Load it with "
            "sentence-transformers."
        )

    # Normalize has no parameters, but newer versions name the vector that it takes.
    for kind, folder in modules:
        if kind == "Normalize" and (directory / folder / CONFIG).exists():
            refuse_other_input(directory / folder / CONFIG, read_object(directory / folder / CONFIG))


def refuse_other_input(path: Path, config: Mapping[str, Any]) -> None:
    """Raise InputError for a module that reads or writes anything else than the vector of a text."""
    for name in ("module_input_name", "module_output_name"):
        if config.get(name) not in (None, _INPUT):
            raise InputError(f"{path}: {name} is {config[name]!r}; this library computes {_INPUT} alone.")
