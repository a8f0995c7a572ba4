"""A model's directory, as this library, sentence-transformers or model2vec saved it.

                    modules.json    table               further
    this library    yes             embeddings          config.json: how it was made; levels have their step there
    sentence-tr.    yes             embedding.weight    config_sentence_transformers.json may cut to `truncate_dim`
    model2vec       yes             embeddings          weights and mapping: a factor and a row for each token

modules.json says which layers follow the mean of the token vectors: none (static), one Dense (paper) or two (deep).
A model that another library made has `rules`, by which a text becomes the tokens that it has there (see `text_rules`).
What these files may say and this library does not do is refused, with the file and the entry.
A lexical channel has two tensors beside the table, and its dimension and weight in config.json.

A file of weights below MAPPED bytes is read, and compared with the SHA-256 in config.json. A larger one is mapped: the
system reads its pages when they are needed, and processes share them; but if another process cuts it short, this one is
killed (SIGBUS), so replace such a file, do not write into it. What is read is shared by all encoders of the same files.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from sentence_distillery.encoder.exchange.hub import download, is_hub_id
from sentence_distillery.encoder.exchange.json_files import LARGEST_JSON, REMEDY, check_file, read_json, read_object
from sentence_distillery.encoder.exchange.prompts import Prompts, read_settings
from sentence_distillery.encoder.exchange.text_rules import (
    MODEL2VEC_LENGTH,
    TextRules,
    model2vec_rules,
    refuse_chance_and_gaps,
    rules_of,
)
from sentence_distillery.encoder.files import (
    CARD,
    CONFIG,
    DENSE,
    FACTORS,
    IDF,
    MODULES,
    NARROW,
    NESTED,
    NO_LEVEL,
    ROWS,
    SETTINGS,
    SHA256,
    STEMS,
    TABLE,
    TEXT_RULES,
    TOKENIZER,
    TORCH_TABLE,
    WEIGHTS,
    as_levels,
)
from sentence_distillery.encoder.lexical import (
    GREATEST_DIMENSION,
    GREATEST_WEIGHT,
    LEXICAL_WEIGHT,
    PLACES,
    LexicalChannel,
    is_dimension,
    is_weight,
)
from sentence_distillery.encoder.native.vocabulary import BERT, FULL, Vocabulary
from sentence_distillery.encoder.tokenizer import (
    CONTINUATION,
    LONGEST,
    LONGEST_RUN,
    NORMALIZER,
    UNKNOWN_ID,
    is_emoji,
    is_punctuation,
    is_term,
)
from sentence_distillery.io.artifacts import InputError, map_tensors, read_tensors
from sentence_distillery.io.checksums import check_directory
from sentence_distillery.io.errors import option
from sentence_distillery.io.ragged import Floats

RELEASED = "released"  # the name of a model that comes with the library
RELEASED_SEARCH = "released-search"  # the same one, with its lexical channel
RELEASED_DIRECTORY = Path(__file__).parents[1] / RELEASED
_RELEASES = {RELEASED: RELEASED_DIRECTORY, RELEASED_SEARCH: RELEASED_DIRECTORY}

MAPPED = 64 * 2**20  # bytes from which a file of weights is mapped
LARGEST_CARD = 16 * 2**20  # bytes of README.md

_KINDS = {0: "static", 1: "paper", 2: "deep"}  # by the number of Dense modules after the mean
_KNOWN_MODULES = ("StaticEmbedding", "Dense", "Normalize")
_SHAPE = ("kind", "dimension", "token_dimension")  # the entries of config.json that each of our models has
_WRITTEN = (
    *_SHAPE,
    "vocabulary",
    "embedding_dtype",
    "step",
    "units",
    "normalize",
    "max_length",
    "truncate_dim",
    "lexical",
    SHA256,
    TEXT_RULES,
)
_ORDERS = [
    ["StaticEmbedding", *["Dense"] * denses, *normalize] for denses in _KINDS for normalize in ([], ["Normalize"])
]
_OWNER = "sentence_transformers."  # of the types in modules.json; another package's may compute anything
_INPUT = "sentence_embedding"  # of a module
# The steps that the fast path of the encoder does itself with ASCII; a normalizer may have further steps before BERT's.
_BERT: dict[str, object] = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "lowercase": True,
}
_EARLIER_STEPS = json.loads(NORMALIZER.__getstate__())["normalizers"][:-1]  # its state is its JSON
_EXPECTED_TEXT: dict[str, dict[str, object]] = {
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "continuing_subword_prefix": "##"},
}


@dataclass(frozen=True)
class Parts:
    """The parts of a StaticEncoder, which describes the arrays.

    `made_from` has the other entries of config.json: where the model comes from. `card` is the content of README.md.
    """

    tokenizer: Path | Tokenizer
    stored: NDArray[Any]
    linear: tuple[Floats, Floats] | None = None
    step: float | None = None
    levels: NDArray[np.int8] | None = None  # of a table that has a step
    vocabulary: Vocabulary | None = None
    hidden: tuple[Floats, Floats] | None = None
    truncate_dim: int | None = None
    lexical: LexicalChannel | None = None
    lexical_weight: float = 0.0
    rules: TextRules | None = None
    prompts: Prompts = field(default_factory=Prompts)
    card: str | None = None
    made_from: Mapping[str, object] = field(default_factory=dict)


def model_directory(name: str | Path, revision: str | None = None, token: str | bool | None = None) -> Path:
    """Find the directory of a model, and download one of a hub.

    Args:
        name: "released" or "released-search" for a model that comes with the library, or a directory, or the id of a
            model on a hub.
        revision: A commit, branch or tag of a hub id; None is the main branch.
        token: A token of the hub; None for the one that is saved.

    Returns:
        The directory, which exists.

    Raises:
        InputError: If there is no such directory or model.

    Example:
        >>> model_directory("released").name
        'released'
        >>> model_directory("./my-model")
        Traceback (most recent call last):
        sentence_distillery.io.artifacts.InputError: './my-model' ...
    """
    directory = _RELEASES.get(str(name), Path(name))
    if not directory.exists() and is_hub_id(str(name)):
        return download(str(name), revision, token)
    if revision is not None:
        raise InputError(
            f"revision {revision!r} is given, but '{name}' is not the id of a model on a hub; leave it out."
        )
    if directory.is_dir():
        if not any((directory / file).exists() for file in (CONFIG, MODULES, TOKENIZER, WEIGHTS)):
            raise InputError(f"The directory '{name}' does not hold a model{_hint()}")
        return directory
    if directory.exists():
        raise InputError(f"'{name}' is a file. Name the directory that holds {MODULES}, {TOKENIZER} and {WEIGHTS}.")
    raise InputError(f"'{name}' is not a directory on this machine{_hint()}")


def _hint() -> str:
    own = option(f'load("{RELEASED}")', f"`{RELEASED}`")
    return f". Give the path of a directory that save_pretrained wrote, or {own}."


def read_model(directory: Path) -> Parts:
    """Read a static model, whichever of the three libraries saved it.

    Args:
        directory: The directory of the model.

    Returns:
        Its parts; the arrays of the table are read-only views of the file.

    Raises:
        InputError: If a file is missing, broken, not finite or of the wrong shape, or if it is another kind of model.

    Example:
        >>> read_model(model_directory("released")).stored.dtype.name
        'int8'
    """
    check_directory(directory)
    config = _read_config(directory)
    modules = _read_modules(directory)
    denses = _dense_modules(directory, config, modules)
    # model2vec keeps our entries of config.json when it saves a model, but writes a folder of its own
    ours = set(_SHAPE) <= set(config) and (not modules or modules[0][1] == "")

    # Only this library writes digests. What others wrote into the entry says nothing about these files.
    digests = config.get(SHA256) if ours else None
    folder = _weights_folder(directory, modules)

    # All tensors are read through one object, which hashes each file while its bytes are in memory.
    weights = Weights(directory, digests)
    content = weights.read(folder / WEIGHTS)
    names = _tensor_names(folder / WEIGHTS)

    # The name of the table decides whose rules for unknown tokens and prompts hold.
    by_model2vec = not ours and TORCH_TABLE not in names
    kinds = [kind for kind, _ in modules or []]
    source = _Source(directory, folder / TOKENIZER, config, ours, by_model2vec, len(denses) == 1, "Normalize" in kinds)
    texts = source.texts()
    stored, step, levels = _read_table(folder / WEIGHTS, names, texts, config.get("step"), content)
    if texts.rules is None and stored[UNKNOWN_ID].any():
        if ours:
            raise InputError(
                f"{folder / WEIGHTS}: the unknown token (row 0) has a vector, but that of a student is zero. {REMEDY}"
            )
        texts = source.texts_by_rules()  # in its own library unknown tokens count
    rows = texts.rows
    described = config.get("lexical") if ours else None
    lexical = None if described is None else _read_lexical(directory, described, folder / WEIGHTS, rows, content)
    linear = _read_linear(directory / denses[0], stored.shape[1], weights) if len(denses) == 1 else None
    hidden = _read_hidden(directory, denses, stored.shape[1], weights) if len(denses) == 2 else None

    # Digests are compared after all files were read, and before anything is computed from them.
    weights.check()
    if ours:
        _check_shape(directory / CONFIG, config, denses, stored, linear, lexical)
    settings = read_settings(directory / SETTINGS, applied=not by_model2vec)
    return Parts(
        texts.tokenizer,
        stored,
        linear=linear,
        step=step,
        levels=levels,
        vocabulary=texts.vocabulary,
        hidden=hidden,
        truncate_dim=settings.truncate_dim,
        lexical=lexical[0] if lexical else None,
        lexical_weight=lexical[1] if lexical else 0.0,
        rules=texts.rules,
        prompts=settings.prompts,
        card=_read_card(directory),
        made_from={key: value for key, value in config.items() if key not in _WRITTEN},
    )


@dataclass(frozen=True)
class _Texts:
    """How texts become tokens: by look-up in a `vocabulary`, or by `rules`, or by a tokenizer of kind paper."""

    tokenizer: Path | Tokenizer
    rows: int  # that the table needs
    exactly: bool = True  # or more
    vocabulary: Vocabulary | None = None
    rules: TextRules | None = None


@dataclass(frozen=True)
class _Source:
    """What decides how a model's texts become tokens."""

    directory: Path
    path: Path  # of the tokenizer
    config: Mapping[str, Any]
    ours: bool
    by_model2vec: bool
    paper: bool  # a Dense module follows, so that means count, and not directions alone
    normalized: bool  # the same if no Normalize module follows

    def texts(self) -> _Texts:
        """Choose the fastest way that gives the tokens of the library that saved the model."""
        if self.ours and TEXT_RULES not in self.config:
            if (length := self.config.get("max_length")) is not None:
                raise InputError(
                    f"{self.directory / CONFIG}: max_length is {length!r}, but a student reads texts to their end. Set "
                    "it to null, and give encode a max_length."
                )
            return self._own_paper() if self.paper else self._own()
        cut = self.config.get("max_length", MODEL2VEC_LENGTH) if self.by_model2vec else None
        means = self.paper or not (self.by_model2vec or self.normalized)  # in which unknown tokens count
        if means or self.ours or cut is not None:
            return self.texts_by_rules()
        try:
            return replace(self._own(), exactly=False)
        except InputError:  # another tokenizer, or a damaged one
            return self.texts_by_rules()

    def _own(self) -> _Texts:
        vocabulary = _read_vocabulary(self.path)
        return _Texts(self.path, len(vocabulary.words), vocabulary=vocabulary)

    def _own_paper(self) -> _Texts:
        tokenizer = read_tokenizer(self.path)
        if tokenizer.truncation is not None:
            raise InputError(f"{self.path}: truncation is {tokenizer.truncation}; that of a student is null. {REMEDY}")
        return _Texts(tokenizer, tokenizer.get_vocab_size())

    def texts_by_rules(self) -> _Texts:
        """Take the tokens of `tokenizers`, by the rules of the library that saved the model."""
        tokenizer, config = read_tokenizer(self.path), self.directory / CONFIG
        refuse_chance_and_gaps(self.path, tokenizer)
        rows = max(tokenizer.get_vocab().values(), default=-1) + 1
        if self.by_model2vec:
            rules = model2vec_rules(tokenizer, config, self.config.get("max_length", MODEL2VEC_LENGTH))
        elif self.ours:
            rules = rules_of(self.config[TEXT_RULES], config, rows)
        else:
            rules = TextRules()
        return _Texts(tokenizer, rows, exactly=False, rules=rules)


def _weights_folder(directory: Path, modules: list[tuple[str, str]] | None) -> Path:
    """Return the folder of table and tokenizer: modules.json names it; without that file, where model2vec looks."""
    named = directory / modules[0][1] if modules else directory
    nested = directory / NESTED
    return nested if nested.is_dir() and not (named / WEIGHTS).exists() else named


def _read_card(directory: Path) -> str | None:
    """Read README.md, in any encoding; a model needs none."""
    path = directory / CARD
    if not path.is_file() or path.stat().st_size > LARGEST_CARD:
        return None
    return path.read_text(encoding="utf-8", errors="replace")


@dataclass
class Weights:
    """Reads files of weights, and compares them with the SHA-256 that config.json has of them, by their names."""

    directory: Path
    digests: object
    _hashed: "dict[Path, _Digest]" = field(default_factory=dict)

    def read(self, path: Path) -> bytes | None:
        """Read a file, and begin to hash it; None for one that is to be mapped, or is missing."""
        check_file(path)
        if not path.exists() or path.stat().st_size >= MAPPED:
            return None
        content = path.read_bytes()
        if self.digests is not None:
            self._hashed[path] = _Digest(content)
        return content

    def check(self) -> None:
        """Raise InputError if a file is not the one that was saved."""
        known = [*self.digests.values()] if isinstance(self.digests, dict) else []
        for path, digest in self._hashed.items():
            digest.join()
            if digest.hex not in known:  # in any folder: another library may have put it in one
                raise InputError(
                    f"{path} has SHA-256 {digest.hex}, but {self.directory / CONFIG} does not list it under "
                    f"{SHA256}: the file is damaged, or belongs to another model. {REMEDY}"
                )


class _Digest(Thread):
    """The SHA-256 of a content, computed while the caller's thread works."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.content = content
        self.hex = ""
        self.start()

    def run(self) -> None:
        self.hex = sha256(self.content).hexdigest()


def default_weight(name: Path | str, parts: Parts) -> float:
    """Return the weight of the lexical channel by which a model is loaded if none is given.

    Args:
        name: As for `model_directory`.
        parts: The model.

    Returns:
        That of "released-search" for this name, else what the model was saved with.

    Example:
        >>> default_weight("released-search", read_model(model_directory("released-search")))
        1.2
    """
    return LEXICAL_WEIGHT if str(name) == RELEASED_SEARCH else parts.lexical_weight


def _check_shape(
    path: Path,
    config: Mapping[str, Any],
    denses: list[str],
    stored: NDArray[Any],
    linear: tuple[Floats, Floats] | None,
    lexical: tuple[LexicalChannel, float] | None,
) -> None:
    """Raise InputError if config.json describes another model than the files next to it."""
    width = int(stored.shape[1])
    channel = lexical[0].dimension if lexical and lexical[1] else 0
    expected = {
        "kind": "lexical" if channel else _KINDS[len(denses)],
        "dimension": width + channel if linear is None else len(linear[1]),
        "token_dimension": width,
        "vocabulary": len(stored),
    }
    for name, value in expected.items():
        given = config.get(name, value)
        if type(given) is not type(value) or given != value:
            raise InputError(f"{path}: {name} is {given!r}, and the model has {value!r}. {REMEDY}")
    step = config.get("step")
    if step is not None and (isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < np.inf):
        raise InputError(f"{path}: step is {step!r}; it is a number above 0, or null. {REMEDY}")
    units = config.get("units", 0)
    if isinstance(units, bool) or not isinstance(units, int):
        raise InputError(f"{path}: units is {units!r}; it is a whole number. {REMEDY}")


def signature(directory: Path) -> tuple[object, ...]:
    """Identify the files of a model without reading them: two equal signatures are of the same content."""
    names = sorted(path for path in (*directory.glob("*.*"), *directory.glob("*/*.*")) if path.is_file())
    found = ((str(path), path.stat()) for path in names)
    return tuple((name, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in found)


def _read_config(directory: Path) -> dict[str, Any]:
    """Read config.json, which sentence-transformers leaves out; model2vec's own has `normalize` and no shape."""
    path = directory / CONFIG
    if not path.exists() and (directory / MODULES).exists():
        return {}
    config = read_json(path)
    other = config.get("model_type") if isinstance(config, dict) else None
    known = isinstance(config, dict) and (set(_SHAPE) <= set(config) or "normalize" in config or other == "model2vec")
    if not known:
        kind = f": it describes a transformer of type '{other}'" if other else ""
        raise InputError(f"{path} does not describe a student{kind}. This library loads only static models. {REMEDY}")
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
    return name if kind in _KNOWN_MODULES and not name.startswith(_OWNER) else kind


def _dense_modules(directory: Path, config: Mapping[str, Any], modules: list[tuple[str, str]] | None) -> list[str]:
    """List the folders of the Dense modules; raises InputError for a module that a static model does not have."""
    if modules is None:
        return {"paper": [DENSE], "deep": [DENSE, NARROW]}.get(config.get("kind", "static"), [])
    kinds = [kind for kind, _ in modules]
    denses = [folder for kind, folder in modules if kind == "Dense"]
    if kinds[:1] != ["StaticEmbedding"] or not set(kinds) <= set(_KNOWN_MODULES) or len(denses) not in _KINDS:
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
    for kind, folder in modules:
        if kind == "Normalize" and (directory / folder / CONFIG).exists():
            _refuse_other_input(directory / folder / CONFIG, read_object(directory / folder / CONFIG))
    return denses


def _refuse_other_input(path: Path, config: Mapping[str, Any]) -> None:
    """Raise InputError for a module that reads or writes anything else than the vector of a text."""
    for name in ("module_input_name", "module_output_name"):
        if config.get(name) not in (None, _INPUT):
            raise InputError(f"{path}: {name} is {config[name]!r}; this library computes {_INPUT} alone.")


def _folder(path: Any) -> str:
    """Return the folder of a module; raises ValueError if it is not a name of one in the model's directory."""
    if not isinstance(path, str) or Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f"{path!r} is not a folder of the model")
    return path


def read_tokenizer(source: Path | bytes) -> Tokenizer:
    """Read a tokenizer from its file, or from the content of one; raises InputError if it is not one."""
    if isinstance(source, Path):
        check_file(source, LARGEST_JSON)
    try:
        found = Tokenizer.from_buffer(source) if isinstance(source, bytes) else Tokenizer.from_file(str(source))
        found.no_padding()  # as in both other libraries: padding would count as tokens
        return found
    except Exception as error:  # tokenizers raises plain Exception
        name = "The content of a pickled model" if isinstance(source, bytes) else source
        raise InputError(f"{name} is not a tokenizer: {error}. {REMEDY}") from error


def _read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary of a WordPiece tokenizer, ten times as fast as the whole tokenizer."""
    check_file(path, LARGEST_JSON)
    try:
        vocabulary = vocabulary_of(json.loads(path.read_bytes()))
        "".join(vocabulary.words).encode()  # not with a lone surrogate
        return vocabulary
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else error
        raise InputError(
            f"{path} is not a tokenizer of a static student: {reason}. If another program made the model, load it with "
            f"that one. {REMEDY}"
        ) from error


def vocabulary_of(content: Any) -> Vocabulary:
    """Parse the vocabulary of a student's tokenizer; raises ValueError, KeyError or TypeError for another JSON."""
    if content.get("truncation") is not None:
        raise ValueError(f"its truncation is {content['truncation']!r}, not null")
    _check_normalizer(content["normalizer"])
    for part, expected in _EXPECTED_TEXT.items():
        _check(part, content[part], expected)
    if (longest := content["model"].get("max_input_chars_per_word")) not in (LONGEST, LONGEST_RUN):
        raise ValueError(f"its model has the max_input_chars_per_word {longest!r}, not {LONGEST} or {LONGEST_RUN}")
    words = by_id(content["model"]["vocab"])
    if words[:1] != [content["model"]["unk_token"]]:
        raise ValueError(f"its first token is {words[:1]}, expected the unknown one")
    if others := set(terms_of(content)) - {words[token["id"]] for token in content["added_tokens"] if _is_term(token)}:
        raise ValueError(f"it has {len(others)} added tokens that are not terms, such as '{min(others)}'")
    if signed := _signed(words, set(terms_of(content))):
        raise ValueError(f"it has {len(signed)} tokens with punctuation that are not terms, such as '{signed[0]}'")
    ids = [content["model"]["vocab"][term] for term in terms_of(content)]
    return Vocabulary(words, ids, longest, _normalizer(content["normalizer"]))


def _normalizer(normalizer: Any) -> int | None:
    """Return the number of a normalizer in the native core, None for one that keeps accents."""
    *earlier, bert = normalizer["normalizers"] if normalizer["type"] == "Sequence" else [normalizer]
    if bert.get("strip_accents") is False:
        return None
    return FULL if earlier else BERT


def _signed(words: list[str], terms: set[str]) -> list[str]:
    """List the tokens with punctuation that would need a vector in the text, where `encode` leaves punctuation out."""
    odd = [word for word in words[1:] if not word.isalnum()]  # few, and all that follows takes longer
    whole = (word for word in odd if not word.startswith(CONTINUATION) and word not in terms)
    return [word for word in whole if any(map(is_punctuation, word))]


def terms_of(content: Any) -> list[str]:
    """List the terms of a student's tokenizer, which are its added tokens."""
    return [token["content"] for token in content["added_tokens"]]


def _is_term(token: Mapping[str, Any]) -> bool:
    """Tell whether an added token is one that `static_tokenizer` adds for a term."""
    plain = not (token["special"] or token["lstrip"] or token["rstrip"]) and token["normalized"]
    return plain and is_term(token["content"]) and token["single_word"] != is_emoji(token["content"])


def _check_normalizer(normalizer: Any) -> None:
    """Raise ValueError unless it is BERT's, alone or after steps that leave ASCII as it is."""
    steps = normalizer["normalizers"] if (normalizer or {}).get("type") == "Sequence" else [normalizer]
    *earlier, bert = steps
    _check("normalizer", bert, _BERT)
    if earlier and earlier != _EARLIER_STEPS:
        raise ValueError(f"its normalizer has other steps before BERT's: {earlier}")


def _check(part: str, found: Any, expected: Mapping[str, object]) -> None:
    for name, value in expected.items():
        setting = (found or {}).get(name)
        if setting != value:
            raise ValueError(f"its {part} has the {name} {setting!r}, expected {value!r}")


def by_id(vocabulary: dict[str, int]) -> list[str]:
    """Sort tokens by their ids; raises ValueError if these are not 0, 1, 2, ..."""
    if list(vocabulary.values()) == list(range(len(vocabulary))):
        return list(vocabulary)
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    if [vocabulary[word] for word in words] != list(range(len(words))):
        raise ValueError("its ids have gaps")
    return words


def _tensor_names(path: Path) -> list[str]:
    """List the names of a file's tensors; the remedy in an error does not assume that the user has the repository."""
    try:
        with safe_open(path, framework="numpy") as file:
            return list(file.keys())
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{path} is not a readable safetensors file ({error}). Pickled models (.bin, .pt, .pkl) are refused: "
            f"convert them to safetensors. {REMEDY}"
        ) from error


def _read_table(
    path: Path, names: list[str], texts: _Texts, step: Any, content: bytes | None
) -> tuple[NDArray[Any], float | None, NDArray[np.int8] | None]:
    """Read the table, the step between its levels and these; step and levels are None if the table has none."""
    name = TORCH_TABLE if TORCH_TABLE in names else TABLE
    rows = texts.rows if texts.exactly and ROWS not in names else None
    table = map_tensors(path, {name: (rows, None)}, content)[name]
    if 0 in table.shape:
        raise InputError(f"{path}: tensor '{name}' has shape {table.shape}, without a value. {REMEDY}")
    table = _folded(path, table, names, texts)
    if len(table) < texts.rows:
        raise InputError(f"{path} has {len(table)} token vectors, and the tokenizer ids up to {texts.rows}. {REMEDY}")
    known = isinstance(step, int | float) and not isinstance(step, bool) and 0 < step < np.inf
    if table.dtype != np.float16 or not known:  # another library stored the levels again without their step
        step = None
    levels = None if step is None else as_levels(table, step)
    if levels is None:
        _check_finite(path, name, table)
    elif (levels == NO_LEVEL).any():
        raise InputError(
            f"{path}: tensor '{name}' has values other than the levels of int8 in steps of {step}. {REMEDY}"
        )
    return table, step, levels


def _folded(path: Path, table: NDArray[Any], names: list[str], texts: _Texts) -> NDArray[Any]:
    """Expand the table to one row per token: in model2vec tokens may share rows, and each token has a factor.

    Factors of 1 are what this library writes, so that sentence-transformers computes in float32: the table stays.
    """
    if TORCH_TABLE in names:  # sentence-transformers then reads no other tensor
        return table
    if ROWS in names:
        places = read_tensors(path, {ROWS: (texts.rows if texts.exactly else None,)})[ROWS]
        if not np.issubdtype(places.dtype, np.integer):
            raise InputError(f"{path}: tensor '{ROWS}' is {places.dtype}, not of whole numbers. {REMEDY}")
        if places.min(initial=0) < 0 or places.max(initial=0) >= len(table):
            raise InputError(f"{path}: tensor '{ROWS}' points outside the {len(table)} rows of the table. {REMEDY}")
        table = table[places]
        if texts.vocabulary is not None:  # model2vec ignores unknown tokens, although their row has a vector
            table[UNKNOWN_ID] = 0
    if FACTORS in names:
        factors = read_tensors(path, {FACTORS: (len(table),)})[FACTORS]
        if not (factors == 1).all():
            table = table.astype(np.float32) * factors.astype(np.float32)[:, None]
    return table


def _read_layer(
    directory: Path, shapes: dict[str, tuple[int | None, ...]], activation: str, weights: Weights
) -> dict[str, NDArray[Any]]:
    """Read the tensors of a Dense module; raises InputError if its activation is not the student's."""
    config = read_object(directory / CONFIG)
    actual = str(config.get("activation_function")).rpartition(".")[2]
    if actual != activation:
        raise InputError(f"{directory / CONFIG}: the activation is {actual}, a student has {activation}. {REMEDY}")
    _refuse_other_input(directory / CONFIG, config)
    for name, value in (("use_residual", False), ("bias", "linear.bias" in shapes)):
        if config.get(name, value) is not value:
            raise InputError(f"{directory / CONFIG}: {name} is {config[name]!r}, a student has {value}. {REMEDY}")
    content = weights.read(directory / WEIGHTS)
    _tensor_names(directory / WEIGHTS)
    layer = map_tensors(directory / WEIGHTS, shapes, content)
    for name, array in layer.items():
        _check_finite(directory / WEIGHTS, name, array)
    return layer


def _read_linear(directory: Path, width: int, weights: Weights) -> tuple[Floats, Floats]:
    layer = _read_layer(directory, {"linear.weight": (None, width), "linear.bias": (None,)}, "Identity", weights)
    weight, bias = layer["linear.weight"], layer["linear.bias"]
    if len(weight) != len(bias):
        raise InputError(f"{directory}: the weight has {len(weight)} rows and the bias {len(bias)}. {REMEDY}")
    return weight, bias


def _read_hidden(directory: Path, denses: list[str], dimension: int, weights: Weights) -> tuple[Floats, Floats]:
    """Extract A and B of `StaticEncoder` from two Dense modules: [I, -I, A] and [I, -I, B], ReLU between."""
    widen = _read_layer(directory / denses[0], {"linear.weight": (None, dimension)}, "ReLU", weights)["linear.weight"]
    shape = (dimension, len(widen))
    narrow = _read_layer(directory / denses[1], {"linear.weight": shape}, "Identity", weights)["linear.weight"]
    same = np.eye(dimension, dtype=np.float32)
    identities = np.concatenate([same, -same])
    if not np.array_equal(widen[: 2 * dimension], identities) or not np.array_equal(
        narrow[:, : 2 * dimension], identities.T
    ):
        raise InputError(f"{directory}: its two Dense modules do not fit a student with an MLP head. {REMEDY}")
    return np.ascontiguousarray(widen[2 * dimension :].T), np.ascontiguousarray(narrow[:, 2 * dimension :].T)


def _read_lexical(
    directory: Path, described: Any, weights: Path, rows: int, content: bytes | None
) -> tuple[LexicalChannel, float]:
    """Read the lexical channel that config.json describes, and its weight."""
    path, found = directory / CONFIG, described if isinstance(described, dict) else {}
    dimension, weight = found.get("dimension"), found.get("weight")
    if not is_dimension(dimension):
        raise InputError(
            f"{path}: the dimension of lexical is {dimension!r}; it is a multiple of {PLACES} up to "
            f"{GREATEST_DIMENSION:,}. {REMEDY}"
        )
    if not is_weight(weight):
        raise InputError(
            f"{path}: the weight of lexical is {weight!r}; it is a number from 0 to {GREATEST_WEIGHT:,.0f}. {REMEDY}"
        )
    tensors = map_tensors(weights, {STEMS: (rows,), IDF: (rows,)}, content)
    stems, idf = tensors[STEMS], tensors[IDF]
    if stems.dtype != np.int32 or idf.dtype != np.float32 or not (idf >= 0).all() or not np.isfinite(idf).all():
        raise InputError(f"{weights}: '{STEMS}' are int32 and '{IDF}' float32 from 0, but here they are not. {REMEDY}")
    return LexicalChannel(stems, idf, dimension), float(weight)


def _check_finite(path: Path, name: str, array: NDArray[Any]) -> None:
    """Check that all values are finite: first their sum, which needs no copy, and only if that fails each value."""
    with np.errstate(invalid="ignore", over="ignore"):
        finite = array.dtype == np.int8 or np.isfinite(array.sum(dtype=np.float32)) or np.isfinite(array).all()
    if not finite:
        raise InputError(f"{path}: tensor '{name}' is not finite. {REMEDY}")
