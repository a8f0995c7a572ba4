"""Encode sentences as unit vectors with a static student, without a neural network library.

    "The storm, again" -> the storm, again     normalised: lower case, accents off
                       -> the | storm | again  whole words, pieces of others, and terms such as c++
                       -> 12 | 873 | 40        their rows in the table
                       -> sum of 3 rows        then unit length

There are two ways from texts to vectors (see `core`): a native one for tokenizers as this library makes them, and a
simple one for all others and where nothing could be compiled. This class is what a user holds: a model, which encoders
share, and two options.

Unknown tokens have the zero vector and punctuation is unknown, so vectors equal those of sentence-transformers whether
these are counted or not. A vector at unit length is the same for the table and for a multiple of it. So a table of 255
levels (int8) is summed directly, in integers: exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.adapters import (
    Adapters,
    CallOptions,
    EncodeOptions,
    OnUnknown,
    as_tensors,
    checked_dimension,
)
from sentence_distillery.encoder.core import Counts, Form, Native, Simple
from sentence_distillery.encoder.exchange.prompts import Prompts
from sentence_distillery.encoder.exchange.text_rules import TextRules
from sentence_distillery.encoder.layers import Hidden, Linear
from sentence_distillery.encoder.lexical import (
    LEXICAL_WEIGHT,
    LexicalChannel,
    Weight,
    checked_weight,
    resized,
    weight_of_long,
    weights_by_length,
)
from sentence_distillery.encoder.model import Model
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.native.vocabulary import Vocabulary
from sentence_distillery.encoder.parts import Arrays, model_of
from sentence_distillery.encoder.persistence.files import ModelFiles, model_files
from sentence_distillery.encoder.persistence.finding import RELEASED, RELEASED_SEARCH
from sentence_distillery.encoder.persistence.reading import shared_model
from sentence_distillery.encoder.precision import (
    CALIBRATED,
    PRECISIONS,
    Precision,
    check_precision,
    quantize_embeddings,
)
from sentence_distillery.encoder.texts import as_texts, batches, is_whole, not_one, shown
from sentence_distillery.encoder.threads import Progress, in_batches
from sentence_distillery.io.ragged import Floats, TokenIds

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VARIANT = "variant.json"  # why there is no such variant of the student, or null
STREAM_BATCH = 32_768  # texts of a stream that are held at a time
BITS = {"binary": np.int8, "ubinary": np.uint8}  # precisions that hold a bit for each number


class _Call(NamedTuple):
    """Options of a call: unit length, an error for a text without a known word, a prompt, and the most tokens."""

    normalize: bool
    on_unknown: OnUnknown
    prompt: str = ""
    max_length: int | None = None


class LoadOptions(TypedDict, total=False):
    """The keyword arguments of `from_pretrained`, which says what each does."""

    truncate_dim: int | None
    lexical_weight: Weight | None
    lexical_dimension: int | None
    revision: str | None
    token: str | bool | None


class StaticEncoder(Adapters):
    """Encode texts as the mean of their token vectors, scaled to unit length.

    The mean may be followed by a hidden layer (kind: deep) or a linear one (kind: paper), or have a lexical channel
    beside it (kind: lexical). Make an encoder with `from_pretrained`, or with `load` of the package. `encode` may run
    in several threads at a time.

    Args:
        model: The model. Or a tokenizer, or its file or the file's content, and then these parts of a model: `stored`,
            (tokens, dimension) float32, float16 or int8, whose row 0 is the unknown token's and zero; `linear`, a
            weight (output, dimension) and a bias (output,) float32; `step`, between the levels that float16 holds;
            `vocabulary`, what the native core looks up; `hidden`, A (dimension, units) and B (units, dimension) float32
            of s + relu(s A) B for a mean s; `made_from`, `lexical`, `rules`, `prompts` and `card`, which are empty by
            default.
        truncate_dim: The dimensions that are kept, the first ones, from 1 to the model's; None keeps as many as the
            model was saved with, all for most.
        lexical_weight: The length of the lexical channel relative to the rest, from 0 to 1,000, or two such numbers,
            for short and for long texts; 0 leaves it out, None takes what the model was saved with.
        search_weight: The same in `encode_query` and `encode_document`, one number; None takes that of long texts if
            `lexical_weight` is given, and otherwise what the model was saved with.

    Example:
        >>> from sentence_distillery import load
        >>> load("released")
        StaticEncoder(dimension=256, tokens=55_600, megabytes=14.2)

    Reference:
        Iyyer, Manjunatha, Boyd-Graber and Daumé III 2015, Deep Unordered Composition Rivals Syntactic Methods for Text
        Classification, https://aclanthology.org/P15-1162/
    """

    @overload
    def __init__(
        self,
        model: Model,
        *,
        truncate_dim: int | None = ...,
        lexical_weight: Weight | None = ...,
        search_weight: float | None = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        model: Tokenizer | Path | bytes,
        stored: NDArray[Any],
        linear: Arrays | None = ...,
        step: float | None = ...,
        vocabulary: Vocabulary | None = ...,
        hidden: Arrays | None = ...,
        *,
        truncate_dim: int | None = ...,
        made_from: Mapping[str, object] | None = ...,
        lexical: LexicalChannel | None = ...,
        lexical_weight: Weight | None = ...,
        search_weight: float | None = ...,
        rules: TextRules | None = ...,
        prompts: Prompts | None = ...,
        card: str | None = ...,
    ) -> None: ...

    def __init__(
        self,
        model: Any = None,
        *parts: Any,
        truncate_dim: int | None = None,
        lexical_weight: Weight | None = None,
        search_weight: float | None = None,
        **named: Any,
    ) -> None:
        if not isinstance(model, Model):
            model = model_of(*(parts if model is None else (model, *parts)), **named)
        elif parts or named:
            raise TypeError(
                "Beside a model StaticEncoder takes truncate_dim, lexical_weight and search_weight, by their names."
            )
        self.model: Model = model
        weight = self.model.lexical_weight if lexical_weight is None else lexical_weight
        self.lexical_weight = checked_weight(weight, self.model.channel)
        if search_weight is None and lexical_weight is None:
            search_weight = self.model.search_weight
        weight = weight_of_long(self.lexical_weight) if search_weight is None else search_weight
        self.search_weight = weight_of_long(checked_weight(weight, self.model.channel))
        self.truncate_dim = checked_dimension(truncate_dim, self.full_dimension)

        # A cut that the files name holds unless the caller names one, as in sentence-transformers.
        saved = self.model.truncate_dim
        if truncate_dim is None and saved is not None and saved < self.full_dimension:
            self.truncate_dim = saved

    @classmethod
    def from_pretrained(
        cls,
        directory: Path | str = RELEASED,
        *,
        truncate_dim: int | None = None,
        lexical_weight: Weight | None = None,
        lexical_dimension: int | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
    ) -> Self:
        """Load a model that this library, sentence-transformers or model2vec saved.

        A table below 64 MB is read and compared with its SHA-256. A larger one is memory-mapped: its pages are read
        when they are needed, and all processes share them. Encoders of the same files share their table.

        Args:
            directory: The model's directory, or "released" for the one that comes with the library, whose searches have
                a lexical channel; "released-search" has it in `encode`, too; or the id of a model on a hub, such as
                "minishlab/potion-base-8M".
            truncate_dim: The dimensions to keep, the first ones, from 1 to the model's. By default what the model was
                saved with, which is all of them for most. It cuts whole blocks off a lexical channel; for a smaller
                channel give `lexical_dimension`.
            lexical_weight: The length of the lexical channel relative to the rest, from 0 to 1,000, or two such
                numbers, as `load` describes them: between short and long texts it grows evenly. By default what the
                model was saved with.
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
        files = model_files(directory, revision, token)
        return cls.from_files(
            files, truncate_dim=truncate_dim, lexical_weight=lexical_weight, lexical_dimension=lexical_dimension
        )

    @classmethod
    def from_files(
        cls,
        files: ModelFiles,
        *,
        truncate_dim: int | None = None,
        lexical_weight: Weight | None = None,
        lexical_dimension: int | None = None,
    ) -> Self:
        """Load a model whose files were found, and which threads may be reading; otherwise as `from_pretrained`.

        Args:
            files: The files of the model, as `model_files` finds them.
            truncate_dim: The dimensions to keep, from 1 to the model's.
            lexical_weight: The length of the lexical channel relative to the rest, from 0 to 1,000, or two of them.
            lexical_dimension: The numbers of the lexical channel, a multiple of 8 up to 65,536.

        Returns:
            The encoder.

        Raises:
            InputError: If a file is damaged or missing, as in `from_pretrained`.
            ValueError: If a number is out of its range, or the model has no lexical channel.

        Example:
            >>> from sentence_distillery.encoder.persistence.files import model_files
            >>> StaticEncoder.from_files(model_files("released")).dimension
            256
        """
        model = shared_model(files)

        # The name decides about the channel, since both names are of the same files.
        weight = lexical_weight
        if weight is None and files.name == RELEASED_SEARCH:
            weight = LEXICAL_WEIGHT

        # Everything but the channel stays shared with other encoders of these files.
        if lexical_dimension is not None:
            used = (model.lexical_weight or model.search_weight or 0.0) if weight is None else weight
            model = replace(model, channel=resized(model.channel, lexical_dimension, used))
        return cls(model, truncate_dim=truncate_dim, lexical_weight=weight)

    if TYPE_CHECKING:  # mypy takes an alias of a class method for a variable

        @classmethod
        def load(cls, directory: Path | str = RELEASED, **options: Unpack[LoadOptions]) -> Self:
            """As `from_pretrained`."""

    else:
        load = from_pretrained

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
            StaticEncoder(dimension=32, tokens=55_600, megabytes=1.8)
        """
        from sentence_distillery.encoder.persistence.writing import save_model  # most models are only loaded

        save_model(self, Path(directory), self.card if self.model.card_is_saved else None)

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

        from sentence_distillery.encoder.persistence.hub import upload
        from sentence_distillery.encoder.persistence.writing import save_model

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
            14
        """
        from sentence_distillery.encoder.persistence.onnx_files import write_onnx  # the core does without it

        write_onnx(self, Path(directory))

    def __repr__(self) -> str:
        arrays = [self.stored, *(self.model.layer.arrays if self.model.layer else ())]
        if self._channel is not None:
            arrays += [self._channel.stems, self._channel.idf]
        megabytes = sum(array.nbytes for array in arrays) / 1e6
        return f"StaticEncoder(dimension={self.dimension}, tokens={len(self.stored):_}, megabytes={megabytes:.1f})"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the parts of the model, without anything derived, and the options.

        Another machine may not have the files of the model.
        """
        return {
            "tokenizer": self.model.tokens.source.pickled(),
            "stored": self.stored,
            "linear": self.linear,
            "step": self.step,
            "hidden": self.hidden,
            "truncate_dim": self.truncate_dim,
            "made_from": dict(self.made_from),
            "lexical": self.lexical,
            "lexical_weight": self.lexical_weight,
            "search_weight": self.search_weight,
            "rules": self.rules,
            "prompts": self.model.prompts,
            "card": self.card,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = dict(state)
        StaticEncoder.__init__(self, parts.pop("tokenizer"), **parts)

    def _copy(self, lexical_weight: Weight | None = None) -> Self:
        weight = self.lexical_weight if lexical_weight is None else lexical_weight
        copy = type(self)(self.model, lexical_weight=weight, search_weight=self.search_weight)
        copy.truncate_dim = self.truncate_dim
        return copy

    def __sklearn_clone__(self) -> Self:
        return self._copy()

    @property
    def for_search(self) -> Self:
        """The encoder whose `encode` has the weight of searches, in texts of any length.

        It is for what knows no `encode_query` and `encode_document`. A document must not gain by being short, so the
        weight of the lexical channel does not depend on the length here. It is the same encoder if it has no channel.

        Example:
            >>> encoder = StaticEncoder.from_pretrained("released")
            >>> encoder.dimension, encoder.for_search.dimension
            (256, 1024)
        """
        if self.lexical_weight == self.search_weight:
            return self
        self._searching.truncate_dim = self.truncate_dim  # which may have changed since
        return self._searching

    @cached_property
    def _searching(self) -> Self:
        return self._copy(self.search_weight)

    @property
    def stored(self) -> NDArray[Any]:
        """The table as it is stored, (tokens, dimension) float32, float16 or int8."""
        return self.model.table.stored

    @property
    def table(self) -> Floats:
        """(tokens, dimension) float32."""
        return self.model.table.floats

    @property
    def step(self) -> float | None:
        """The step between the levels that a table of float16 holds; None if it holds none."""
        return self.model.table.step

    @property
    def linear(self) -> Arrays | None:
        """The weight and the bias of a linear layer."""
        return self.model.arrays_of(Linear)

    @property
    def hidden(self) -> Arrays | None:
        """A and B of a hidden layer."""
        return self.model.arrays_of(Hidden)

    @property
    def lexical(self) -> LexicalChannel | None:
        """The lexical channel, if the model has one."""
        return self.model.channel

    @property
    def _channel(self) -> LexicalChannel | None:
        """The lexical channel, unless it is left out."""
        return self.model.channel if self.lexical_weight else None

    @property
    def made_from(self) -> Mapping[str, object]:
        """What is known of the model's origin; it goes to config.json when the model is saved."""
        return self.model.made_from

    @property
    def rules(self) -> TextRules | None:
        """How texts become tokens in a model of another library; None is as in this library's own models."""
        return self.model.tokens.rules

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts by their names, as in sentence-transformers; "query" and "document" are always there."""
        return dict(self.model.prompts.named)

    @property
    def default_prompt_name(self) -> str | None:
        """The name of the prompt that `encode` puts before each text; None puts none."""
        return self.model.prompts.default

    @property
    def card(self) -> str | None:
        """The model card: the content of README.md, or None."""
        return self.model.card

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of `tokenizers`."""
        return self.model.tokens.tokenizer

    @property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, which does not count; None if unknown tokens count."""
        return self.model.tokens.unknown_id

    @property
    def kind(self) -> str:
        """What follows the mean: nothing (static), a hidden layer (deep), a linear one (paper), a channel (lexical)."""
        if self.model.layer is not None:
            return self.model.layer.kind
        return "static" if self._channel is None else "lexical"

    @property
    def token_dimension(self) -> int:
        """Numbers in the vector of a token."""
        return self.model.table.dimension

    @property
    def full_dimension(self) -> int:
        """Numbers in a vector that is not cut."""
        if (layer := self.model.layer) is not None and layer.of_means:
            return layer.dimension
        return self.token_dimension + (0 if self._channel is None else self._channel.dimension)

    @property
    def dimension(self) -> int:
        """Numbers in a vector, after `truncate_dim`."""
        return self.full_dimension if self.truncate_dim is None else self.truncate_dim

    @cached_property
    def _simple(self) -> Simple:
        """The simple way from texts and from tokens to vectors."""
        table, ids = self.model.table, self.model.tokens.counting_ids
        return Simple(ids, table.summed, table.unit, self._channel, self.lexical_weight, self.model.layer)

    @cached_property
    def _core(self) -> Simple | Native:
        """The way from texts and from tokens to vectors."""
        if loading.core() is None:
            return self._simple
        return Native(self.model.tokens.native, self._simple)

    @overload
    def encode(
        self,
        texts: str | Iterable[str],
        *,
        convert_to_numpy: Literal[True] = ...,
        convert_to_tensor: Literal[False] = ...,
        precision: Literal["float32"] = ...,
        **options: Unpack[CallOptions],
    ) -> Floats: ...

    @overload
    def encode(self, texts: str | Iterable[str], **options: Unpack[EncodeOptions]) -> Any: ...

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
        listed = as_texts(texts)
        call = self._call(normalize_embeddings, on_unknown, prompt, prompt_name, max_length)

        # All options are checked before the first text is read.
        progress = Progress(len(listed)) if show_progress_bar else None
        vectors = self._encode_all(listed, call, truncate_dim, batch_size, progress, precision=precision)

        # One str gives one vector, whatever its type.
        if isinstance(texts, str):
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
        call = self._call(normalize_embeddings, on_unknown, prompt, prompt_name, max_length)
        return (
            self._encode_all(part, call, truncate_dim, first=first, precision=precision)
            for first, part in batches(not_one(texts), batch)
        )

    def _call(
        self,
        normalize: bool,
        on_unknown: OnUnknown,
        prompt: str | None,
        prompt_name: str | None,
        max_length: int | None,
    ) -> _Call:
        _check_count("max_length", max_length)
        if on_unknown not in ("zero", "error"):
            raise ValueError(f"on_unknown is {on_unknown!r}; it is 'zero' or 'error'.")
        return _Call(normalize, on_unknown, self.model.prompts.chosen(prompt, prompt_name), max_length)

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
        tokens = self.known(self.model.tokens.sequence_ids(as_texts(texts), max_length))
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
        tokens = self.model.tokens.by_rules(as_texts(texts), TextRules())
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
        return self._encode_all(texts, self._call(True, "zero", None, None, None), counts=counts), counts

    def _encode_all(
        self,
        texts: list[str],
        call: _Call,
        truncate_dim: int | None = None,
        batch_size: int | None = None,
        progress: Progress | None = None,
        first: int = 0,
        counts: Counts | None = None,
        precision: Precision = "float32",
    ) -> NDArray[Any]:
        """Encode to a precision, if many in threads; `first` is the index of the first text."""
        cut = checked_dimension(truncate_dim, self.full_dimension)
        width = self.dimension if cut is None else cut

        # Bits are packed part by part; the other precisions are made of all vectors at the end.
        bits = BITS.get(precision)
        vectors = np.empty((len(texts), width if bits is None else -(-width // 8)), bits or np.float32)

        # By the counts of known tokens the error names the texts that have none.
        if counts is None and call.on_unknown == "error":
            counts = np.empty(len(texts), np.int32)

        def encode_span(span: slice) -> None:
            self._encode_part(texts[span], vectors[span], width, call, None if counts is None else counts[span])

        # A layer in NumPy has its own threads.
        in_numpy = self._core is self._simple and self.model.layer is not None
        in_batches(encode_span, len(texts), batch_size, progress, with_layers=in_numpy)
        if counts is not None and call.on_unknown == "error":
            _refuse_unknown(texts, counts, first)
        return vectors if bits is not None else quantize_embeddings(vectors, precision)

    def _encode_part(
        self, texts: list[str], vectors: NDArray[Any], width: int, call: _Call, counts: Counts | None
    ) -> None:
        read = [call.prompt + text for text in texts] if call.prompt else texts
        form = Form.UNIT if call.normalize else Form.MEAN
        if call.max_length is None and not self.model.of_means:
            self._core.encode(read, vectors, form, counts, width)
            return
        tokens = self.model.tokens.ids(read, call.max_length)
        self._core.embed(self._counting(tokens), vectors, form, width)
        if counts is not None:
            counts[:] = self.known(tokens).lengths

    def _counting(self, tokens: TokenIds) -> TokenIds:
        """Leave out the tokens that do not count in a vector."""
        return tokens if self.model.of_means else self.known(tokens)

    def embed(self, tokens: TokenIds, out: Floats | None = None, normalize: bool = True) -> Floats:
        """Turn token ids into vectors; `encode` does so without ids that Python sees, which is faster.

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
        self._core.embed(self._counting(tokens), vectors, Form.UNIT if normalize else Form.MEAN)
        return vectors

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
        if self.model.of_means and weights is not None:
            means *= _levels(tokens, weights)
        if self.model.layer is not None:
            return self.model.layer.apply(means)
        if self._channel is None:
            return means
        return self._channel.beside(means, tokens, weights_by_length(self.lexical_weight, self.known(tokens).lengths))

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
        return self.model.tokens.ids(sentences)

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
        return self.model.tokens.counting(tokens)


def _levels(tokens: TokenIds, weights: Floats) -> Floats:
    """Compute the factor with which the weights of a sentence sum to the number of its tokens, (sentences, 1) float32.

    Those of weight 0 are unknown, and stay in the number by which the mean is divided, as in training.
    """
    sums = tokens.sums(np.stack([weights, weights > 0], axis=1).astype(np.float32))
    return np.asarray(sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], np.float32(1)), np.float32)


def _check_count(name: str, count: int | None) -> None:
    if count is not None and not is_whole(count, 1):
        raise ValueError(f"{name} is {count!r}; it is a whole number from 1.")


def _refuse_unknown(texts: list[str], counts: Counts, first: int) -> None:
    """Raise ValueError for the first text of which no token is known; `counts` has the number of known ones."""
    rows = np.flatnonzero(counts == 0)
    if len(rows):
        row = int(rows[0])
        raise ValueError(
            f"texts[{first + row}] has no word that the model knows: {shown(texts[row])}. Leave it out, or use "
            'on_unknown="zero" for a zero vector.'
        )
