"""The student at work: sentences to unit vectors, without a neural network library.

Lower-casing, splitting and vocabulary look-up run over a whole batch in Arrow, and one sparse product sums the vectors:

    "The storm, again" -> "the storm  again "    one 256-byte table: lower case, punctuation to blanks
                       -> the_|storm_|_|again_  cuts behind blanks: the same bytes, a list of offsets
                       -> 12 | 873 | 0 | 40     Arrow's look-up, whole words with their blank
                       -> sum of 4 rows         one sparse product, then unit length

Two rarer cases take the tokenizer's own way, so that the vectors are equal to sentence-transformers': a sentence with a
character outside printable ASCII is normalised by it, and a word outside the vocabulary is cut into pieces by it.
Unknown tokens have the zero vector and punctuation is unknown, which is why the fast path may drop it.

A vector at unit length is the same for the table and for a multiple of it. So a table of 255 levels (int8) is summed as
it stands, in 16-bit integers: exact for up to 258 tokens, and more than twice as fast as float32.
"""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

from sentence_distillery.encoder.tokenizer import is_punctuation
from sentence_distillery.io.artifacts import InputError, map_tensors, read_json, tensor_names
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.io.unicode import whole_surrogates
from sentence_distillery.runtime.machine import cores

STUDENT = Path("models/student")
PAPER_STUDENT = Path("models/paper_student")  # paper 1's own
MLP_HEAD = Path("models/mlp_head")  # the student with a hidden layer behind its sum
FINE_TUNED_STUDENT = Path("models/fine_tuned_student")  # the student tuned on people's scores
VARIANT = "variant.json"  # why there is no such variant of the student, or null
BATCH = 16_384  # sentences that a thread takes at a time, at most: Arrow hashes the vocabulary once for each batch
SMALLEST_BATCH = 2_048
FEW_WORDS = 4_096  # below it a dictionary is faster than hashing the vocabulary
CHUNK = 1_024  # sentences whose sums stay in the processor's cache
LEVELS = 127  # of int8, on either side of zero
EXACT = 32_767 // LEVELS  # tokens whose sum is sure to fit in 16 bits
KNOWN_CUTS = 200_000  # unknown words whose pieces are kept
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
DENSE = "1_Dense"
NARROW = "2_Dense"
TABLE = "embeddings"  # model2vec's name, which sentence-transformers knows too
FORMER_TABLE = "embedding.weight"

_REMEDY = "Rebuild it with `dvc repro student`."
_BLANK = b" \t\n\r"
_CUT, _END = ord(" "), ord("\n")
_ABSENT = -1
_NO_LEVEL = -128
_CUTTING = Lock()  # of the kept pieces of unknown words
_LETTERS_AND_DIGITS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def _translation() -> bytes:
    """Lower case for letters, a blank for white space and punctuation, NUL for controls; bytes >= 128 stay."""
    table = bytearray(range(256))
    for byte in range(128):
        if byte in _LETTERS_AND_DIGITS:
            table[byte] = ord(chr(byte).lower())
        else:
            table[byte] = ord(" ") if byte in _BLANK or 32 < byte < 127 else 0
    return bytes(table)


class _Blanks(dict[int, int]):
    """A table for str.translate: a blank for punctuation, each character looked up once."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if is_punctuation(chr(code)) else code
        return self[code]


_ASCII = _translation()
_PUNCTUATION = _Blanks()


class StaticEncoder:
    """The mean of token vectors, scaled to unit length; after a hidden layer where the student has one (kind: deep), or
    a linear one (kind: paper).

    `stored` (vocabulary, dimension) float32, float16 or int8, row 0 is the unknown token's and zero; float16 may hold
    multiples k of `step`, -127 <= k <= 127. `linear` is a weight (output, dimension) and a bias (output,), float32;
    `hidden` are A (dimension, units) and B (units, dimension), float32, of s + relu(s A) B for a mean s.
    `tokenizer` may be a path, read when a sentence needs more than `words`, the tokens in the order of their ids.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | Path,
        stored: NDArray[Any],
        linear: tuple[Floats, Floats] | None = None,
        step: float | None = None,
        words: list[str] | None = None,
        hidden: tuple[Floats, Floats] | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self.stored = stored
        self.linear = linear
        self.hidden = hidden
        self.step = step
        self._tokens = words
        self._known_cuts: dict[str, list[int]] = {}

    @classmethod
    def load(cls, directory: Path) -> "StaticEncoder":
        """Load a student; raises InputError where a file is missing, broken, not finite or of the wrong shape.

        The table is mapped: its pages are read when they are needed, and shared by all processes that have it.
        """
        config = _Config.read(directory / CONFIG)
        if config.kind != "paper":
            words = _read_words(directory / TOKENIZER)
            stored = _read_table(directory / WEIGHTS, (len(words), config.token_dimension), config.step)
            hidden = _read_hidden(directory, config.dimension, config.units) if config.units else None
            return cls(directory / TOKENIZER, stored, None, config.step, words, hidden)
        tokenizer = _read_tokenizer(directory / TOKENIZER)
        stored = _read_table(directory / WEIGHTS, (tokenizer.get_vocab_size(), config.token_dimension), None)
        shapes = {"linear.weight": (config.dimension, config.token_dimension), "linear.bias": (config.dimension,)}
        layer = _read_layer(directory / DENSE, shapes)
        return cls(tokenizer, stored, (layer["linear.weight"], layer["linear.bias"]))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return _read_tokenizer(self._tokenizer) if isinstance(self._tokenizer, Path) else self._tokenizer

    @cached_property
    def table(self) -> Floats:
        """(vocabulary, dimension) float32."""
        return self.stored.astype(np.float32, copy=False)

    @cached_property
    def _levels(self) -> NDArray[np.int16] | None:
        """The table in its levels where it has no more than 255."""
        if self.stored.dtype == np.int8:
            return self.stored.astype(np.int16)
        return None if self.step is None else _levels(self.stored, self.step)

    @property
    def kind(self) -> str:
        """What stands behind the mean: nothing (static), a hidden layer (deep) or a linear one (paper)."""
        if self.linear is not None:
            return "paper"
        return "static" if self.hidden is None else "deep"

    @property
    def dimension(self) -> int:
        return int(self.stored.shape[1] if self.linear is None else self.linear[0].shape[0])

    def encode(self, sentences: Iterable[str]) -> Floats:
        """(sentences, dimension) float32, rows of unit length; a sentence without a known token is a zero row, or the
        direction of the bias where there is a linear layer. Raises TypeError where it is given one string, whose
        characters would be sentences."""
        if isinstance(sentences, str):
            raise TypeError("encode takes sentences, not one string: encode([sentence])[0] is the vector of one.")
        texts = list(sentences)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        threads = cores()
        rounds = max(1, -(-len(texts) // (threads * BATCH)))  # of equal batches, so that no thread ends alone
        size = max(SMALLEST_BATCH, -(-len(texts) // (threads * rounds)))
        spans = [slice(start, start + size) for start in range(0, len(texts), size)]
        if len(spans) <= 1:
            self._encode(texts, vectors)
            return vectors
        # Arrow, SciPy and BLAS release Python's lock; threads of BLAS' own would only wait for each other.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(self._encode, texts[span], vectors[span]) for span in spans]:
                done.result()
        return vectors

    def _encode(self, sentences: list[str], vectors: Floats) -> None:
        self.embed(self.token_ids(sentences), vectors)

    def embed(self, tokens: TokenIds, out: Floats | None = None) -> Floats:
        """(sentences, dimension) float32 of unit length, in `out` where it is given, a chunk of sentences at a time."""
        vectors = np.empty((len(tokens), self.dimension), dtype=np.float32) if out is None else out
        for start in range(0, len(tokens), CHUNK):
            chunk = tokens.span(start, min(start + CHUNK, len(tokens)))
            unit_rows(self._directions(chunk), out=vectors[start : start + CHUNK])
        return vectors

    def _directions(self, tokens: TokenIds) -> Floats:
        """(sentences, dimension) float32, embeddings of any length; sums do for means."""
        if self.linear is not None:
            return self.pool(tokens)
        if self._levels is None or tokens.lengths.max(initial=0) > EXACT:
            return self._deepened(tokens.sums(self.table))
        return self._deepened(tokens.sums(self._levels).astype(np.float32))

    def pool(self, tokens: TokenIds, weights: Floats | None = None) -> Floats:
        """(sentences, dimension) float32 means of token vectors, each times its token's weight, (vocabulary,)."""
        means = tokens.means(self.table, weights)
        return self._deepened(means) if self.linear is None else means @ self.linear[0].T + self.linear[1]

    def _deepened(self, sums: Floats) -> Floats:
        """Behind the hidden layer, if there is one; it has no bias, so a multiple of a sum stays one."""
        if self.hidden is None:
            return sums
        widen, narrow = self.hidden
        deepened: Floats = sums + np.maximum(sums @ widen, 0.0) @ narrow
        return deepened

    def token_ids(self, sentences: list[str]) -> TokenIds:
        """Look up the words of each sentence; id 0 is an unknown one. Punctuation may be left out or unknown."""
        if self.linear is not None:
            return TokenIds.from_lists(e.ids for e in self.tokenizer.encode_batch_fast(_whole(sentences)))
        if not sentences:
            return TokenIds.from_lists([])
        blanked, ends = self._lower_and_blank(sentences)
        words, cuts = _cut(blanked)
        offsets = np.concatenate([[0], np.searchsorted(cuts, ends + 1) + 1])
        ids = self._look_up(words)
        unknown = np.flatnonzero(ids == _ABSENT)
        return TokenIds(ids, offsets) if len(unknown) == 0 else self._with_pieces(words, ids, unknown, offsets)

    def _look_up(self, words: pa.Array) -> NDArray[np.int32]:
        """Ids of words with a blank behind each, -1 where there is none."""
        if len(words) < FEW_WORDS:
            found = [self._index.get(word, _ABSENT) for word in words.to_pylist()]
            return np.array(found, dtype=np.int32)
        found = pc.index_in(words, value_set=self._words)
        known, values = found.buffers()
        ids = np.frombuffer(values, dtype=np.int32, count=len(found))
        if found.null_count == 0:
            return ids
        bits = np.unpackbits(np.frombuffer(known, dtype=np.uint8), count=len(found), bitorder="little")
        return np.where(bits, ids, np.int32(_ABSENT))

    def _lower_and_blank(self, sentences: list[str]) -> tuple[bytes, NDArray[np.int64]]:
        """Sentences in lower case with blanks for punctuation and behind each of them, and where these last ones are.

        A sentence with a control or a byte >= 128 is normalised by the tokenizer.
        """
        data, ends = _joined(sentences)
        blanked = data.translate(_ASCII)
        codes = np.frombuffer(blanked, dtype=np.int8)
        if codes.min() > 0:
            return blanked, ends
        normalize = self.tokenizer.normalizer.normalize_str
        starts = np.concatenate([[0], ends + 1])
        parts, done, grown = [], 0, np.zeros_like(ends)
        for row in np.unique(np.searchsorted(ends, np.flatnonzero(codes <= 0))).tolist():
            start, end = int(starts[row]), int(ends[row])
            normalized = normalize(data[start:end].decode()).translate(_PUNCTUATION).encode().translate(_ASCII)
            parts += [blanked[done:start], normalized]
            grown[row] = len(normalized) - (end - start)
            done = end
        return b"".join([*parts, blanked[done:]]), ends + np.cumsum(grown)

    @cached_property
    def _words(self) -> pa.Array:
        """Token strings by id, each with a blank behind it. No text holds the unknown token or a continuation, so their
        names are free for others: the unknown token's place is the blank alone, which two blanks in a row give."""
        tokens = self._tokens or _by_id(self.tokenizer.get_vocab())
        return _cut("".join([f"{token} " for token in ["", *tokens[1:]]]).encode())[0]

    @cached_property
    def _index(self) -> dict[str, int]:
        """The id of each of `_words`."""
        return {word: index for index, word in enumerate(self._words.to_pylist())}

    def _with_pieces(
        self, words: pa.Array, ids: NDArray[np.int32], unknown: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> TokenIds:
        """Replace each unknown word, by its place, by its pieces."""
        places = pa.Array.from_buffers(pa.int64(), len(unknown), [None, pa.py_buffer(unknown)])
        pieces = TokenIds.from_lists(self._pieces(words.take(places).to_pylist()))
        lengths = np.ones(len(ids), dtype=np.int64)
        lengths[unknown] = pieces.lengths
        flat = np.repeat(ids, lengths)
        flat[flat == _ABSENT] = pieces.ids
        return TokenIds(flat, np.concatenate([[0], np.cumsum(lengths)])[offsets])

    def _pieces(self, words: list[str]) -> list[list[int]]:
        """Ids of the pieces of each word; unknown words come again, so they are kept for the next batch."""
        with _CUTTING:
            if len(self._known_cuts) > KNOWN_CUTS:
                self._known_cuts.clear()
            new = [word for word in dict.fromkeys(words) if word not in self._known_cuts]
            cuts = self.tokenizer.encode_batch_fast(new, add_special_tokens=False)
            self._known_cuts.update(zip(new, (cut.ids for cut in cuts), strict=True))
            return [self._known_cuts[word] for word in words]


def _cut(text: bytes) -> tuple[pa.Array, NDArray[np.int64]]:
    """Cut behind each blank: the strings, which share the bytes of `text`, and where each one ends.

    Here and above buffers stand where pa.array and to_numpy would import pandas, which takes longer than all the rest.
    """
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _CUT) + 1
    bounds = np.concatenate([[0], ends]).astype(np.int32)
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(bounds), pa.py_buffer(text)), ends


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises plain Exception
        raise InputError(f"{path} is no tokenizer: {error}. {_REMEDY}") from error


def _read_words(path: Path) -> list[str]:
    """The tokens of a WordPiece tokenizer by id; ten times as fast as reading all of it."""
    try:
        content = json.loads(path.read_bytes())
        model, added = content["model"], content["added_tokens"]
        if model["type"] != "WordPiece" or added:
            raise ValueError(f"it is of type {model['type']} with {len(added)} added tokens")
        return _by_id(model["vocab"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no tokenizer of a static student: {error!r}. {_REMEDY}") from error


def _by_id(vocabulary: dict[str, int]) -> list[str]:
    """Tokens in the order of their ids; raises ValueError where these are not 0, 1, 2, ..."""
    if list(vocabulary.values()) == list(range(len(vocabulary))):
        return list(vocabulary)
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    if [vocabulary[word] for word in words] != list(range(len(words))):
        raise ValueError("its ids have gaps")
    return words


@dataclass(frozen=True)
class _Config:
    """`token_dimension` is of a token vector, `dimension` of an embedding, `step` between the levels of float16;
    `units` are of the hidden layer, 0 where there is none."""

    kind: str
    token_dimension: int
    dimension: int
    step: float | None
    units: int

    @classmethod
    def read(cls, path: Path) -> "_Config":
        config = read_json(path)
        try:
            return cls(
                config["kind"],
                config["token_dimension"],
                config["dimension"],
                config.get("step"),
                config.get("units", 0),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(f"{path} is not of a student ({error}). {_REMEDY}") from error


def _read_table(path: Path, shape: tuple[int, int], step: float | None) -> NDArray[Any]:
    name = FORMER_TABLE if FORMER_TABLE in tensor_names(path) else TABLE
    table = map_tensors(path, {name: shape})[name]
    if step is None:
        _check_finite(path, name, table)
    elif table.dtype != np.float16 or (_levels(table, step) == _NO_LEVEL).any():
        raise InputError(f"{path}: tensor '{name}' is not of int8's levels in steps of {step}. {_REMEDY}")
    return table


def _read_layer(directory: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    layer = map_tensors(directory / WEIGHTS, shapes)
    for name, array in layer.items():
        _check_finite(directory / WEIGHTS, name, array)
    return layer


def _read_hidden(directory: Path, dimension: int, units: int) -> tuple[Floats, Floats]:
    """A and B of `StaticEncoder` out of the layers that export.py writes: [I, -I, A] and [I, -I, B], ReLU between."""
    wide = 2 * dimension + units
    widen = _read_layer(directory / DENSE, {"linear.weight": (wide, dimension)})["linear.weight"]
    narrow = _read_layer(directory / NARROW, {"linear.weight": (dimension, wide)})["linear.weight"]
    return np.ascontiguousarray(widen[2 * dimension :].T), np.ascontiguousarray(narrow[:, 2 * dimension :].T)


def _levels(table: NDArray[np.float16], step: float) -> NDArray[np.int16]:
    """k of each value k * step with |k| <= 127, and -128 of any other; float16 has few enough values to list them."""
    with np.errstate(invalid="ignore"):  # among them those that are no number
        values = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32) / np.float32(step)
    within = np.abs(values) <= LEVELS
    rounded = np.rint(np.where(within, values, 0.0))
    known = np.where(within & (rounded == values), rounded, _NO_LEVEL).astype(np.int16)
    found: NDArray[np.int16] = known[table.view(np.uint16)]
    return found


def _check_finite(path: Path, name: str, array: NDArray[Any]) -> None:
    """A sum shows what is not finite, without a copy; only where it isn't are the values looked at one by one."""
    with np.errstate(invalid="ignore", over="ignore"):
        finite = array.dtype == np.int8 or np.isfinite(array.sum(dtype=np.float32)) or np.isfinite(array).all()
    if not finite:
        raise InputError(f"{path}: tensor '{name}' is not finite. {_REMEDY}")


def _whole(sentences: list[str]) -> list[str]:
    """A copy in which a lone surrogate, which UTF-8 cannot hold, is U+FFFD, which is no part of a word."""
    return [whole_surrogates(sentence) for sentence in sentences]


def _joined(sentences: list[str]) -> tuple[bytes, NDArray[np.int64]]:
    """The sentences in UTF-8 with a line feed behind each and none inside, and where these are, (sentences,)."""
    text = "\n".join([*sentences, ""])
    if text.count("\n") != len(sentences):
        text = "\n".join([*(sentence.replace("\n", " ") for sentence in sentences), ""])
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = whole_surrogates(text).encode()
    return data, np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _END)
