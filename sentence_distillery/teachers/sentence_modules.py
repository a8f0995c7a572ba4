"""The modules after a transformer, from the files of sentence-transformers.

    modules.json                           the modules in their order: Transformer, Pooling, Dense, Normalize
    1_Pooling/config.json                  how the token outputs are pooled
    2_Dense/config.json, model.safetensors a linear layer and an activation, one folder each
    sentence_bert_config.json              the maximum length, and whether texts are lower-cased; or another of ABOUT
    config_sentence_transformers.json      prompts, such as `query: `, and which one is the default

An encoder without modules.json is a mean over its tokens. One with a module or a pooling that is not listed here is
refused: distilled in another way, it would give other vectors than those that its authors measured.

The pooled vector of n tokens with the outputs h_1 ... h_n is

    cls                    h_1
    lasttoken              h_n
    max                    max h_i, component by component
    mean                   1/n sum h_i
    mean_sqrt_len_tokens   1/sqrt(n) sum h_i
    weightedmean           sum i h_i / sum i
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.contents import Content
from sentence_distillery.io.errors import one_line, refuse_pointer
from sentence_distillery.teachers.pooling import weighted_mean

MODULES = "modules.json"
WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = f"{WEIGHTS}.index.json"  # of weights in several files: the file of each tensor
ABOUT = [  # names that versions of sentence-transformers gave one file, by the kind of model
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
]
FORMER = {  # keys of former versions of 1_Pooling/config.json, in the order in which their vectors are joined
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
ACTIVATIONS = ("GELU", "Identity", "LeakyReLU", "ReLU", "SiLU", "Sigmoid", "Tanh")


class Module(Content):
    """A module of modules.json."""

    type: str
    path: str


class WeightsIndex(Content):
    """The file of each tensor."""

    weight_map: dict[str, str]


class Settings(Content):
    """The settings in sentence_bert_config.json and config_sentence_transformers.json."""

    max_seq_length: int | None = None
    do_lower_case: bool | None = None
    prompts: dict[str, str] | None = None
    default_prompt_name: str | None = None


def _sum(hidden: Tensor, mask: Tensor) -> Tensor:
    return torch.einsum("bt,btd->bd", mask, hidden)


def _last(hidden: Tensor, mask: Tensor) -> Tensor:
    places = torch.arange(mask.shape[1], device=mask.device)
    return hidden[torch.arange(len(hidden), device=mask.device), (places * (mask > 0)).argmax(dim=1)]


def _by_place(hidden: Tensor, mask: Tensor) -> Tensor:
    return weighted_mean(hidden, mask * torch.arange(1, mask.shape[1] + 1, device=mask.device))


# name -> pooling of hidden (batch, tokens, dimension) with mask (batch, tokens), 1.0 on tokens that count, else 0.0
POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cls": lambda hidden, mask: hidden[torch.arange(len(hidden), device=mask.device), mask.argmax(dim=1)],
    "max": lambda hidden, mask: hidden.masked_fill(mask[..., None] == 0, -torch.inf).amax(dim=1),
    "mean": weighted_mean,
    "mean_sqrt_len_tokens": lambda hidden, mask: _sum(hidden, mask) / mask.sum(dim=1, keepdim=True).sqrt(),
    "weightedmean": _by_place,
    "lasttoken": _last,
}


@dataclass(frozen=True)
class SentenceModules:
    """The modules after the transformer, and the prompts before it."""

    poolings: tuple[str, ...] = ("mean",)  # names of POOLINGS; the vectors of several are joined
    # dense layers, and normalisations that a dense layer follows
    layers: nn.Sequential = field(default_factory=nn.Sequential)
    normalize: bool = False  # whether the vector has unit length in the end
    prompt: str = ""  # the text before every text
    prompts: Mapping[str, str] = field(default_factory=dict)  # the encoder's own prompts by name
    include_prompt: bool = True  # whether the prompt's tokens are pooled
    lower_case: bool = False  # whether texts are lower-cased
    # word pieces of a text that it reads, or None if only the transformer's own files say
    max_seq_length: int | None = None
    transformer: str = ""  # the folder of the transformer below that of the encoder
    files: tuple[Path, ...] = ()  # files that shape an embedding, apart from those of the transformer

    @property
    def plain(self) -> bool:
        """Whether it is a mean over tokens, and nothing else; unit length aside, which changes no direction."""
        means = self.poolings == ("mean",) and not len(self.layers)
        return means and not self.prompt and not self.lower_case

    def dimension(self, hidden: int) -> int:
        """Return the dimension of an embedding of a transformer whose outputs have `hidden` dimensions."""
        widths = [layer.out_features for layer in self.layers.modules() if isinstance(layer, nn.Linear)]
        return widths[-1] if widths else hidden * len(self.poolings)

    def text(self, text: str) -> str:
        """Return the text that the tokenizer gets."""
        prompted = self.prompt + text
        return prompted.lower() if self.lower_case else prompted

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Pool token outputs, (batch, tokens, dimension), and apply the layers; (batch, dimension), before `normalize`.

        `mask` is 1.0 on the tokens that count, at least one of a row, else 0.0.
        """
        pooled = torch.cat([POOLINGS[name](hidden, mask) for name in self.poolings], dim=1)
        layered: Tensor = self.layers(pooled)
        return layered


class Normalize(nn.Module):
    """Scales vectors to unit length."""

    def forward(self, vectors: Tensor) -> Tensor:
        """Return (batch, dimension) of unit length; a zero vector stays zero."""
        return nn.functional.normalize(vectors, dim=1)


def read_modules(directory: Path) -> SentenceModules:
    """Read the modules, prompts and settings of an encoder from its directory; without modules.json, a mean.

    Raises InputError if a file is missing or broken, or has a module, a pooling or an activation that is not known.
    """
    path = directory / MODULES
    if not path.is_file():
        return SentenceModules()
    kinds = [(str(each["type"]).rpartition(".")[2], str(each["path"])) for each in read_json(path, list[Module])]

    # Another order or module would give other vectors than the published ones, so it is refused and not guessed.
    order = [kind for kind, _ in kinds]
    if order[:2] != ["Transformer", "Pooling"] or not set(order[2:]) <= {"Dense", "Normalize"}:
        raise InputError(
            f"{path} has the modules {', '.join(order)}; known are Transformer and Pooling, followed by Dense and "
            "Normalize. Name another teacher, or write its vectors to a file."
        )
    transformer, pooling = (directory / place for _, place in kinds[:2])
    after = [_layer(kind, directory / place) for kind, place in kinds[2:]]

    # A last Normalize is a flag and not a layer, since vectors are brought to unit length in any case.
    normalize = bool(after) and isinstance(after[-1], Normalize)

    # All these files shape an embedding, so the fingerprint of the teacher covers them.
    configs = [pooling / "config.json", *(directory / place for kind, place in kinds[2:] if kind == "Dense")]
    files = [path, *(each for place in configs for each in (sorted(place.iterdir()) if place.is_dir() else [place]))]
    about = next(filter(None, (_optional(transformer / name) for name in ABOUT)), {})
    prompts = _optional(directory / "config_sentence_transformers.json")
    pooled = read_json(pooling / "config.json", dict[str, Any])
    return SentenceModules(
        poolings=_poolings(pooled, pooling / "config.json"),
        layers=nn.Sequential(*(after[:-1] if normalize else after)),
        normalize=normalize,
        prompt=_default_prompt(prompts, directory),
        prompts=dict(prompts.get("prompts") or {}),
        include_prompt=bool(pooled.get("include_prompt", True)),
        lower_case=bool(about.get("do_lower_case", False)),
        max_seq_length=about.get("max_seq_length"),
        transformer=kinds[0][1],
        files=tuple(files),
    )


def _optional(path: Path) -> dict[str, Any]:
    return dict(read_json(path, Settings)) if path.is_file() else {}


def _poolings(config: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Read the poolings of present and former versions of the file."""
    given = config.get("pooling_mode") or [name for key, name in FORMER.items() if config.get(key)] or ["mean"]
    names = tuple(given) if isinstance(given, list) else (given,)
    if unknown := [name for name in names if not isinstance(name, str) or name not in POOLINGS]:
        raise InputError(f"{path}: unknown pooling '{unknown[0]}'; known: {', '.join(POOLINGS)}. Name another teacher.")
    return names


def _default_prompt(config: dict[str, Any], directory: Path) -> str:
    name = config.get("default_prompt_name")
    prompts = config.get("prompts") or {}
    if name is not None and name not in prompts:
        raise InputError(f"{directory}: the default prompt '{name}' is not among its prompts {', '.join(prompts)}.")
    return str(prompts[name]) if name is not None else ""


def weight_files(directory: Path) -> list[Path]:
    """Return the files of a model's weights; InputError if one is missing, or a pointer of Git LFS in its place."""
    files, index = [directory / WEIGHTS], directory / WEIGHTS_INDEX
    if not files[0].is_file() and index.is_file():
        files = sorted({directory / name for name in read_json(index, WeightsIndex)["weight_map"].values()})
    for file in files:
        if not file.is_file():
            others = ", ".join(sorted(each.name for each in directory.glob("*"))) or "nothing"
            raise InputError(
                f"{directory} has no {file.name} (it has {others}). Pickled weights are refused: convert them with "
                "`save_pretrained(..., safe_serialization=True)`."
            )
        refuse_pointer(file)
    return files


def _layer(kind: str, directory: Path) -> nn.Module:
    """Make a Dense or Normalize module."""
    if kind == "Normalize":
        return Normalize()
    config = read_json(directory / "config.json", dict[str, Any])
    name = str(config.get("activation_function", "torch.nn.modules.linear.Identity")).rpartition(".")[2]
    if name not in ACTIVATIONS:
        raise InputError(
            f"{directory / 'config.json'}: unknown activation '{name}'; known: {', '.join(ACTIVATIONS)}. Name another "
            "teacher."
        )
    (weights,) = weight_files(directory)
    try:
        linear = nn.Linear(config["in_features"], config["out_features"], bias=bool(config.get("bias", True)))
        linear.load_state_dict({name.removeprefix("linear."): each for name, each in load_file(weights).items()})
    except (OSError, SafetensorError, RuntimeError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InputError(
            f"{weights} does not hold the weights of a dense layer: {reason}. Save the encoder again, or "
            "name another teacher."
        ) from error

    # Teachers are only read; a gradient would cost memory.
    activation: nn.Module = getattr(nn, name)()
    return nn.Sequential(linear.requires_grad_(False), activation)
