"""Encode sentences as unit vectors with a static student, without a neural network library.

Lower-casing, splitting and vocabulary look-up run over a whole batch in Arrow, and one sparse product sums the vectors:

    "The storm, again" -> "the storm  again "    one 256-byte table: lower case, punctuation to blanks
                       -> the_|storm_|_|again_  cut after blanks: the same bytes, a list of offsets
                       -> 12 | 873 | 0 | 40     Arrow's look-up, whole words with their blank
                       -> sum of 4 rows         one sparse product, then unit length

A model of another library whose tokenizer is not like that goes through `tokenizers` whole, by its `rules`.

Two rarer cases go through the tokenizer itself, so that the vectors equal those of sentence-transformers. It normalises
a sentence with a character outside printable ASCII, and it cuts a word outside the vocabulary into pieces. Unknown
tokens have the zero vector and punctuation is unknown, which is why the fast path may drop it. If the vocabulary has
terms with punctuation, such as c++, words in which one may stand keep theirs (see `terms`).

A vector at unit length is the same for the table and for a multiple of it. So a table of 255 levels (int8) is summed
directly, in 16-bit integers, 258 tokens at a time: exact, and twice as fast as in float32.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sentence_distillery.encoder.exchange.prompts import Prompts
from sentence_distillery.encoder.exchange.text_rules import TextRules, median_length
from sentence_distillery.encoder.files import LEVELS, as_levels, bytes_of
from sentence_distillery.encoder.interface import Interface, OnUnknown, checked_dimension
from sentence_distillery.encoder.lexical import LexicalChannel, checked_weight, resized
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
    by_id,
    default_weight,
    model_directory,
    read_model,
    read_tokenizer,
    signature,
    terms_of,
    words_of,
)
from sentence_distillery.encoder.tensors import as_tensors
from sentence_distillery.encoder.terms import Terms
from sentence_distillery.encoder.texts import as_texts, batches, shown
from sentence_distillery.encoder.tokenizer import CONTINUATION, UNKNOWN_ID, is_punctuation, is_term
from sentence_distillery.encoder.writing import save_model
from sentence_distillery.io.ragged import FEW_TOKENS, Floats, TokenIds, unit_rows
from sentence_distillery.io.unicode import whole_surrogates
from sentence_distillery.runtime.machine import cores

if TYPE_CHECKING:  # importing it takes as long as loading the encoder, and a few texts do without
    import pyarrow as pa

VARIANT = "variant.json"  # why there is no such variant of the student, or null
BATCH = 32_768  # sentences that a thread takes at a time, at most: Arrow hashes the vocabulary once for each batch
SMALLEST_BATCH = 2_048
STREAM_BATCH = 32_768  # texts of a stream that are held at a time
FEW_WORDS = 4_096  # below it a list and a dictionary are faster than Arrow, which hashes the vocabulary
CHUNK = 1_024  # sentences whose sums stay in the processor's cache
EXACT = 32_767 // LEVELS  # tokens whose sum fits in 16 bits
LONG_TEXT = 10_000  # bytes
KNOWN_CUTS = 200_000  # unknown words whose pieces are cached

Value = TypeVar("Value")
Words: TypeAlias = "list[str] | pa.Array"  # each with its blank; a list if they are few

# A word of so many characters is unknown. The tokenizer takes seconds to say so of millions, so the rest is left out.
_LATIN = "[A-Za-z0-9À-ÖØ-öø-ɏА-яЀ-џ]"
_ENDLESS = re.compile(f"({_LATIN}{{1000}}){_LATIN}{{4000,}}")

_BLANK = b" \t\n\r"
_CUT, _END = ord(" "), ord("\n")
_ABSENT = -1
_CUTTING = Lock()  # guards the cached pieces of unknown words
_LETTERS_AND_DIGITS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def _translation() -> bytes:
    """Make a byte table: letters to lower case, white space and punctuation to blanks, controls to NUL."""
    table = bytearray(range(256))
    for byte in range(128):
        if byte in _LETTERS_AND_DIGITS:
            table[byte] = ord(chr(byte).lower())
        else:
            table[byte] = ord(" ") if byte in _BLANK or 32 < byte < 127 else 0
    return bytes(table)


def _read(directory: Path) -> "Derived":
    """Read a model, or share the data of another encoder of the same files."""
    files = signature(directory)
    derived = _LOADED.get(files)
    if derived is None:
        derived = Derived(read_model(directory))
        _LOADED[files] = derived
    return derived


class _Blanks(dict[int, int]):
    """A table for str.translate that maps punctuation to a blank, and looks each character up only once."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if is_punctuation(chr(code)) else code
        return self[code]


class _LongBlanks(dict[int, int | str]):
    """The same, with as many blanks as the character has bytes; ASCII is left to the byte table."""

    def __missing__(self, code: int) -> int | str:
        self[code] = " " * len(chr(code).encode()) if code > 127 and is_punctuation(chr(code)) else code
        return self[code]


_ASCII = _translation()
_PUNCTUATION = _Blanks()
_AS_LONG = _LongBlanks()


class Derived:
    """The data that encoders of the same files share: the parts read, and values computed from them."""

    def __init__(self, parts: Parts | None = None) -> None:
        self.parts = parts
        self.values: dict[str, Any] = {} if parts is None or parts.levels is None else {"_levels": parts.levels}
        self.cuts: dict[str, list[int]] = {}  # the pieces of unknown words


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
class _Way:
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
        tokenizer: A tokenizer, or its file or the file's content, read when a sentence needs more than `words`.
        stored: (tokens, dimension) float32, float16 or int8; row 0 is the unknown token's and zero. float16 may hold
            multiples k of `step`, -127 <= k <= 127.
        linear: A weight (output, dimension) and a bias (output,), float32.
        step: The step between the levels of float16, above 0.
        words: The tokens in the order of their ids.
        terms: Those of the tokens that have punctuation, or are emoji; by default the added tokens of the tokenizer.
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
        StaticEncoder(dimension=256, tokens=54_142, megabytes=13.9)

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
        words: list[str] | None = None,
        hidden: tuple[Floats, Floats] | None = None,
        truncate_dim: int | None = None,
        made_from: Mapping[str, object] | None = None,
        terms: list[str] | None = None,
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
        self._tokens = words
        self._listed_terms = terms
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
            parts.words,
            parts.hidden,
            truncate_dim,
            parts.made_from,
            parts.terms,
            derived,
            lexical,
            weight,
            parts.rules,
            parts.prompts,
        )
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
            StaticEncoder(dimension=32, tokens=54_142, megabytes=1.7)
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

    def _twin(self) -> Self:
        parts = (self._tokenizer, self.stored, self.linear, self.step, self._tokens, self.hidden)
        origin = (self.truncate_dim, self.made_from, self._listed_terms, self.derived)
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
    def _levels(self) -> NDArray[np.int16] | None:
        """The table in its levels if it has no more than 255."""
        if self.stored.dtype == np.int8:
            return self.stored.astype(np.int16)
        return None if self.step is None else as_levels(self.stored, self.step)

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
        way = self._way(normalize_embeddings, on_unknown, prompt, prompt_name, max_length)
        progress = Progress(len(listed), shown=bool(show_progress_bar))
        vectors: NDArray[Any] = self._vectors(listed, way, truncate_dim, batch_size, progress)
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
        way = self._way(normalize_embeddings, on_unknown, prompt, prompt_name, max_length)
        if isinstance(texts, str):
            raise TypeError("encode_stream takes an iterable of texts, not one str; encode takes both.")
        return (
            quantize_embeddings(self._vectors(part, way, truncate_dim, first=first), precision)
            for first, part in batches(texts, batch)
        )

    def _way(
        self,
        normalize: bool,
        on_unknown: OnUnknown,
        prompt: str | None,
        prompt_name: str | None,
        max_length: int | None,
    ) -> _Way:
        _check_count("max_length", max_length)
        return _Way(normalize, _checked(on_unknown), self._prompts.chosen(prompt, prompt_name), max_length)

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

    def _vectors(
        self,
        texts: list[str],
        way: _Way,
        truncate_dim: int | None = None,
        batch_size: int | None = None,
        progress: Progress | None = None,
        first: int = 0,
    ) -> Floats:
        """Encode to (texts, dimension) float32, if many in threads; `first` is the index of the first text."""
        cut = checked_dimension(truncate_dim, self.full_dimension)
        vectors = np.empty((len(texts), self.dimension if cut is None else cut), dtype=np.float32)
        threads = cores()
        rounds = max(1, -(-len(texts) // (threads * BATCH)))  # equal batches, so that all threads finish together
        size = batch_size or max(SMALLEST_BATCH, -(-len(texts) // (threads * rounds)))
        spans = [slice(start, start + size) for start in range(0, len(texts), size)]
        progress = progress or Progress(len(texts), shown=False)
        if len(spans) <= 1:
            self._fill(texts, vectors, way, first)
            progress.advance(len(texts))
            return vectors
        from concurrent.futures import ThreadPoolExecutor  # a few texts do without these imports

        from threadpoolctl import threadpool_limits

        # Arrow, SciPy and BLAS release Python's lock; additional BLAS threads would only wait for each other.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            jobs = [pool.submit(self._fill, texts[s], vectors[s], way, first + s.start) for s in spans]
            for job, span in zip(jobs, spans, strict=True):
                job.result()
                progress.advance(len(texts[span]))
        return vectors

    def _fill(self, texts: list[str], vectors: Floats, way: _Way, first: int) -> None:
        read = [way.prompt + text for text in texts] if way.prompt else texts
        tokens = self._token_ids(read, self._rules(way.max_length))
        if way.on_unknown == "error":
            _refuse_unknown(texts, self.known(tokens), first)
        self.embed(tokens, vectors, way.normalize)

    def embed(self, tokens: TokenIds, out: Floats | None = None, normalize: bool = True) -> Floats:
        """Turn token ids into vectors, a chunk of sentences at a time.

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
        width = vectors.shape[1]
        for start in range(0, len(tokens), CHUNK):
            chunk = tokens.span(start, min(start + CHUNK, len(tokens)))
            if normalize:
                unit_rows(self._directions(chunk, width)[:, :width], out=vectors[start : start + CHUNK])
            else:
                vectors[start : start + CHUNK] = self._means(chunk, width)[:, :width]
        return vectors

    def _directions(self, tokens: TokenIds, width: int) -> Floats:
        """Compute float32 embeddings of any length, from sums in place of means; their first `width` numbers count."""
        if self.linear is not None:
            return self.pool(tokens)
        return self._completed(self._sums(tokens, width)[0], tokens, width)

    def _means(self, tokens: TokenIds, width: int) -> Floats:
        """Compute float32 means of known tokens (kind paper: all tokens), after the layers; `width` as above."""
        if self.linear is not None:
            return self.pool(tokens)
        known = self.known(tokens)
        sums, unit = self._sums(known, width)
        means = sums * (np.float32(unit) / np.maximum(known.lengths, 1).astype(np.float32))[:, None]
        return self._completed(means, known, width)

    def _sums(self, tokens: TokenIds, width: int) -> tuple[Floats, float]:
        """Compute float32 sums of token vectors, exact for levels, and their unit; all numbers if a layer follows."""
        if self.stored.dtype == np.int8 and len(tokens.ids) <= FEW_TOKENS:  # the first text waits for no conversion
            few = TokenIds(np.arange(len(tokens.ids), dtype=np.int32), tokens.offsets)
            return few.exact_sums(self.stored[tokens.ids].astype(np.int16), EXACT), 1.0
        narrow = self.truncate_dim is not None and width <= self.truncate_dim < self.token_dimension
        fits = narrow and self.kind in ("static", "lexical")
        table = self._narrow if fits else self._summed
        if table.dtype == np.float32:
            return tokens.sums(table), 1.0
        return tokens.exact_sums(table, EXACT), self.step or 1.0

    @property
    def _summed(self) -> NDArray[Any]:
        return self.table if self._levels is None else self._levels

    @cached_property
    def _narrow(self) -> NDArray[Any]:
        """The same, cut to `truncate_dim`: fewer numbers to sum."""
        return np.ascontiguousarray(self._summed[:, : self.truncate_dim])

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
            return self._completed(means, tokens, self.full_dimension)
        if weights is not None:
            means *= _levels(tokens, weights)
        return means @ self.linear[0].T + self.linear[1]

    def _completed(self, sums: Floats, tokens: TokenIds, width: int) -> Floats:
        """Apply the hidden layer, or append the lexical channel if the first `width` numbers reach into it."""
        if self._channel is None or width <= self.token_dimension:
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
        if self.linear is not None:
            return TextRules().token_ids(self.tokenizer, _whole(sentences), 0)
        blanked, ends = self._lower_and_blank(sentences)
        words, cuts = _cut(blanked)
        offsets = np.concatenate([[0], np.searchsorted(cuts, ends + 1) + 1])
        ids = self._look_up(words)
        unknown = np.flatnonzero(ids == _ABSENT)
        return TokenIds(ids, offsets) if len(unknown) == 0 else self._with_pieces(words, ids, unknown, offsets)

    def _look_up(self, words: Words) -> NDArray[np.int32]:
        """Look up the ids of words that each end with a blank; -1 for an unknown word."""
        if isinstance(words, list):
            return np.array([self._index.get(word, _ABSENT) for word in words], dtype=np.int32)
        from pyarrow.compute import index_in

        found = index_in(words, value_set=self._words)
        known, values = found.buffers()
        ids = np.frombuffer(values, dtype=np.int32, count=len(found))
        if found.null_count == 0:
            return ids
        bits = np.unpackbits(np.frombuffer(known, dtype=np.uint8), count=len(found), bitorder="little")
        return np.where(bits, ids, np.int32(_ABSENT))

    def _lower_and_blank(self, sentences: list[str]) -> tuple[bytes, NDArray[np.int64]]:
        """Join sentences in lower case, with a blank for punctuation and after each; return where each ends, too.

        A sentence with a control or a byte >= 128 is normalised by the tokenizer. Words that may hold a term keep their
        punctuation.
        """
        data, ends = _joined(sentences)
        terms, table = self._terms, self._bytes
        blanked = data.translate(table)
        codes = np.frombuffer(blanked, dtype=np.int8)
        if codes.min() > 0:
            return blanked if terms is None else terms.restore(data, blanked), ends
        starts = np.concatenate([[0], ends + 1])
        rows = np.unique(np.searchsorted(ends, np.flatnonzero(codes <= 0))).tolist()
        spans = [(int(starts[row]), int(ends[row])) for row in rows]
        normalized = [self.tokenizer.normalizer.normalize_str(data[start:end].decode()) for start, end in spans]
        if terms is None:
            parts = [text.translate(_PUNCTUATION).encode().translate(table) for text in normalized]
        else:
            normalized = [text.translate(terms.emoji) for text in normalized]
            parts = [text.translate(_AS_LONG).encode().translate(table) for text in normalized]
        grown = np.zeros_like(ends)
        grown[rows] = [len(part) - (end - start) for part, (start, end) in zip(parts, spans, strict=True)]
        blanked = _replaced(blanked, spans, parts)
        if terms is not None:
            blanked = terms.restore(_replaced(data, spans, [text.encode() for text in normalized]), blanked)
        return blanked, ends + np.cumsum(grown)

    @Shared
    def _bytes(self) -> bytes:
        """The byte table of `_lower_and_blank`."""
        return _ASCII if self._terms is None else self._terms.marked(_ASCII)

    @Shared
    def _terms(self) -> Terms | None:
        """The terms of the vocabulary, None if it has none, as those of earlier versions."""
        listed = self._listed_terms
        if listed is None and isinstance(self._tokenizer, bytes):
            listed = terms_of(json.loads(self._tokenizer))
        elif listed is None:
            added = [token.content for token in self.tokenizer.get_added_tokens_decoder().values()]
            listed = [content for content in added if is_term(content)]
        return Terms(listed) if listed else None

    def _with_blanks(self) -> list[str]:
        """List the tokens by id, each followed by a blank.

        No text contains the unknown token or a continuation, so their places are free. The unknown token's place has a
        single blank, the result of two blanks in a row. A word that keeps its punctuation might look like a
        continuation, so with terms these places have a control, which no normalised text has.
        """
        tokens = self._tokens or self._read_tokens()
        if self._terms is not None:
            tokens = ["\0" if token.startswith(CONTINUATION) else token for token in tokens]
        return [f"{token} " for token in ["", *tokens[1:]]]

    @Shared
    def _words(self) -> "pa.Array":
        """The same as an array."""
        return _as_array("".join(self._with_blanks()).encode())[0]

    def _read_tokens(self) -> list[str]:
        """List the tokens by id, without loading the tokenizer if its content is available."""
        if isinstance(self._tokenizer, bytes) and self.linear is None:
            return words_of(json.loads(self._tokenizer))
        return by_id(self.tokenizer.get_vocab())

    @Shared
    def _index(self) -> dict[str, int]:
        """The id of each of `_words`."""
        return {word: index for index, word in enumerate(self._with_blanks())}

    def _with_pieces(
        self, words: Words, ids: NDArray[np.int32], unknown: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> TokenIds:
        """Replace each unknown word, by its place, by its pieces."""
        distinct, kinds = _distinct(words, unknown)
        pieces = TokenIds.from_lists(self._pieces(distinct)).take(kinds)
        return TokenIds(ids, offsets).replaced(unknown, pieces)

    def _pieces(self, words: list[str]) -> list[list[int]]:
        """Look up the ids of each word's pieces, and cache them: unknown words recur in later batches."""
        with _CUTTING:
            if len(self.derived.cuts) > KNOWN_CUTS:
                self.derived.cuts.clear()
            new = [word for word in dict.fromkeys(words) if word not in self.derived.cuts]
            cuts = self.tokenizer.encode_batch_fast(new, add_special_tokens=False)
            self.derived.cuts.update(zip(new, (cut.ids for cut in cuts), strict=True))
            return [self.derived.cuts[word] for word in words]


def _replaced(data: bytes, spans: list[tuple[int, int]], parts: list[bytes]) -> bytes:
    """Replace each span of `data`, from its start up to its end, by its part."""
    pieces, done = [], 0
    for (start, end), part in zip(spans, parts, strict=True):
        pieces += [data[done:start], part]
        done = end
    return b"".join([*pieces, data[done:]])


def _cut(text: bytes) -> tuple[Words, NDArray[np.int64]]:
    """Cut after each blank: return the words, and the end of each."""
    if text.count(b" ") >= FEW_WORDS:
        return _as_array(text)
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _CUT) + 1
    return [f"{word} " for word in text.decode().split(" ")[:-1]], ends


def _as_array(text: bytes) -> "tuple[pa.Array, NDArray[np.int64]]":
    """Cut after each blank: return the words as an array that shares the bytes of `text`, and the end of each.

    This module uses buffers in place of pa.array and to_numpy, which import pandas: that takes longer than all the
    rest.
    """
    import pyarrow as pa

    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _CUT) + 1
    bounds = np.concatenate([[0], ends]).astype(np.int32)
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(bounds), pa.py_buffer(text)), ends


def _distinct(words: Words, places: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """List the distinct words at some places, and say which of them is at each; if there are few, a word may recur."""
    if isinstance(words, list):
        return [words[place] for place in places.tolist()], np.arange(len(places))
    import pyarrow as pa

    chosen = pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)])
    encoded = words.take(chosen).dictionary_encode()
    kinds = np.frombuffer(encoded.indices.buffers()[1], dtype=np.int32, count=len(places))
    return encoded.dictionary.to_pylist(), kinds.astype(np.int64)


def _levels(tokens: TokenIds, weights: Floats) -> Floats:
    """Compute the factor with which the weights of a sentence sum to the number of its tokens, (sentences, 1) float32.

    Those of weight 0 are unknown, and stay in the number by which the mean is divided, as in training.
    """
    sums = tokens.sums(np.stack([weights, weights > 0], axis=1).astype(np.float32))
    return np.asarray(sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], np.float32(1)), np.float32)


def _whole(sentences: list[str]) -> list[str]:
    """Replace each lone surrogate, which UTF-8 cannot hold, by U+FFFD, which is not part of any word."""
    return [whole_surrogates(sentence) for sentence in sentences]


def _joined(sentences: list[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Join the sentences in UTF-8, each followed by its only line feed; return these places, (sentences,), too."""
    text = "\n".join([*sentences, ""])
    if text.count("\n") != len(sentences):
        text = "\n".join([*(sentence.replace("\n", " ") for sentence in sentences), ""])
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = whole_surrogates(text).encode()
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _END)
    if np.diff(ends, prepend=-1).max(initial=0) > LONG_TEXT and _ENDLESS.search(text):
        return _joined([_ENDLESS.sub(r"\1", sentence) for sentence in sentences])
    return data, ends


def _check_count(name: str, count: int | None) -> None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1):
        raise ValueError(f"{name} is {count!r}; it is a whole number from 1.")


def _checked(on_unknown: OnUnknown) -> OnUnknown:
    if on_unknown not in ("zero", "error"):
        raise ValueError(f"on_unknown is {on_unknown!r}; it is 'zero' or 'error'.")
    return on_unknown


def _refuse_unknown(texts: list[str], tokens: TokenIds, first: int) -> None:
    """Raise ValueError for the first text of which no token is known; `tokens` are the known ones."""
    rows = np.flatnonzero(tokens.lengths == 0)
    if len(rows):
        row = int(rows[0])
        raise ValueError(
            f"texts[{first + row}] has no word that the model knows: {shown(texts[row])}. Leave it out, or use "
            'on_unknown="zero" for a zero vector.'
        )
