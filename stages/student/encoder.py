"""The student at work: sentences to unit vectors, without a neural network library.

Lower-casing, splitting and vocabulary look-up run over a whole batch in Arrow, and one sparse product sums the vectors:

    "The storm, again" -> the storm, again     one 256-byte table: lower case, punctuation to blanks
                       -> the | storm | again  Arrow's white-space split
                       -> 12 | 873 | 40        Arrow's look-up, whole words only
                       -> sum of 3 rows        one sparse product, then unit length

Two rarer cases take the tokenizer's own way, so that the vectors are equal to sentence-transformers': a sentence with a
character outside printable ASCII is normalised by it, and a word outside the vocabulary is cut into pieces by it.
Unknown tokens have the zero vector and punctuation is unknown, which is why the fast path may drop it.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from tokenizers import Tokenizer

from stages.artifacts import InputError, read_json, read_tensors
from stages.corpus.text import whole_surrogates
from stages.ragged import Floats, TokenIds, unit_rows
from stages.student.tokenizer import is_punctuation

STUDENT = Path("models/student")
BATCH = 8_192  # sentences that a thread takes at a time: the columns stay in the processor's cache
KNOWN_CUTS = 200_000  # unknown words whose pieces are kept
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
DENSE = "1_Dense"
TABLE = "embedding.weight"

_BLANK = b" \t\n\r"
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
    """The mean of token vectors, scaled to unit length; after a linear layer where the student has one (kind: paper).

    `table` (vocabulary, dimension) float32, row 0 is the unknown token's and zero; `linear` is a weight (output,
    dimension) and a bias (output,), float32.
    """

    def __init__(self, tokenizer: Tokenizer, table: Floats, linear: tuple[Floats, Floats] | None = None) -> None:
        self.tokenizer = tokenizer
        self.table = table
        self.linear = linear
        self._known_cuts: dict[str, list[int]] = {}
        self._cutting = Lock()

    @classmethod
    def load(cls, directory: Path) -> "StaticEncoder":
        """Load a student; raises InputError where a file is missing, broken, not finite or of the wrong shape."""
        tokenizer = _read_tokenizer(directory / TOKENIZER)
        kind, width, output = _read_config(directory / CONFIG)
        table = _read_finite(directory / WEIGHTS, {TABLE: (tokenizer.get_vocab_size(), width)})[TABLE]
        if kind == "static":
            return cls(tokenizer, table)
        layer = _read_finite(directory / DENSE / WEIGHTS, {"linear.weight": (output, width), "linear.bias": (output,)})
        return cls(tokenizer, table, (layer["linear.weight"], layer["linear.bias"]))

    @property
    def dimension(self) -> int:
        return int(self.table.shape[1] if self.linear is None else self.linear[0].shape[0])

    def encode(self, sentences: list[str]) -> Floats:
        """(sentences, dimension) float32, rows of unit length; a sentence without a known token is a zero row, or the
        direction of the bias where there is a linear layer."""
        batches = [sentences[start : start + BATCH] for start in range(0, len(sentences), BATCH)]
        if len(batches) <= 1:
            return self._encode(sentences)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:  # Arrow and SciPy release Python's lock
            return np.concatenate(list(threads.map(self._encode, batches)))

    def _encode(self, sentences: list[str]) -> Floats:
        return unit_rows(self.pool(self.token_ids(sentences)))

    def pool(self, tokens: TokenIds, weights: Floats | None = None) -> Floats:
        """(sentences, dimension) float32 means of token vectors, each times its token's weight, (vocabulary,)."""
        means = tokens.means(self.table, weights)
        return means if self.linear is None else means @ self.linear[0].T + self.linear[1]

    def token_ids(self, sentences: list[str]) -> TokenIds:
        """Look up the words of each sentence; id 0 is an unknown one. Punctuation may be left out or unknown."""
        texts = _utf8(sentences)
        if self.linear is not None:
            return TokenIds.from_lists([e.ids for e in self.tokenizer.encode_batch_fast(texts.to_pylist())])
        tokens = pc.ascii_split_whitespace(_lower_and_blank(texts, self.tokenizer))
        offsets = tokens.offsets.to_numpy().astype(np.int64)
        ids = pc.index_in(tokens.values, value_set=self._words)
        if ids.null_count == 0:
            return TokenIds(ids.to_numpy(), offsets)
        return self._with_pieces(tokens.values, ids, offsets)

    @cached_property
    def _words(self) -> pa.Array:
        """Token strings by id. No text holds the unknown token or a continuation, so their names are free for others:
        the unknown token's place is the empty string, which a leading blank gives."""
        vocabulary = self.tokenizer.get_vocab()
        words = sorted(vocabulary, key=lambda token: vocabulary[token])
        return pa.array(["", *words[1:]])

    def _with_pieces(self, words: pa.Array, ids: pa.Array, offsets: NDArray[np.int64]) -> TokenIds:
        """Replace each unknown word by its pieces."""
        unknown = ids.is_null().to_numpy(zero_copy_only=False)
        distinct = words.filter(pa.array(unknown)).dictionary_encode()
        pieces = TokenIds.from_lists(self._cut(distinct.dictionary.to_pylist())).take(distinct.indices.to_numpy())
        lengths = np.ones(len(ids), dtype=np.int64)
        lengths[unknown] = pieces.lengths
        flat = np.repeat(ids.fill_null(0).to_numpy(), lengths)
        flat[np.repeat(unknown, lengths)] = pieces.ids
        return TokenIds(flat, np.concatenate([[0], np.cumsum(lengths)])[offsets])

    def _cut(self, words: list[str]) -> list[list[int]]:
        """Ids of the pieces of each word; unknown words come again, so they are kept for the next batch."""
        with self._cutting:
            if len(self._known_cuts) > KNOWN_CUTS:
                self._known_cuts.clear()
            new = [word for word in words if word not in self._known_cuts]
            cuts = self.tokenizer.encode_batch_fast(new, add_special_tokens=False)
            self._known_cuts.update(zip(new, (cut.ids for cut in cuts), strict=True))
            return [self._known_cuts[word] for word in words]


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises plain Exception
        raise InputError(f"{path} is no tokenizer: {error}. Rebuild it with `dvc repro student`.") from error


def _read_config(path: Path) -> tuple[str, int, int]:
    """Kind, dimension of a token vector, and dimension of an embedding."""
    config = read_json(path)
    try:
        return config["kind"], config["token_dimension"], config["dimension"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not of a student ({error}). Rebuild it with `dvc repro student`.") from error


def _read_finite(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, Floats]:
    tensors = {name: array.astype(np.float32, copy=False) for name, array in read_tensors(path, shapes).items()}
    for name, array in tensors.items():
        if not np.isfinite(array).all():
            raise InputError(f"{path}: tensor '{name}' is not finite. Rebuild it with `dvc repro student`.")
    return tensors


def _utf8(sentences: list[str]) -> pa.Array:
    """The sentences in Arrow; a lone surrogate, which UTF-8 cannot hold, becomes U+FFFD, which is no part of a word."""
    try:
        return pa.array(sentences, pa.string())
    except UnicodeEncodeError:
        return pa.array([whole_surrogates(sentence) for sentence in sentences], pa.string())


def _lower_and_blank(texts: pa.Array, tokenizer: Tokenizer) -> pa.Array:
    """Sentences in lower case with blanks for punctuation."""
    texts, blanked = _printable(texts, tokenizer)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, texts.buffers()[1], pa.py_buffer(blanked)])


def _printable(texts: pa.Array, tokenizer: Tokenizer) -> tuple[pa.Array, bytes]:
    """The sentences, those with controls or bytes >= 128 normalised by the tokenizer, and their translated bytes."""
    data = texts.buffers()[2]
    blanked = (data.to_pybytes() if data else b"").translate(_ASCII)
    codes = np.frombuffer(blanked, dtype=np.int8)
    unusual = np.flatnonzero(codes <= 0)
    if len(unusual) == 0:
        return texts, blanked
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[: len(texts) + 1]
    rows = np.unique(np.searchsorted(offsets, unusual, side="right") - 1)
    mask = np.zeros(len(texts), dtype=bool)
    mask[rows] = True
    normalize = tokenizer.normalizer.normalize_str
    plain = [normalize(text).translate(_PUNCTUATION) for text in texts.take(pa.array(rows)).to_pylist()]
    texts = pc.replace_with_mask(texts, pa.array(mask), pa.array(plain, pa.string()))
    return texts, texts.buffers()[2].to_pybytes().translate(_ASCII)
