"""Encode sentences as unit vectors with a static student, without a neural network library.

    "The storm, again" -> the storm, again     normalised: lower case, accents off
                       -> the | storm | again  whole words, pieces of others, and terms such as c++
                       -> 12 | 873 | 40        their rows in the table
                       -> sum of 3 rows        then unit length

The way from texts to vectors has one seam, `Core`, and two implementations (see `core`): a native one for tokenizers as
this library makes them, and a simple one for all others and where nothing could be compiled. This class is what a user
holds: the model, its options and its layers after the sum.

Unknown tokens have the zero vector and punctuation is unknown, so vectors equal those of sentence-transformers whether
these are counted or not. A vector at unit length is the same for the table and for a multiple of it. So a table of 255
levels (int8) is summed directly, in integers: exact.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sentence_distillery.encoder.core import Core, Counts, Form, Native, Simple, native_token_ids, native_vocabulary
from sentence_distillery.encoder.exchange.prompts import Prompts
from sentence_distillery.encoder.exchange.text_rules import TextRules, median_length
from sentence_distillery.encoder.files import as_levels, bytes_of
from sentence_distillery.encoder.interface import Interface, OnUnknown, checked_dimension
from sentence_distillery.encoder.lexical import LexicalChannel, checked_weight, resized
from sentence_distillery.encoder.native.vocabulary import Vocabulary
from sentence_distillery.encoder.precision import (
    CALIBRATED,
    PRECISIONS,
    Precision,
    check_precision,
    quantize_embeddings,
)
from sentence_distillery.encoder.progress import Progress
from sentence_distillery.encoder.reading import (
    RELEASED,
    Parts,
    default_weight,
    model_directory,
    read_model,
    read_tokenizer,
    signature,
    vocabulary_of,
)
from sentence_distillery.encoder.tensors import as_tensors
from sentence_distillery.encoder.texts import as_texts, batches, shown
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.encoder.writing import save_model
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.io.unicode import whole_surrogates
from sentence_distillery.runtime.machine import cores

VARIANT = "variant.json"  # why there is no such variant of the student, or null
BATCH = 32_768  # sentences that a thread takes at a time, at most
SMALLEST_BATCH = 2_048
STREAM_BATCH = 32_768  # texts of a stream that are held at a time
LAYER_BATCH = 1_024  # sentences that go through the layers at a time
LONG_TEXT = 10_000  # characters

Value = TypeVar("Value")

# A word of so many characters is unknown. The tokenizer takes seconds to say so of millions, so the rest is left out.
_LATIN = "[A-Za-z0-9À-ÖØ-öø-ɏА-яЀ-џ]"
_ENDLESS = re.compile(f"({_LATIN}{{1000}}){_LATIN}{{4000,}}")


def _read(directory: Path) -> "Derived":
    """Read a model, or share the data of another encoder of the same files."""
    files = signature(directory)
    derived = _LOADED.get(files)
    if derived is None:
        derived = Derived(read_model(directory))
        _LOADED[files] = derived
    return derived


class Derived:
    """The data that encoders of the same files share: the parts read, and values computed from them."""

    def __init__(self, parts: Parts | None = None) -> None:
        self.parts = parts
        self.values: dict[str, Any] = {} if parts is None or parts.levels is None else {"_levels": parts.levels}


_LOADED: WeakValueDictionary[tuple[object, ...], Derived] = WeakValueDictionary()  # by the signature of the files


class Shared(Generic[Value]):
    """A property that is computed once for all encoders of the same files."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, encoder: None, owner: type) -> Self: ...

    @overload
    def __get__(self, encoder: "StaticEncoder", owner: type) -> Value: ...

    def __get__(self, encoder: "StaticEncoder | None", owner: type) -> Value | Self:
        if encoder is None:
            return self
        values = encoder.derived.values
        if self.compute.__name__ not in values:
            values[self.compute.__name__] = self.compute(encoder)
        value: Value = values[self.compute.__name__]
        return value


@dataclass(frozen=True)
class _Settings:
    """Settings of encoding: unit length, an error for a text without a known word, a prompt, and the most tokens."""

    normalize: bool
    on_unknown: OnUnknown
    prompt: str = ""
    max_length: int | None = None


class StaticEncoder(Interface):
    """Encode texts as the mean of their token vectors, scaled to unit length.

    The mean may be followed by a hidden layer (kind: deep) or a linear one (kind: paper), or have a lexical channel
    beside it (kind: lexical). Make an encoder with `from_pretrained`, or with `load` of the package. `encode` may run
    in several threads at a time.

    Args:
        tokenizer: A tokenizer, or its file or the file's content, read when a sentence needs it.
        stored: (tokens, dimension) float32, float16 or int8; row 0 is the unknown token's and zero. float16 may hold
            multiples k of `step`, -127 <= k <= 127.
        linear: A weight (output, dimension) and a bias (output,), float32.
        step: The step between the levels of float16, above 0.
        vocabulary: What the native core looks up; by default it is read from the tokenizer when it is needed.
        hidden: A (dimension, units) and B (units, dimension), float32, of s + relu(s A) B for a mean s.
        truncate_dim: The dimensions that are kept, the first ones, from 1 to the model's; None keeps all.
        made_from: What is known of the model's origin; it goes to config.json when the model is saved.
        lexical: A lexical channel for the same tokens, whose dimensions follow those of the table (kind: lexical).
        lexical_weight: The length of the channel relative to the rest, from 0 to 1,000; 0 leaves it out.
        derived: What encoders of the same parts share; by default this one shares nothing.
        rules: How texts become tokens in a model of another library; None is as in this library's own models.
        prompts: Texts that are put before a text; by default none.
        card: The model card, the content of README.md; None takes that of the directory it was loaded from.

    Example:
        >>> from sentence_distillery import load
        >>> load("released")
        StaticEncoder(dimension=256, tokens=54_438, megabytes=13.9)

    Reference:
        Iyyer, Manjunatha, Boyd-Graber and Daumé III 2015, Deep Unordered Composition Rivals Syntactic Methods for Text
        Classification, https://aclanthology.org/P15-1162/
    """

    def __init__(
        self,
        tokenizer: Tokenizer | Path | bytes,
        stored: NDArray[Any],
        linear: tuple[Floats, Floats] | None = None,
        step: float | None = None,
        vocabulary: Vocabulary | None = None,
        hidden: tuple[Floats, Floats] | None = None,
        truncate_dim: int | None = None,
        made_from: Mapping[str, object] | None = None,
        derived: Derived | None = None,
        lexical: LexicalChannel | None = None,
        lexical_weight: float = 0.0,
        rules: TextRules | None = None,
        prompts: Prompts | None = None,
        card: str | None = None,
    ) -> None:
        self.derived = derived or Derived()
        self._tokenizer = tokenizer
        self.stored = stored
        self.linear = linear
        self.hidden = hidden
        self.step = step
        self._given_vocabulary = vocabulary
        self.lexical = lexical
        self.lexical_weight = checked_weight(lexical_weight, lexical)
        self.truncate_dim = checked_dimension(truncate_dim, self.full_dimension)
        self.made_from: Mapping[str, object] = made_from or {}
        self.rules = rules
        self._prompts = prompts or Prompts()
        self._card = card

    @classmethod
    def from_pretrained(
        cls,
        directory: Path | str = RELEASED,
        *,
        truncate_dim: int | None = None,
        lexical_weight: float | None = None,
        lexical_dimension: int | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a model that this library, sentence-transformers or model2vec saved.

        A table below 64 MB is read and compared with its SHA-256. A larger one is memory-mapped: its pages are read
        when they are needed, and all processes share them. Encoders of the same files share their table.

        Args:
            directory: The model's directory, or "released" for the one that comes with the library; "released-search"
                is the same with its lexical channel; or the id of a model on a hub, such as "minishlab/potion-base-8M".
            truncate_dim: The dimensions to keep, the first ones, from 1 to the model's. By default what the model was
                saved with, which is all of them for most. It cuts whole blocks off a lexical channel; for a smaller
                channel give `lexical_dimension`.
            lexical_weight: The length of the lexical channel relative to the rest, from 0 to 1,000: the greater, the
                more shared words count; 0 leaves the channel out. By default what the model was saved with.
            lexical_dimension: The numbers of the channel, a multiple of 8 up to 65,536: the more, the better it tells
                words apart. By default what the model was saved with.
            revision: The commit, branch or tag of a hub id; by default its main branch.
            token: A token of the hub, for a private model; by default the one that `hf auth login` keeps.

        Returns:
            The encoder. A model of another library has the vectors that it has there, at unit length. It is slower if
            its tokenizer is not like this library's own, since `tokenizers` then cuts each text.

        Raises:
            InputError: If the directory or a file is missing, broken, not finite or of the wrong shape, if it holds
                another kind of model or something that this library does not compute, or if a hub cannot be reached and
                its cache has no such model. The message has the path and what to do.
            ValueError: If `truncate_dim`, `lexical_weight` or `lexical_dimension` is out of its range, or the model has
                no lexical channel.

        Example:
            >>> StaticEncoder.from_pretrained("released", truncate_dim=64).encode("The storm closed the port.").shape
            (64,)
        """
        derived = _read(model_directory(directory, revision, token))
        parts = derived.parts
        assert parts is not None
        weight = default_weight(directory, parts) if lexical_weight is None else lexical_weight
        lexical = parts.lexical if lexical_dimension is None else resized(parts.lexical, lexical_dimension, weight)
        encoder = cls(
            parts.tokenizer,
            parts.stored,
            parts.linear,
            parts.step,
            parts.vocabulary,
            parts.hidden,
            truncate_dim,
            parts.made_from,
            derived,
            lexical,
            weight,
            parts.rules,
            parts.prompts,
        )

        # A cut that the files name holds unless the caller names one, as in sentence-transformers.
        if truncate_dim is None and parts.truncate_dim is not None and parts.truncate_dim < encoder.full_dimension:
            encoder.truncate_dim = parts.truncate_dim
        return encoder

    @classmethod
    def load(
        cls,
        directory: Path | str = RELEASED,
        *,
        truncate_dim: int | None = None,
        lexical_weight: float | None = None,
        lexical_dimension: int | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a model: `from_pretrained` under a shorter name.

        Args:
            directory: As for `from_pretrained`.
            truncate_dim: As for `from_pretrained`.
            lexical_weight: As for `from_pretrained`.
            lexical_dimension: As for `from_pretrained`.
            revision: As for `from_pretrained`.
            token: As for `from_pretrained`.

        Returns:
            The encoder.

        Raises:
            InputError: As `from_pretrained` does.

        Example:
            >>> StaticEncoder.load("released").kind
            'static'
        """
        return cls.from_pretrained(
            directory,
            truncate_dim=truncate_dim,
            lexical_weight=lexical_weight,
            lexical_dimension=lexical_dimension,
            revision=revision,
            token=token,
        )

    def save_pretrained(self, directory: Path | str) -> None:
        """Write the model so that this library, sentence-transformers and model2vec load it.

        The directory is written whole or not at all, and replaces a model that was there. A model of kind static or
        lexical that cuts its table to `truncate_dim` is saved with these dimensions alone. model2vec does not support a
        layer after the mean, and both others load a model without its lexical channel. A model of another library keeps
        its tokens and prompts. The model card is written if `compress` made the model.

        Args:
            directory: A new or empty directory, or one of a model.

        Raises:
            InputError: If the directory holds anything but a model, or cannot be written.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as directory:
            ...     StaticEncoder.from_pretrained("released", truncate_dim=32).save_pretrained(directory)
            ...     StaticEncoder.from_pretrained(directory)
            StaticEncoder(dimension=32, tokens=54_438, megabytes=1.7)
        """
        save_model(self, Path(directory), self._card)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        commit_message: str | None = None,
        create_pr: bool = False,
    ) -> str:
        """Save the model, with its card if it has one, and upload it to a hub as one commit.

        Args:
            repo_id: The model's name on the hub, such as "me/my-encoder". It is created if it does not exist; files
                there that the model does not have stay.
            private: Whether a new model is private; None leaves that to the hub's settings.
            token: A token that may write; by default the one that `hf auth login` keeps.
            revision: The branch to write to; by default the main one.
            commit_message: The message of the commit; by default one that names this library.
            create_pr: Whether the commit becomes a pull request.

        Returns:
            The address of the commit.

        Raises:
            InputError: If the hub cannot be reached or refuses; the message has its reason.

        Example:
            >>> StaticEncoder.from_pretrained("released").push_to_hub("not a name")
            Traceback (most recent call last):
            sentence_distillery.io.errors.InputError: 'not a name' is not uploaded: ...
        """
        from tempfile import TemporaryDirectory  # few models are uploaded

        from sentence_distillery.encoder.exchange.hub import upload

        with TemporaryDirectory() as temporary:
            directory = Path(temporary) / "model"
            save_model(self, directory, self.card)
            return upload(
                directory,
                repo_id,
                private=private,
                token=token,
                revision=revision,
                commit_message=commit_message,
                create_pr=create_pr,
            )

    def save_onnx(self, directory: Path | str) -> None:
        """Write the model as ONNX, for onnxruntime and for transformers.js, with the vectors of `encode`.

        The file onnx/model.onnx takes `input_ids` and `attention_mask` and returns `sentence_embedding`. The table
        keeps its precision. A model that cuts to `truncate_dim` is written so. It needs the package `onnx`: run
        `pip install 'sentence-distillery[onnx]'`.

        Args:
            directory: A new or empty directory, or one of an ONNX model, which is replaced.

        Raises:
            InputError: If the model is of kind paper, has a lexical channel that `truncate_dim` does not cut off, or
                has more than 2.1 GB, or if the directory holds anything else or cannot be written.
            ModuleNotFoundError: If the package `onnx` is not installed.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as directory:
            ...     StaticEncoder.from_pretrained("released").save_onnx(directory)
            ...     (Path(directory) / "onnx" / "model.onnx").stat().st_size // 1_000_000
            13
        """
        from sentence_distillery.encoder.onnx_files import write_onnx  # the core does without it

        write_onnx(self, Path(directory))

    def __repr__(self) -> str:
        layers = [*(self.linear or ()), *(self.hidden or ())]
        if self._channel is not None:
            layers += [self._channel.stems, self._channel.idf]
        megabytes = bytes_of(self.stored, *layers) / 1e6
        return f"StaticEncoder(dimension={self.dimension}, tokens={len(self.stored):_}, megabytes={megabytes:.1f})"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the stored parts without anything derived from them; another machine may not have the file."""
        content = self._tokenizer.read_bytes() if isinstance(self._tokenizer, Path) else self._tokenizer
        return {
            "tokenizer": content,
            "stored": self.stored,
            "linear": self.linear,
            "step": self.step,
            "hidden": self.hidden,
            "truncate_dim": self.truncate_dim,
            "made_from": dict(self.made_from),
            "lexical": self.lexical,
            "lexical_weight": self.lexical_weight,
            "rules": self.rules,
            "prompts": self._prompts,
            "card": self.card,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        StaticEncoder.__init__(self, **state)

    def _sharing_arrays(self) -> Self:
        parts = (self._tokenizer, self.stored, self.linear, self.step, self._given_vocabulary, self.hidden)
        origin = (self.truncate_dim, self.made_from, self.derived)
        return type(self)(*parts, *origin, self.lexical, self.lexical_weight, self.rules, self._prompts, self._card)

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts by their names, as in sentence-transformers; "query" and "document" are always there."""
        return dict(self._prompts.named)

    @property
    def default_prompt_name(self) -> str | None:
        """The name of the prompt that `encode` puts before each text; None puts none."""
        return self._prompts.default

    @property
    def card(self) -> str | None:
        """The model card: the content of README.md, or None."""
        if self._card is not None or self.derived.parts is None:
            return self._card
        return self.derived.parts.card

    @property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, which does not count; None if unknown tokens count."""
        return UNKNOWN_ID if self.rules is None else self.rules.left_out

    def known(self, tokens: TokenIds) -> TokenIds:
        """Leave out the unknown tokens of `token_ids`.

        Args:
            tokens: What `token_ids` returns.

        Returns:
            The tokens that count; all, if unknown tokens count in the library that made the model.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> len(encoder.known(encoder.token_ids(["The port, 𓀀"])).ids)
            2
        """
        return tokens.without(UNKNOWN_ID) if self.rules is None else tokens

    @Shared
    def _token_length(self) -> int:
        """The median number of characters in a token."""
        return median_length(self.tokenizer)

    @Shared
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of `tokenizers`."""
        return read_tokenizer(self._tokenizer) if isinstance(self._tokenizer, Path | bytes) else self._tokenizer

    @Shared
    def table(self) -> Floats:
        """(tokens, dimension) float32."""
        return self.stored.astype(np.float32, copy=False)

    @Shared
    def _levels(self) -> NDArray[np.int8] | None:
        """The table in its levels if it has no more than 255."""
        if self.stored.dtype == np.int8:
            return self.stored
        return None if self.step is None else as_levels(self.stored, self.step)

    @property
    def _summed(self) -> NDArray[Any]:
        return self.stored if self._levels is None else self._levels

    @Shared
    def _vocabulary(self) -> Any:
        """The vocabulary in the native core, None if texts go the simple settings."""
        if self.linear is not None or self.rules is not None:
            return None
        return native_vocabulary(self._given_vocabulary or self._read_vocabulary())

    def _read_vocabulary(self) -> Vocabulary | None:
        """Read the vocabulary from the tokenizer, None if it is of another kind."""
        try:
            if isinstance(self._tokenizer, Tokenizer):
                return vocabulary_of(json.loads(self._tokenizer.to_str()))
            content = self._tokenizer.read_bytes() if isinstance(self._tokenizer, Path) else self._tokenizer
            return vocabulary_of(json.loads(content))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # an error of the file is raised when `tokenizer` reads it

    @cached_property
    def _simple(self) -> Simple:
        """The simple way from tokens to sums, and on to vectors if no layer follows."""
        unit = 1.0 if self.step is None else self.step
        return Simple(self._known_ids, self._summed, unit, self._channel, self.lexical_weight)

    @cached_property
    def _core(self) -> Core:
        """The way from texts to vectors, or to their sums if a layer follows."""
        if self._vocabulary is None:
            return self._simple
        unit = 1.0 if self.step is None else self.step
        return Native(self._vocabulary, self._simple, self._summed, unit, self._channel, self.lexical_weight)

    @property
    def kind(self) -> str:
        """What follows the mean: nothing (static), a hidden layer (deep), a linear one (paper), a channel (lexical)."""
        if self.linear is not None:
            return "paper"
        if self.hidden is not None:
            return "deep"
        return "static" if self._channel is None else "lexical"

    @property
    def _channel(self) -> LexicalChannel | None:
        """The lexical channel, unless it is left out."""
        return self.lexical if self.lexical_weight else None

    @property
    def token_dimension(self) -> int:
        """Numbers in the vector of a token."""
        return int(self.stored.shape[1])

    @property
    def full_dimension(self) -> int:
        """Numbers in a vector that is not cut."""
        if self.linear is not None:
            return int(self.linear[0].shape[0])
        return self.token_dimension + (0 if self._channel is None else self._channel.dimension)

    @property
    def dimension(self) -> int:
        """Numbers in a vector, after `truncate_dim`."""
        return self.full_dimension if self.truncate_dim is None else self.truncate_dim

    @overload
    def encode(
        self,
        texts: str | Iterable[str],
        *,
        normalize_embeddings: bool = ...,
        truncate_dim: int | None = ...,
        batch_size: int | None = ...,
        show_progress_bar: bool | None = ...,
        convert_to_numpy: Literal[True] = ...,
        convert_to_tensor: Literal[False] = ...,
        precision: Literal["float32"] = ...,
        on_unknown: OnUnknown = ...,
        prompt: str | None = ...,
        prompt_name: str | None = ...,
        max_length: int | None = ...,
    ) -> Floats: ...

    @overload
    def encode(
        self,
        texts: str | Iterable[str],
        *,
        normalize_embeddings: bool = ...,
        truncate_dim: int | None = ...,
        batch_size: int | None = ...,
        show_progress_bar: bool | None = ...,
        convert_to_numpy: bool = ...,
        convert_to_tensor: bool = ...,
        precision: Precision = ...,
        on_unknown: OnUnknown = ...,
        prompt: str | None = ...,
        prompt_name: str | None = ...,
        max_length: int | None = ...,
    ) -> Any: ...

    def encode(
        self,
        texts: str | Iterable[str],
        *,
        normalize_embeddings: bool = True,
        truncate_dim: int | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        precision: Precision = "float32",
        on_unknown: OnUnknown = "zero",
        prompt: str | None = None,
        prompt_name: str | None = None,
        max_length: int | None = None,
    ) -> Any:
        """Turn texts into vectors. Texts of any length are read to their end.

        Args:
            texts: One str, or any iterable of str: a list, a generator, an array, a column of a table.
            normalize_embeddings: Whether vectors have unit length, so that their products are cosines. If not, a vector
                is the mean of its text's known tokens (after the layers of the model, if it has any), as model2vec
                gives it with normalize=False; a lexical channel follows, `lexical_weight` times as long. A model of
                another library has its means there. For this library's own models sentence-transformers counts
                punctuation and unknown tokens as well, so its means are shorter, in the same direction. For kind paper
                unknown tokens count here, too.
            truncate_dim: The dimensions to keep, the first ones, from 1 to the model's, before vectors are brought to
                unit length; as sentence-transformers with normalize_embeddings=True. By default the encoder's own
                `truncate_dim`.
            batch_size: Texts that a thread takes at a time, from 1; by default 2,048 to 32,768. It changes no vector.
            show_progress_bar: Whether to count texts on the standard error; None does not.
            convert_to_numpy: Whether to return an array; if not, a list of torch tensors.
            convert_to_tensor: Whether to return one torch tensor, whatever `convert_to_numpy` says.
            precision: "float32"; "int8" or "uint8", in buckets between the least and greatest value of each dimension
                among these texts, so that only vectors of one call can be compared (see `quantize_embeddings` for
                ranges of your own); "binary" or "ubinary", a bit for each dimension, which need no ranges.
            on_unknown: For a text without a known word: "zero" gives a zero vector (for kind paper the direction of the
                bias), "error" a ValueError.
            prompt: What is put before each text, as in sentence-transformers; "" puts nothing. By default the model's
                own default prompt, which this library's models do not have.
            prompt_name: The same by its name in `prompts`.
            max_length: The most tokens of a text that are read, from 1, unknown ones and punctuation included, as in
                model2vec: so many times the median length of a token in characters, and of these so many tokens. By
                default what the model was saved with; this library's models read all.

        Returns:
            (texts, dimension) float32, or (dimension,) for one str. int8 or uint8 for other precisions; "binary" and
            "ubinary" have an eighth of the dimensions, rounded up.

        Raises:
            TypeError: If anything other than texts is given; the message has its index and its value.
            ValueError: If an option is out of its range, if int8 or uint8 are asked for a single text, or if a text has
                no known word and `on_unknown` is "error".
            ImportError: If tensors are asked for and torch is not installed.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> encoder.encode("The storm closed the port.").shape
            (256,)
            >>> encoder.encode(["The storm closed the port.", "?!"], truncate_dim=64).any(axis=1).tolist()
            [True, False]
            >>> encoder.encode(["The storm closed the port."], precision="ubinary").shape
            (1, 32)
        """
        check_precision(precision)
        _check_count("batch_size", batch_size)
        one = isinstance(texts, str)
        listed = [texts] if isinstance(texts, str) else as_texts(texts)
        settings = self._settings(normalize_embeddings, on_unknown, prompt, prompt_name, max_length)
        progress = Progress(len(listed), shown=True) if show_progress_bar else None
        vectors: NDArray[Any] = self._vectors(listed, settings, truncate_dim, batch_size, progress)
        vectors = quantize_embeddings(vectors, precision)
        if one:
            vectors = vectors[0]
        return vectors if convert_to_numpy and not convert_to_tensor else as_tensors(vectors, convert_to_tensor)

    def encode_stream(
        self,
        texts: Iterable[str],
        batch: int = STREAM_BATCH,
        *,
        normalize_embeddings: bool = True,
        truncate_dim: int | None = None,
        precision: Precision = "float32",
        on_unknown: OnUnknown = "zero",
        prompt: str | None = None,
        prompt_name: str | None = None,
        max_length: int | None = None,
    ) -> Iterator[NDArray[Any]]:
        """Turn a stream of texts into arrays, a batch at a time, in memory that does not grow.

        Args:
            texts: Any iterable of str, read once and only as far as arrays are taken.
            batch: Texts in an array, at least 1.
            normalize_embeddings: As for `encode`.
            truncate_dim: As for `encode`.
            precision: "float32", "binary" or "ubinary"; int8 and uint8 would need ranges of the whole stream.
            on_unknown: As for `encode`.
            prompt: As for `encode`.
            prompt_name: As for `encode`.
            max_length: As for `encode`.

        Returns:
            An iterator of (batch, dimension) float32, the last array shorter; the same rows as `encode` gives.

        Raises:
            TypeError: If anything other than texts is given; the index counts from the start of the stream.
            ValueError: As `encode` does.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> lines = (f"Storm {number} closed the port." for number in range(5))
            >>> [vectors.shape for vectors in encoder.encode_stream(lines, batch=2)]
            [(2, 256), (2, 256), (1, 256)]
        """
        check_precision(precision, tuple(name for name in PRECISIONS if name not in CALIBRATED))
        _check_count("batch", batch)
        settings = self._settings(normalize_embeddings, on_unknown, prompt, prompt_name, max_length)
        if isinstance(texts, str):
            raise TypeError("encode_stream takes an iterable of texts, not one str; encode takes both.")
        return (
            quantize_embeddings(self._vectors(part, settings, truncate_dim, first=first), precision)
            for first, part in batches(texts, batch)
        )

    def _settings(
        self,
        normalize: bool,
        on_unknown: OnUnknown,
        prompt: str | None,
        prompt_name: str | None,
        max_length: int | None,
    ) -> _Settings:
        _check_count("max_length", max_length)
        return _Settings(normalize, _checked(on_unknown), self._prompts.chosen(prompt, prompt_name), max_length)

    @overload
    def encode_as_sequence(  # type: ignore[overload-overlap]
        self, texts: str, *, max_length: int | None = ...
    ) -> Floats: ...

    @overload
    def encode_as_sequence(self, texts: Iterable[str], *, max_length: int | None = ...) -> list[Floats]: ...

    def encode_as_sequence(self, texts: str | Iterable[str], *, max_length: int | None = None) -> Floats | list[Floats]:
        """Turn texts into the vectors of their tokens, before these are averaged, as model2vec does.

        Args:
            texts: One str, or any iterable of str. No prompt is put before them.
            max_length: As for `encode`; but None reads all, whatever the model was saved with, as in model2vec.

        Returns:
            (tokens, dimension of the table) float32 for each text, in the order of its known tokens, cut to
            `truncate_dim` if that is smaller. Neither layers after the mean nor a lexical channel are in them.

        Raises:
            TypeError: As `encode` does.
            ValueError: If `max_length` is out of its range.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> [vectors.shape for vectors in encoder.encode_as_sequence(["The storm closed the port.", "?!"])]
            [(5, 256), (0, 256)]
        """
        _check_count("max_length", max_length)
        listed = [texts] if isinstance(texts, str) else as_texts(texts)
        tokens = self.known(self._token_ids(listed, self._rules(max_length, whole=True)))
        width = min(self.truncate_dim or self.token_dimension, self.token_dimension)
        vectors = self.table[tokens.ids, :width]
        cut = np.split(vectors, tokens.offsets[1:-1]) if len(tokens) else []
        return cut[0] if isinstance(texts, str) else cut

    def tokenize(self, texts: str | Iterable[str]) -> dict[str, NDArray[np.int64]]:
        """Cut texts into tokens as sentence-transformers does for the same model.

        Args:
            texts: One str, or any iterable of str.

        Returns:
            "input_ids", (tokens,) int64, the tokens of all texts end to end, 0 for an unknown one or punctuation, and
            "offsets", (texts,) int64, where each text begins among them.

        Raises:
            TypeError: As `encode` does.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> tokens = encoder.tokenize(["The port", "is closed."])
            >>> [encoder.tokenizer.id_to_token(token) for token in tokens["input_ids"]]
            ['the', 'port', 'is', 'closed', '[UNK]']
            >>> tokens["offsets"].tolist()
            [0, 2]
        """
        listed = [texts] if isinstance(texts, str) else as_texts(texts)
        encodings = self.tokenizer.encode_batch_fast(_whole(listed), add_special_tokens=False)
        tokens = TokenIds.from_lists(encoding.ids for encoding in encodings)
        return {"input_ids": tokens.ids.astype(np.int64), "offsets": tokens.offsets[:-1]}

    def encode_counting(self, texts: list[str]) -> tuple[Floats, Counts]:
        """Turn texts into vectors, and count the known tokens of each.

        Args:
            texts: A list of str.

        Returns:
            (texts, dimension) float32 as `encode` gives them, and (texts,) int32.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> encoder.encode_counting(["The storm closed the port.", "?!"])[1].tolist()
            [5, 0]
        """
        counts = np.empty(len(texts), np.int32)
        return self._vectors(texts, self._settings(True, "zero", None, None, None), counts=counts), counts

    def _vectors(
        self,
        texts: list[str],
        settings: _Settings,
        truncate_dim: int | None = None,
        batch_size: int | None = None,
        progress: Progress | None = None,
        first: int = 0,
        counts: Counts | None = None,
    ) -> Floats:
        """Encode to (texts, dimension) float32, if many in threads; `first` is the index of the first text."""
        cut = checked_dimension(truncate_dim, self.full_dimension)
        vectors = np.empty((len(texts), self.dimension if cut is None else cut), dtype=np.float32)
        if counts is None and settings.on_unknown == "error":
            counts = np.empty(len(texts), np.int32)
        if len(texts) <= (batch_size or SMALLEST_BATCH):  # without asking the system for its cores
            self._fill(texts, vectors, settings, counts)
            if progress is not None:
                progress.advance(len(texts))
        else:
            self._fill_in_threads(texts, vectors, settings, counts, batch_size, progress)
        if counts is not None and settings.on_unknown == "error":
            _refuse_unknown(texts, counts, first)
        return vectors

    def _fill_in_threads(
        self,
        texts: list[str],
        vectors: Floats,
        settings: _Settings,
        counts: Counts | None,
        batch_size: int | None,
        progress: Progress | None,
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor  # a few texts do without this import

        threads = cores()
        rounds = max(1, -(-len(texts) // (threads * BATCH)))  # equal batches, so that all threads finish together
        size = batch_size or max(SMALLEST_BATCH, -(-len(texts) // (threads * rounds)))
        spans = [slice(start, start + size) for start in range(0, len(texts), size)]
        with self._one_thread_each(), ThreadPoolExecutor(threads) as pool:
            jobs = [
                pool.submit(self._fill, texts[s], vectors[s], settings, None if counts is None else counts[s])
                for s in spans
            ]
            for job, span in zip(jobs, spans, strict=True):
                job.result()
                if progress is not None:
                    progress.advance(len(texts[span]))

    def _one_thread_each(self) -> AbstractContextManager[object]:
        """Keep BLAS, which computes the layers, from starting threads of its own: they would wait for each other."""
        if self.linear is None and self.hidden is None:
            return nullcontext()
        try:
            from threadpoolctl import threadpool_limits
        except ModuleNotFoundError:  # it comes with what trains such models; without it, this is only slower
            return nullcontext()
        limits: AbstractContextManager[object] = threadpool_limits(1, "blas")
        return limits

    def _fill(self, texts: list[str], vectors: Floats, settings: _Settings, counts: Counts | None) -> None:
        read = [settings.prompt + text for text in texts] if settings.prompt else texts
        if self.linear is None and settings.max_length is None:
            self._encode(read, vectors, settings.normalize, counts)
            return
        tokens = self._token_ids(read, self._rules(settings.max_length))
        self.embed(tokens, vectors, settings.normalize)
        if counts is not None:
            counts[:] = self.known(tokens).lengths

    def _encode(self, texts: list[str], vectors: Floats, normalize: bool, counts: Counts | None) -> None:
        """Write the vectors of texts, after a hidden layer if there is one."""
        if self.hidden is None:
            self._core.encode(texts, vectors, Form.UNIT if normalize else Form.MEAN, counts)
            return
        for start in range(0, len(texts), LAYER_BATCH):
            part = slice(start, min(start + LAYER_BATCH, len(texts)))
            sums = np.empty((part.stop - start, self.token_dimension), np.float32)
            counted = None if counts is None else counts[part]
            self._core.encode(texts[part], sums, Form.SUM if normalize else Form.MEAN, counted)
            _write(self._deepened(sums), vectors[part], normalize)

    def embed(self, tokens: TokenIds, out: Floats | None = None, normalize: bool = True) -> Floats:
        """Turn token ids into vectors, in the simple way; `encode` is faster.

        Args:
            tokens: The token ids of the sentences, each from 0 to tokens - 1.
            out: (sentences, dimensions) float32 to write to; it may have fewer dimensions than the encoder.
            normalize: Whether vectors have unit length; if not, they are as `encode` says.

        Returns:
            `out`, or a new array (sentences, dimension) float32; a sentence without known tokens is a zero row.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> encoder.embed(TokenIds.from_lists([[12, 40], []])).any(axis=1).tolist()
            [True, False]
        """
        vectors = np.empty((len(tokens), self.dimension), dtype=np.float32) if out is None else out
        if self.linear is None and self.hidden is None:
            self._simple.embed(self.known(tokens), vectors, Form.UNIT if normalize else Form.MEAN)
            return vectors
        for start in range(0, len(tokens), LAYER_BATCH):
            part = slice(start, min(start + LAYER_BATCH, len(tokens)))
            _write(self._layered(tokens.span(part.start, part.stop), normalize), vectors[part], normalize)
        return vectors

    def _layered(self, tokens: TokenIds, normalize: bool) -> Floats:
        """Compute vectors after a layer: means, or numbers of the same direction if they are brought to unit length."""
        if self.linear is not None:
            return self.pool(tokens)
        sums = np.empty((len(tokens), self.token_dimension), np.float32)
        self._simple.embed(self.known(tokens), sums, Form.SUM if normalize else Form.MEAN)
        return self._deepened(sums)

    def pool(self, tokens: TokenIds, weights: Floats | None = None) -> Floats:
        """Average token vectors, each times its token's weight; at full dimension and not at unit length.

        A lexical channel follows, as long as its weight says. It does not know the weights of tokens.

        A linear layer with a bias follows in paper 1's student, trained on plain means. So there the weights of a
        sentence are scaled to sum to its number of tokens, or the bias would count more the smaller they are.

        Args:
            tokens: The token ids of the sentences, each from 0 to tokens - 1; all count, unknown ones as zero vectors.
            weights: (tokens of the vocabulary,) float32 >= 0, 1 by default.

        Returns:
            (sentences, full dimension) float32, after the layers of the model.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> encoder.pool(encoder.token_ids(["The port", "closed"])).shape
            (2, 256)
        """
        means = tokens.means(self.table, weights)
        if self.linear is None:
            return self._completed(means, tokens)
        if weights is not None:
            means *= _levels(tokens, weights)
        return means @ self.linear[0].T + self.linear[1]

    def _completed(self, sums: Floats, tokens: TokenIds) -> Floats:
        """Apply the hidden layer, or append the lexical channel."""
        if self._channel is None:
            return self._deepened(sums)
        lengths = np.sqrt(np.einsum("nd,nd->n", sums, sums))
        channel = self._channel.vectors(tokens) * (np.float32(self.lexical_weight) * lengths)[:, None]
        return np.concatenate([sums, channel], axis=1)

    def _deepened(self, sums: Floats) -> Floats:
        """Apply the hidden layer, if there is one; it has no bias, so a multiple of a sum stays a multiple."""
        if self.hidden is None:
            return sums
        widen, narrow = self.hidden
        deepened: Floats = sums + np.maximum(sums @ widen, 0.0) @ narrow
        return deepened

    def token_ids(self, sentences: list[str]) -> TokenIds:
        """Look up the words of each sentence, the way `encode` does; `tokenize` is slower and keeps punctuation.

        Args:
            sentences: A list of str.

        Returns:
            The ids of their tokens, 0 for an unknown one; punctuation may be left out or unknown.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> tokens = encoder.token_ids(["The port, closed."]).without(0)
            >>> [encoder.tokenizer.id_to_token(token) for token in tokens.ids]
            ['the', 'port', 'closed']
        """
        return self._token_ids(sentences, self.rules)

    def _rules(self, max_length: int | None, whole: bool = False) -> TextRules | None:
        """Return the model's rules, with another length; `whole` reads all if none is given."""
        if max_length is None and not (whole and self.rules is not None):
            return self.rules
        return TextRules(self.unknown_id if self.linear is None or self.rules else None, max_length)

    def _token_ids(self, sentences: list[str], rules: TextRules | None) -> TokenIds:
        if not sentences:
            return TokenIds.from_lists([])
        if rules is not None:
            characters = 0 if rules.max_length is None else self._token_length
            return rules.token_ids(self.tokenizer, _whole(sentences), characters)
        if self._vocabulary is None:
            return self._simple_ids(sentences)
        return native_token_ids(self._vocabulary, sentences, self._simple_ids)

    def _simple_ids(self, sentences: list[str]) -> TokenIds:
        """Cut sentences by the tokenizer; 0 for an unknown token or punctuation."""
        read = [_ENDLESS.sub(r"\1", text) if len(text) > LONG_TEXT else text for text in _whole(sentences)]
        return TextRules().token_ids(self.tokenizer, read, 0)

    def _known_ids(self, sentences: list[str]) -> TokenIds:
        """Cut sentences by the tokenizer, and keep the tokens that count."""
        return self.known(self._simple_ids(sentences) if self.rules is None else self._token_ids(sentences, self.rules))


def _write(vectors: Floats, out: Floats, normalize: bool) -> None:
    """Write the first numbers of vectors, at unit length or as they are."""
    kept = vectors[:, : out.shape[1]]
    if normalize:
        unit_rows(kept, out=out)
    else:
        out[:] = kept


def _levels(tokens: TokenIds, weights: Floats) -> Floats:
    """Compute the factor with which the weights of a sentence sum to the number of its tokens, (sentences, 1) float32.

    Those of weight 0 are unknown, and stay in the number by which the mean is divided, as in training.
    """
    sums = tokens.sums(np.stack([weights, weights > 0], axis=1).astype(np.float32))
    return np.asarray(sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], np.float32(1)), np.float32)


def _whole(sentences: list[str]) -> list[str]:
    """Replace each lone surrogate, which UTF-8 cannot hold, by U+FFFD, which is not part of any word."""
    return [whole_surrogates(sentence) for sentence in sentences]


def _check_count(name: str, count: int | None) -> None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1):
        raise ValueError(f"{name} is {count!r}; it is a whole number from 1.")


def _checked(on_unknown: OnUnknown) -> OnUnknown:
    if on_unknown not in ("zero", "error"):
        raise ValueError(f"on_unknown is {on_unknown!r}; it is 'zero' or 'error'.")
    return on_unknown


def _refuse_unknown(texts: list[str], counts: Counts, first: int) -> None:
    """Raise ValueError for the first text of which no token is known; `counts` has the number of known ones."""
    rows = np.flatnonzero(counts == 0)
    if len(rows):
        row = int(rows[0])
        raise ValueError(
            f"texts[{first + row}] has no word that the model knows: {shown(texts[row])}. Leave it out, or use "
            'on_unknown="zero" for a zero vector.'
        )
